// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

// One way to go over arrays of f32, in registers as wide as the processor has them.  Written in
// assembler where it can be, so that the figure does not depend on how this file was compiled.
struct StreamKernel {
  std::string_view access;  // "read", "write" (0.5), "copy" or "triad" (to = a + 0.5 b)
  bool around;              // stores bypass the caches
  int arrays;               // that it moves: 1, 1, 2, 3; each counts once
  // `passes` times over `values` of each array; pointers are 64-byte aligned, `values` is a multiple
  // of kStreamStep.  Arrays that the access does not have are not touched.
  void (*run)(float* to, const float* a, const float* b, size_t values, int64_t passes);
};

inline constexpr size_t kStreamStep = 128;

// Those that this processor has; the four through the caches are always there, and first.
std::span<const StreamKernel> StreamKernels();

// Follows pointers from `from`, each load waiting for the one before; returns where it ended.
void* ChasePointers(void* from, int64_t loads);

}  // namespace assay
