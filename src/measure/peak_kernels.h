// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

// A loop of multiply-adds that touches nothing but registers.
struct FmaKernel {
  std::string_view element;  // what is multiplied: "f64", "f32", "bf16" or "i8", as contracts spell it
  std::string_view name;
  int lanes;                        // values of one register
  int accumulators;                 // independent chains: above latency times pipes
  void (*run)(int64_t iterations);  // one iteration = one instruction per accumulator

  // An instruction multiplies and adds each of its values once: two operations a value.
  double OperationsPerIteration() const { return 2.0 * lanes * accumulators; }
};

// Those of f32 that this processor can run, widest first; never empty.
std::span<const FmaKernel> FmaKernels();
// Those of every element type, f32 first, each type's widest first.  bf16 and i8 are there only where
// the processor multiplies them in its vector registers; tile registers (AMX) are not tried.
std::span<const FmaKernel> PeakKernels();

// Dependent integer multiplies, each of kMultiplyLatency cycles: time over count gives the clock
// that the core really runs at (the time-stamp counter ticks at another rate).
inline constexpr int kMultiplyLatency = 3;
inline constexpr int kMultipliesPerIteration = 16;
void MultiplyChain(int64_t iterations);

// Streams with stores that bypass the caches where the processor has them.  `values` is a multiple
// of 16, pointers are 64-byte aligned.
void StreamCopy(float* to, const float* from, size_t values);
void StreamTriad(float* to, const float* a, const float* b, float factor, size_t values);
// Reads every line once, so that whatever lay in the caches before is gone.
void ReadLines(const std::byte* bytes, size_t count);

}  // namespace assay
