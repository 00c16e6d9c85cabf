// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"

namespace assay {

// A knob as the generated header shows it, so that a template compiles without any -D.
struct KnobDefault {
  std::string name;
  std::string value;               // a number, or one of `words`
  std::vector<std::string> words;  // empty for numbers; NAME_word is the word's position
};

// How one argument travels in a call.
enum class ArgumentClass : uint8_t { kPointer, kInt64, kInt32, kInt8, kUInt16, kUInt8, kFloat, kDouble };
std::string_view CType(ArgumentClass type);

// More arguments than this no caller passes.
inline constexpr size_t kMaxArguments = 48;

// One per entry of Contract::arguments, in C order.
std::vector<ArgumentClass> ArgumentClasses(const Contract& contract);

// "void gqa_attention(const float* q, ...)": the entry's prototype without `extern "C"` and semicolon.
std::string EntryPrototype(const Contract& contract);

// Text of the generated <assay/contract.h>.
std::string ContractHeader(const Contract& contract, std::span<const KnobDefault> knobs);

struct ExportRule {
  std::string name;
  bool required;
};
// What an artifact of this contract may export: the entry, and `_scratch`, `_packed`, `_prepare` where
// the contract allows them.  `_info` only for peers.
std::vector<ExportRule> AllowedExports(const Contract& contract, bool peer = false);

bool TakesScratch(const Contract& contract);
std::vector<const Tensor*> PreparedTensors(const Contract& contract);

// The names of the arguments, which no knob may take.
std::vector<std::string> ArgumentNames(const Contract& contract);

}  // namespace assay
