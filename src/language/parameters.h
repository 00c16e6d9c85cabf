// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "contract/contract.h"
#include "contract/shape.h"
#include "sandbox/unit.h"

namespace assay {

// How one parameter of the entry is passed; decided once, because a unit may hold many calls.
struct Parameter {
  ArgumentKind kind = ArgumentKind::kAxis;
  size_t index = 0;  // tensor or scalar
  DType dtype = DType::kF32;
  uint64_t bits = 0;  // axis, stride
};

// In C order.
std::vector<Parameter> ParametersOf(const Contract& contract, const Shape& shape);

// A number the way the ABI passes it: floats in vector registers, everything else in 64 integer bits.
CallArgument ScalarArgument(DType dtype, double value);

}  // namespace assay
