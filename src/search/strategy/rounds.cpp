// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/rounds.h"

namespace assay {
namespace {
// Tries for a point that was not proposed before; then the neighbourhood counts as exhausted.
constexpr int kTries = 200;
}  // namespace

Result<std::vector<Proposal>> RoundProposer::Propose(const Standing& standing, int count) {
  const std::vector<Attempt>& attempts = *standing.attempts;
  Stream stream(seed_.Derive("propose", attempts.size()));
  std::set<Digest> known;
  for (const Attempt& attempt : attempts) known.insert(attempt.proposal.candidate.id);
  std::vector<Proposal> proposals;
  Begin(standing);
  const auto add = [&](const Slot& slot) {
    Proposal proposal{space_.ToCandidate(slot.point), slot.parents, slot.proposer, ""};
    if (!known.insert(proposal.candidate.id).second) return false;
    proposals.push_back(std::move(proposal));
    Accepted(slot.point);
    return true;
  };
  for (size_t family = 0; family < space_.families() && static_cast<int>(proposals.size()) < count; ++family) {
    const std::optional<Point> defaults = space_.Defaults(family);
    if (defaults) add({*defaults, {}, "default"});
  }
  while (static_cast<int>(proposals.size()) < count) {
    const size_t index = attempts.size() + proposals.size();
    bool added = false;
    for (int attempt = 0; attempt < kTries && !added; ++attempt) {
      const std::optional<Slot> slot = Fill(standing, index, stream);
      added = slot && add(*slot);
    }
    // A neighbourhood that is used up (a small space, a long campaign) leaves the rest of the space.
    for (int attempt = 0; attempt < kTries && !added; ++attempt) {
      const std::optional<Point> point = space_.Random(stream);
      added = point && add({*point, {}, "explorer"});
    }
    if (!added) break;
  }
  return proposals;
}

}  // namespace assay
