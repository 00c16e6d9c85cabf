// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "search/strategy/rounds.h"

namespace assay {

// Three explorers, seven refiners: of every ten proposals three are random legal points and seven
// mutate the best verified candidate so far.  The line that a cleverer search has to beat.
class ExplorersRefiners : public RoundProposer {
 public:
  using RoundProposer::RoundProposer;
  std::string name() const override { return "three-explorers-seven-refiners"; }

 protected:
  std::optional<Slot> Fill(const Standing& standing, size_t index, Stream& stream) override;
};

}  // namespace assay
