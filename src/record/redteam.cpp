// SPDX-License-Identifier: Apache-2.0
#include "record/redteam.h"

#include "base/check.h"

namespace assay {

std::string_view Name(RedteamOutcome outcome) {
  switch (outcome) {
    case RedteamOutcome::kRejected:
      return "rejected";
    case RedteamOutcome::kVerified:
      return "verified";
    case RedteamOutcome::kNoGain:
      return "no_gain";
    case RedteamOutcome::kFaster:
      return "faster";
    case RedteamOutcome::kFailed:
      return "failed";
  }
  ASSAY_CHECK(false);
}

bool Astray(const RedteamCase& one) {
  if (one.outcome == RedteamOutcome::kFailed) return false;
  if (one.expected.verdict == "verified") return one.outcome == RedteamOutcome::kRejected;
  if (one.expected.verdict == "no_gain") return one.outcome == RedteamOutcome::kFaster;
  return one.outcome != RedteamOutcome::kRejected;
}

bool AsStated(const RedteamCase& one) {
  if (one.expected.verdict != "rejected") return Name(one.outcome) == one.expected.verdict;
  return one.outcome == RedteamOutcome::kRejected && (!one.expected.reason || one.expected.reason == one.reason);
}

}  // namespace assay
