// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/explorers_refiners.h"

namespace assay {

std::optional<RoundProposer::Slot> ExplorersRefiners::Fill(const Standing& standing, size_t index, Stream& stream) {
  // Explorers are spread over the ten places (0, 3, 6), so that every round has both kinds.
  const size_t place = index % 10;
  const bool explorer = place == 0 || place == 3 || place == 6;
  std::optional<Point> parent;
  if (!explorer && standing.incumbent) {
    for (const Attempt& attempt : *standing.attempts) {
      if (attempt.ordinal == *standing.incumbent) parent = space().PointOf(attempt.proposal.candidate);
    }
  }
  if (!parent) {
    const std::optional<Point> point = space().Random(stream);
    if (!point) return std::nullopt;
    return Slot{*point, {}, "explorer"};
  }
  // One change in seven tenths of the moves, half of them to a neighbouring value; else two.
  const uint64_t move = stream.Below(10);
  const std::optional<Point> point = space().Mutate(*parent, move < 7 ? 1 : 2, move % 2 == 0, stream);
  if (!point) return std::nullopt;
  return Slot{*point, {*standing.incumbent}, "refiner"};
}

}  // namespace assay
