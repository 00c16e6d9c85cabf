// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "contract/contract.h"
#include "contract/shape.h"

namespace assay::testing {

// y[i] = 2 x[i] + bias over N elements, made without a folder.
inline Contract ToyContract(FpPolicy fp = FpPolicy::kReassociate) {
  Contract contract;
  contract.name = "toy";
  contract.entry = "toy";
  contract.hash = std::string(64, '0');
  contract.policy.fp = fp;
  contract.policy.scratch_bytes = 1 << 20;
  Axis rows, columns;
  rows.name = "T";
  columns.name = "N";
  rows.min = columns.min = 0;
  rows.max = columns.max = 4096;
  contract.axes = {rows, columns};
  Scalar bias;
  bias.name = "bias";
  contract.scalars = {bias};
  Tensor x, y;
  x.name = "x";
  y.name = "y";
  y.role = Role::kOut;
  y.compare = Compare{};
  for (Tensor* tensor : {&x, &y}) {
    tensor->shape = {Expression::Parse("T").value(), Expression::Parse("N").value()};
  }
  y.stride = {"ldy", ""};
  contract.tensors = {x, y};
  contract.arguments = {{ArgumentKind::kTensor, "x"},       {ArgumentKind::kTensor, "y"},
                        {ArgumentKind::kAxis, "T"},         {ArgumentKind::kAxis, "N"},
                        {ArgumentKind::kStride, "ldy"},     {ArgumentKind::kScalar, "bias"},
                        {ArgumentKind::kScratch, "scratch"}};
  contract.slice = {"T"};
  return contract;
}

inline Shape ToyShape(int64_t rows, int64_t columns, int64_t stride = 0) {
  Shape shape;
  shape.axes = {{"T", rows}, {"N", columns}};
  shape.strides = {{"ldy", stride == 0 ? columns : stride}};
  return shape;
}

// A right kernel with `extra` before the function and `body` at its start.
inline std::string ToyKernel(const std::string& body = "", const std::string& extra = "") {
  return "#include <assay/contract.h>\n" + extra +
         "\nextern \"C\" void toy(const float* x, float* y, int64_t T, int64_t N, int64_t ldy, float bias, void* "
         "scratch) {\n  (void)scratch;\n  " +
         body +
         "\n  for (int64_t t = 0; t < T; ++t)\n    for (int64_t i = 0; i < N; ++i) y[t * ldy + i] = 2.0f * x[t * N + "
         "i] + bias;\n}\n";
}

}  // namespace assay::testing
