// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/check.h"

// A fuzz target reads bytes that somebody hostile wrote, through the very function that the program
// reads them with, and holds what comes out to a property.  A crash, a sanitizer's report, a hang or a
// broken property is a finding.  One target a program; the same file runs under libFuzzer
// (scripts/fuzz) and, without it, over the kept corpus in ./test (replay.cpp).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace assay::fuzz {

inline std::string_view Text(const uint8_t* data, size_t size) {
  return size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

}  // namespace assay::fuzz
