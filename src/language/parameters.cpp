// SPDX-License-Identifier: Apache-2.0
#include "language/parameters.h"

namespace assay {

std::vector<Parameter> ParametersOf(const Contract& contract, const Shape& shape) {
  std::vector<Parameter> parameters;
  for (const ArgumentRef& argument : contract.arguments) {
    Parameter parameter;
    parameter.kind = argument.kind;
    switch (argument.kind) {
      case ArgumentKind::kAxis:
        parameter.bits = static_cast<uint64_t>(shape.axes.at(argument.name));
        break;
      case ArgumentKind::kStride:
        parameter.bits = static_cast<uint64_t>(shape.strides.at(argument.name));
        break;
      case ArgumentKind::kScalar:
        parameter.index = static_cast<size_t>(contract.FindScalar(argument.name) - contract.scalars.data());
        parameter.dtype = contract.scalars[parameter.index].dtype;
        break;
      case ArgumentKind::kTensor:
        parameter.index = static_cast<size_t>(contract.FindTensor(argument.name) - contract.tensors.data());
        break;
      case ArgumentKind::kScratch:
        break;
    }
    parameters.push_back(parameter);
  }
  return parameters;
}

CallArgument ScalarArgument(DType dtype, double value) {
  if (dtype == DType::kF32) return FloatArgument{static_cast<float>(value)};
  if (dtype == DType::kF64) return DoubleArgument{value};
  return IntegerArgument{static_cast<uint64_t>(static_cast<int64_t>(value))};
}

}  // namespace assay
