// SPDX-License-Identifier: Apache-2.0
#include "measure/peak_kernels.h"

#include <algorithm>
#include <array>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
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
constexpr double kFactorF64 = 0.999;
constexpr double kAddendF64 = 0.37;
// Two bf16 (0.996 and 0.37 twice) and four bytes, the first unsigned, the second signed.
constexpr uint32_t kFactorBf16 = 0x3F7F3F7F, kAddendBf16 = 0x3EBD3EBD;
constexpr uint32_t kFactorI8 = 0x255B6D31, kAddendI8 = 0x5A3C7147;

#define ASSAY_FMA(instruction, width, n) instruction " %%" width "14, %%" width "15, %%" width #n "\n\t"
#define ASSAY_START(broadcast, width, n) broadcast " %[addend], %%" width #n "\n\t"
#define ASSAY_FOURTEEN(form, word, width)                                                                      \
  form(word, width, 0) form(word, width, 1) form(word, width, 2) form(word, width, 3) form(word, width, 4)     \
      form(word, width, 5) form(word, width, 6) form(word, width, 7) form(word, width, 8) form(word, width, 9) \
          form(word, width, 10) form(word, width, 11) form(word, width, 12) form(word, width, 13)
// Accumulators grow by about factor * addend each step; within the seconds of a run they stay finite
// (those of bytes wrap around, which costs nothing).
#define ASSAY_FMA_LOOP(instruction, broadcast, width, factor_value, addend_value) \
  asm volatile(ASSAY_FOURTEEN(ASSAY_START, broadcast, width) broadcast                                 \
               " %[factor], %%" width "14\n\t" broadcast " %[addend], %%" width "15\n\t"               \
               ".p2align 5\n\t"                                                                        \
               "1:\n\t" ASSAY_FOURTEEN(ASSAY_FMA, instruction, width)                                  \
               "sub $1, %[count]\n\t"                                                                  \
               "jnz 1b\n\t"                                                                            \
               "vzeroupper\n\t"                                                                        \
               : [count] "+r"(iterations)                                                              \
               : [factor] "m"(factor_value), [addend] "m"(addend_value)                                \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

void FmaZmm(int64_t iterations) { ASSAY_FMA_LOOP("vfmadd231ps", "vbroadcastss", "zmm", kFactor, kAddend); }
void FmaYmm(int64_t iterations) { ASSAY_FMA_LOOP("vfmadd231ps", "vbroadcastss", "ymm", kFactor, kAddend); }
void FmaF64Zmm(int64_t iterations) { ASSAY_FMA_LOOP("vfmadd231pd", "vbroadcastsd", "zmm", kFactorF64, kAddendF64); }
void FmaF64Ymm(int64_t iterations) { ASSAY_FMA_LOOP("vfmadd231pd", "vbroadcastsd", "ymm", kFactorF64, kAddendF64); }
void DotBf16Zmm(int64_t iterations) { ASSAY_FMA_LOOP("vdpbf16ps", "vbroadcastss", "zmm", kFactorBf16, kAddendBf16); }
void DotI8Zmm(int64_t iterations) { ASSAY_FMA_LOOP("vpdpbusd", "vbroadcastss", "zmm", kFactorI8, kAddendI8); }
// The form of processors without 512-bit registers; without the mark an assembler takes the other one.
void DotI8Ymm(int64_t iterations) { ASSAY_FMA_LOOP("%{vex%} vpdpbusd", "vbroadcastss", "ymm", kFactorI8, kAddendI8); }

#undef ASSAY_FMA_LOOP
#undef ASSAY_FOURTEEN
#undef ASSAY_START
#undef ASSAY_FMA

// Asked of the processor itself: not every compiler's list of names has these.  Whether the system
// saves the registers they work on is what __builtin_cpu_supports knows of the wider extension.
struct DotProducts {
  bool avx512_vnni = false, avx512_bf16 = false, avx_vnni = false;
};
DotProducts FindDotProducts() {
  DotProducts found;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool zmm = __builtin_cpu_supports("avx512f"), ymm = __builtin_cpu_supports("avx2");
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  found.avx512_vnni = zmm && (c >> 11 & 1U) == 1;
  const unsigned subleaves = a;
  if (subleaves < 1 || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return found;
  found.avx_vnni = ymm && (a >> 4 & 1U) == 1;
  found.avx512_bf16 = zmm && (a >> 5 & 1U) == 1;
  return found;
}

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

void FmaF64Portable(int64_t iterations) {
  typedef double Lanes __attribute__((vector_size(16)));
  std::array<Lanes, 16> sums;
  for (Lanes& sum : sums) sum = Lanes{0.37, 0.38};
  const Lanes factor = {0.999, 0.999};
  const Lanes addend = {0.37, 0.37};
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (Lanes& sum : sums) sum = sum * factor + addend;
  }
  for (Lanes& sum : sums) asm volatile("" : : "m"(sum));
}

std::vector<FmaKernel> Supported() {
  std::vector<FmaKernel> kernels;
#if defined(__x86_64__)
  const bool zmm = __builtin_cpu_supports("avx512f");
  const bool ymm = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const DotProducts dot = FindDotProducts();
  if (zmm) kernels.push_back({"f32", "512-bit FMA", 16, 14, FmaZmm});
  if (ymm) kernels.push_back({"f32", "256-bit FMA", 8, 14, FmaYmm});
  if (zmm) kernels.push_back({"f64", "512-bit FMA", 8, 14, FmaF64Zmm});
  if (ymm) kernels.push_back({"f64", "256-bit FMA", 4, 14, FmaF64Ymm});
  if (dot.avx512_bf16) kernels.push_back({"bf16", "512-bit dot", 32, 14, DotBf16Zmm});
  if (dot.avx512_vnni) kernels.push_back({"i8", "512-bit dot", 64, 14, DotI8Zmm});
  if (dot.avx_vnni) kernels.push_back({"i8", "256-bit dot", 32, 14, DotI8Ymm});
#endif
  if (kernels.empty()) {
    kernels.push_back({"f32", "portable multiply and add", 4, 16, FmaPortable});
    kernels.push_back({"f64", "portable multiply and add", 2, 16, FmaF64Portable});
  }
  return kernels;
}

}  // namespace

std::span<const FmaKernel> PeakKernels() {
  static const std::vector<FmaKernel> kernels = Supported();
  return kernels;
}

std::span<const FmaKernel> FmaKernels() {
  const std::span<const FmaKernel> all = PeakKernels();
  const auto end = std::find_if(all.begin(), all.end(), [](const FmaKernel& k) { return k.element != "f32"; });
  return all.first(static_cast<size_t>(end - all.begin()));
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
