// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "record/seams.h"
#include "verify/compare.h"

// The values of one call.  Every call of a candidate, checked or timed, gets the same kind of draw.
namespace assay {

enum class Values {
  kFirst,   // the first regime of every tensor: random mantissas, so bounds are at their sharpest
  kMixed,   // several regimes inside each tensor at random places: what timed calls get
  kPure,    // one regime drawn for each tensor
  kOneHot,  // one operand is a single 1 in each row: products without sums, which every order computes exactly
};
std::string_view Name(Values values);

// What was drawn, besides the bytes themselves.
struct DrawnCall {
  std::vector<double> scalars;  // in the order of contract.scalars
  bool structured = false;      // some regime has no random mantissas: rounding errors may conspire
  std::string regimes;          // for evidence
};

Texture TextureOf(Values values, bool structured);

// Where tensor `index` of the call lies in memory that may be written; empty when it is absent.
using TensorBytes = std::function<std::span<std::byte>(size_t index)>;

// Draws scalars and fills every input (and inout) tensor.  One seed gives one call, whatever the process.
Result<DrawnCall> DrawCall(const Contract& contract, const Shape& shape, Values values, const Seed& seed,
                           const TensorBytes& bytes);

// Whether kOneHot makes sense: some float input is drawn from values on both sides of zero.
bool HasOneHot(const Contract& contract);

// NaN in every float input, random bits elsewhere: a call whose answer must leave no trace.  Into a call
// that was drawn before: integers that inputs.cpp filled stay as they are.
Status DrawNanCall(const Contract& contract, const Shape& shape, const Seed& seed, const TensorBytes& bytes);

}  // namespace assay
