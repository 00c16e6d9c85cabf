// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record/seams.h"
#include "search/space.h"

namespace assay {

// Strategies propose from the seed and from outcomes in order of proposal, never of arrival: the
// stream of a round is derived from the number of attempts before it, so a resumed campaign
// proposes what an uninterrupted one would have.
using StrategyMaker = std::unique_ptr<Proposer> (*)(const Space& space, const Seed& seed);

struct StrategyEntry {
  std::string_view name;
  std::string_view summary;
  StrategyMaker make;
};

// All strategies; the first is the default.
std::vector<StrategyEntry> Strategies();

// kInvalidInput with the known names when there is none called `name`.
Result<std::unique_ptr<Proposer>> MakeStrategy(std::string_view name, const Space& space, const Seed& seed);

}  // namespace assay
