// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/random.h"

namespace assay {

std::optional<RoundProposer::Slot> RandomStrategy::Fill(const Standing& /*standing*/, size_t /*index*/,
                                                        Stream& stream) {
  const std::optional<Point> point = space().Random(stream);
  if (!point) return std::nullopt;
  return Slot{*point, {}, "explorer"};
}

}  // namespace assay
