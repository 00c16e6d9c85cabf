// SPDX-License-Identifier: Apache-2.0
#include "contract/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace assay {
namespace {

ArgumentClass ClassOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return ArgumentClass::kDouble;
    case DType::kF32:
      return ArgumentClass::kFloat;
    case DType::kBf16:
    case DType::kF16:
      return ArgumentClass::kUInt16;
    case DType::kE4m3:
    case DType::kE5m2:
    case DType::kE2m1:
    case DType::kE8m0:
    case DType::kU8:
    case DType::kI4:
      return ArgumentClass::kUInt8;
    case DType::kI64:
      return ArgumentClass::kInt64;
    case DType::kI32:
      return ArgumentClass::kInt32;
    case DType::kI8:
      return ArgumentClass::kInt8;
    case DType::kTf32:
    case DType::kI16:
      break;
  }
  ASSAY_CHECK(false);  // no tensor and no scalar has such a type
}

std::string TensorParameter(const Tensor& tensor) {
  return fmt::format("{}{}* {}", tensor.role == Role::kIn ? "const " : "", Info(tensor.dtype).c_type, tensor.name);
}

std::string Parameter(const Contract& contract, const ArgumentRef& argument) {
  switch (argument.kind) {
    case ArgumentKind::kTensor:
      return TensorParameter(*contract.FindTensor(argument.name));
    case ArgumentKind::kScalar:
      return fmt::format("{} {}", Info(contract.FindScalar(argument.name)->dtype).c_type, argument.name);
    case ArgumentKind::kScratch:
      return "void* scratch";
    case ArgumentKind::kAxis:
    case ArgumentKind::kStride:
      break;
  }
  return "int64_t " + argument.name;
}

// "int64_t B, int64_t T": the axes in C order, without strides.
std::string AxisParameters(const Contract& contract) {
  std::vector<std::string> parameters;
  for (const Axis& axis : contract.axes) parameters.push_back("int64_t " + axis.name);
  return parameters.empty() ? "void" : Join(parameters, ", ");
}

std::string PreparePrototype(const Contract& contract) {
  std::vector<std::string> parameters;
  for (const Tensor* tensor : PreparedTensors(contract)) parameters.push_back(TensorParameter(*tensor));
  for (const Axis& axis : contract.axes) parameters.push_back("int64_t " + axis.name);
  parameters.emplace_back("void* packed");
  return fmt::format("void {}_prepare({})", contract.entry, Join(parameters, ", "));
}

void AddDefine(std::string& out, const std::string& name, const std::string& value) {
  out += fmt::format("#ifndef {0}\n#define {0} {1}\n#endif\n", name, value);
}

}  // namespace

std::string_view CType(ArgumentClass type) {
  switch (type) {
    case ArgumentClass::kPointer:
      return "void*";
    case ArgumentClass::kInt64:
      return "int64_t";
    case ArgumentClass::kInt32:
      return "int32_t";
    case ArgumentClass::kInt8:
      return "int8_t";
    case ArgumentClass::kUInt16:
      return "uint16_t";
    case ArgumentClass::kUInt8:
      return "uint8_t";
    case ArgumentClass::kFloat:
      return "float";
    case ArgumentClass::kDouble:
      return "double";
  }
  return "";
}

std::vector<ArgumentClass> ArgumentClasses(const Contract& contract) {
  std::vector<ArgumentClass> classes;
  for (const ArgumentRef& argument : contract.arguments) {
    switch (argument.kind) {
      case ArgumentKind::kTensor:
      case ArgumentKind::kScratch:
        classes.push_back(ArgumentClass::kPointer);
        break;
      case ArgumentKind::kScalar:
        classes.push_back(ClassOf(contract.FindScalar(argument.name)->dtype));
        break;
      case ArgumentKind::kAxis:
      case ArgumentKind::kStride:
        classes.push_back(ArgumentClass::kInt64);
        break;
    }
  }
  return classes;
}

std::string EntryPrototype(const Contract& contract) {
  std::vector<std::string> parameters;
  for (const ArgumentRef& argument : contract.arguments) parameters.push_back(Parameter(contract, argument));
  return fmt::format("void {}({})", contract.entry, Join(parameters, ", "));
}

std::string ContractHeader(const Contract& contract, std::span<const KnobDefault> knobs) {
  std::string out =
      "// Generated from the contract " + contract.name + "; do not edit.\n#pragma once\n\n#include <stdint.h>\n\n";
  out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  out += EntryPrototype(contract) + ";\n";
  if (TakesScratch(contract)) {
    out += "// Optional: bytes of scratch memory for these sizes; `scratch` is null without it.\n";
    out += fmt::format("int64_t {}_scratch({});\n", contract.entry, AxisParameters(contract));
  }
  if (!PreparedTensors(contract).empty()) {
    out += "// Optional, both or none: bytes of the packed form, and the packing.\n";
    out += fmt::format("int64_t {}_packed({});\n{};\n", contract.entry, AxisParameters(contract),
                       PreparePrototype(contract));
  }
  out += "\n#ifdef __cplusplus\n}  // extern \"C\"\n#endif\n";
  if (!knobs.empty()) out += "\n";
  for (const KnobDefault& knob : knobs) {
    // The words come first: NAME's own value is one of these numbers.
    for (size_t i = 0; i < knob.words.size(); ++i) AddDefine(out, knob.name + "_" + knob.words[i], std::to_string(i));
    const auto word = std::ranges::find(knob.words, knob.value);
    ASSAY_CHECK(knob.words.empty() || word != knob.words.end());
    AddDefine(out, knob.name, knob.words.empty() ? knob.value : std::to_string(word - knob.words.begin()));
  }
  return out;
}

std::vector<ExportRule> AllowedExports(const Contract& contract, bool peer) {
  std::vector<ExportRule> rules = {{contract.entry, true}};
  if (TakesScratch(contract)) rules.push_back({contract.entry + "_scratch", false});
  if (!PreparedTensors(contract).empty()) {
    rules.push_back({contract.entry + "_packed", false});
    rules.push_back({contract.entry + "_prepare", false});
  }
  if (peer) rules.push_back({contract.entry + "_info", false});
  return rules;
}

bool TakesScratch(const Contract& contract) {
  return std::ranges::any_of(contract.arguments,
                             [](const ArgumentRef& argument) { return argument.kind == ArgumentKind::kScratch; });
}

std::vector<const Tensor*> PreparedTensors(const Contract& contract) {
  std::vector<const Tensor*> prepared;
  for (const Tensor& tensor : contract.tensors) {
    if (tensor.prepare) prepared.push_back(&tensor);
  }
  return prepared;
}

std::vector<std::string> ArgumentNames(const Contract& contract) {
  std::vector<std::string> names;
  for (const ArgumentRef& argument : contract.arguments) names.push_back(argument.name);
  return names;
}

}  // namespace assay
