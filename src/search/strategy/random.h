// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "search/strategy/rounds.h"

namespace assay {

// Random legal points without replacement: the line below which nothing counts as a search.
class RandomStrategy : public RoundProposer {
 public:
  using RoundProposer::RoundProposer;
  std::string name() const override { return "random"; }

 protected:
  std::optional<Slot> Fill(const Standing& standing, size_t index, Stream& stream) override;
};

}  // namespace assay
