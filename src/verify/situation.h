// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "record/seams.h"
#include "verify/answers.h"
#include "verify/reference.h"

namespace assay {

// One call at which a contract is put to the proof: its inputs in memory of ours, and what the
// reference says about it.  No candidate is needed.
struct Situation {
  std::string regime;  // "x: ladder(1e-4, 1e4)", "mixed", "one-hot"
  bool first = false;  // every tensor by the first of its generators, the one that says what is usual
  std::unique_ptr<Shape> shape;
  std::vector<std::vector<std::byte>> bytes;  // by tensor; outputs are empty
  // What an honest kernel leaves, where answers are computed from outputs; else empty.
  Outputs outputs;
  TimedCall call;
  Answers answers;
  Answers others;  // of another call at the same shape and slices

  // The same with one tensor's values drawn again.
  Result<std::vector<std::byte>> Redrawn(const Contract& contract, size_t tensor, const Seed& seed) const;
};

inline constexpr size_t kMixedRegime = 1000;
inline constexpr size_t kOneHotRegime = 1001;

// Every regime once on a small and once on a somewhat larger shape, then mixed, then one-hot.
Result<std::vector<Situation>> DrawSituations(const Contract& contract, Reference& reference, const Seed& seed);

}  // namespace assay
