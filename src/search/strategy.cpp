// SPDX-License-Identifier: Apache-2.0
#include "search/strategy.h"

#include "base/text.h"
#include "search/strategy/explorers_refiners.h"
#include "search/strategy/mix.h"
#include "search/strategy/random.h"

namespace assay {
namespace {

template <typename T>
std::unique_ptr<Proposer> Make(const Space& space, const Seed& seed) {
  return std::make_unique<T>(space, seed);
}

}  // namespace

std::vector<StrategyEntry> Strategies() {
  return {{"three-explorers-seven-refiners", "3 random legal points and 7 mutations of the best, of every ten",
           &Make<ExplorersRefiners>},
          {"mix", "a model of time and failure, local moves around several elites, random points", &Make<Mix>},
          {"random", "random legal points without replacement", &Make<RandomStrategy>}};
}

Result<std::unique_ptr<Proposer>> MakeStrategy(std::string_view name, const Space& space, const Seed& seed) {
  std::vector<std::string> names;
  for (const StrategyEntry& entry : Strategies()) {
    if (entry.name == name) return entry.make(space, seed);
    names.emplace_back(entry.name);
  }
  return Error{ErrorCode::kInvalidInput, "no strategy called " + Printable(name) + "; there are " + Join(names, ", ")};
}

}  // namespace assay
