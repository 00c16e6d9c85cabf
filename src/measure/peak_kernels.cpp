// SPDX-License-Identifier: Apache-2.0
#include "measure/peak_kernels.h"

#include <array>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace assay {
namespace {

#if defined(__x86_64__)

// Written in assembler because the figure must not depend on how this file was compiled: a
// compiler that spills one accumulator makes every candidate look closer to the peak than it is.
// Real numbers and not zeros: the clock follows the power that the multipliers draw.
constexpr float kFactor = 0.999F;
constexpr float kAddend = 0.37F;

#define ASSAY_FMA(width, n) "vfmadd231ps %%" width "14, %%" width "15, %%" width #n "\n\t"
#define ASSAY_START(width, n) "vbroadcastss %[addend], %%" width #n "\n\t"
#define ASSAY_FOURTEEN(form, width)                                                                        \
  form(width, 0) form(width, 1) form(width, 2) form(width, 3) form(width, 4) form(width, 5) form(width, 6) \
      form(width, 7) form(width, 8) form(width, 9) form(width, 10) form(width, 11) form(width, 12) form(width, 13)
// Accumulators grow by kFactor * kAddend each step; within the seconds of a run they stay finite.
#define ASSAY_FMA_LOOP(width) \
  asm volatile(ASSAY_FOURTEEN(ASSAY_START, width)                                                      \
               "vbroadcastss %[factor], %%" width "14\n\t"                                             \
               "vbroadcastss %[addend], %%" width "15\n\t"                                             \
               ".p2align 5\n\t"                                                                        \
               "1:\n\t" ASSAY_FOURTEEN(ASSAY_FMA, width)                                               \
               "sub $1, %[count]\n\t"                                                                  \
               "jnz 1b\n\t"                                                                            \
               "vzeroupper\n\t"                                                                        \
               : [count] "+r"(iterations)                                                              \
               : [factor] "m"(kFactor), [addend] "m"(kAddend)                                          \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

void FmaZmm(int64_t iterations) { ASSAY_FMA_LOOP("zmm"); }
void FmaYmm(int64_t iterations) { ASSAY_FMA_LOOP("ymm"); }

#undef ASSAY_FMA_LOOP
#undef ASSAY_FOURTEEN
#undef ASSAY_START
#undef ASSAY_FMA

#endif

// For processors without the above: sixteen chains of four lanes, as the compiler makes them.
void FmaPortable(int64_t iterations) {
  typedef float Lanes __attribute__((vector_size(16)));
  std::array<Lanes, 16> sums;
  for (Lanes& sum : sums) sum = Lanes{0.37F, 0.38F, 0.39F, 0.4F};
  const Lanes factor = {0.999F, 0.999F, 0.999F, 0.999F};
  const Lanes addend = {0.37F, 0.37F, 0.37F, 0.37F};
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (Lanes& sum : sums) sum = sum * factor + addend;
  }
  for (Lanes& sum : sums) asm volatile("" : : "m"(sum));
}

std::vector<FmaKernel> Supported() {
  std::vector<FmaKernel> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) kernels.push_back({"512-bit FMA", 16, 14, FmaZmm});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back({"256-bit FMA", 8, 14, FmaYmm});
#endif
  if (kernels.empty()) kernels.push_back({"portable multiply and add", 4, 16, FmaPortable});
  return kernels;
}

}  // namespace

std::span<const FmaKernel> FmaKernels() {
  static const std::vector<FmaKernel> kernels = Supported();
  return kernels;
}

void MultiplyChain(int64_t iterations) {
#if defined(__x86_64__)
  uint64_t value = 3;
  asm volatile(
      ".p2align 4\n\t"
      "1:\n\t"
      ".rept 16\n\t"
      "imul %[value], %[value]\n\t"
      ".endr\n\t"
      "sub $1, %[count]\n\t"
      "jnz 1b\n\t"
      : [value] "+r"(value), [count] "+r"(iterations)
      :
      : "cc");
#else
  uint64_t value = 3;
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kMultipliesPerIteration; ++j) {
      value *= value;
      asm volatile("" : "+r"(value));
    }
  }
#endif
}

#if defined(__x86_64__)
void StreamCopy(float* to, const float* from, size_t values) {
  for (size_t i = 0; i < values; i += 16) {
    const __m128 a = _mm_load_ps(from + i), b = _mm_load_ps(from + i + 4);
    const __m128 c = _mm_load_ps(from + i + 8), d = _mm_load_ps(from + i + 12);
    _mm_stream_ps(to + i, a);
    _mm_stream_ps(to + i + 4, b);
    _mm_stream_ps(to + i + 8, c);
    _mm_stream_ps(to + i + 12, d);
  }
  _mm_sfence();
}

void StreamTriad(float* to, const float* a, const float* b, float factor, size_t values) {
  const __m128 f = _mm_set1_ps(factor);
  for (size_t i = 0; i < values; i += 16) {
    __m128 sums[4];
    for (size_t j = 0; j < 4; ++j) {
      sums[j] = _mm_add_ps(_mm_load_ps(a + i + 4 * j), _mm_mul_ps(f, _mm_load_ps(b + i + 4 * j)));
    }
    for (size_t j = 0; j < 4; ++j) _mm_stream_ps(to + i + 4 * j, sums[j]);
  }
  _mm_sfence();
}
#else
void StreamCopy(float* to, const float* from, size_t values) {
  for (size_t i = 0; i < values; ++i) to[i] = from[i];
}

void StreamTriad(float* to, const float* a, const float* b, float factor, size_t values) {
  for (size_t i = 0; i < values; ++i) to[i] = a[i] + factor * b[i];
}
#endif

void ReadLines(const std::byte* bytes, size_t count) {
  unsigned sum = 0;
  for (size_t i = 0; i < count; i += 64) sum += std::to_integer<unsigned>(bytes[i]);
  asm volatile("" : : "r"(sum));
}

}  // namespace assay
