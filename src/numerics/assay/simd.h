// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inner loops over rows in double, eight lanes wide, in the compilers' portable vector extension:
// neither GCC 12 at -O2 nor any compiler without -ffast-math vectorises a sum on its own.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "environment.h"
#include "tensor.h"

// Wide vectors as values concern only calls that are not inlined, and these all are.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace assay::simd {

typedef double Lanes __attribute__((vector_size(64)));
typedef int64_t Bits __attribute__((vector_size(64)));
typedef float Narrow __attribute__((vector_size(32)));
typedef uint16_t Half __attribute__((vector_size(16)));
typedef uint32_t Words __attribute__((vector_size(32)));

// Two bytes of bf16, so that overloads can tell them from an integer.
struct Bf16 {
  uint16_t bits;
};

#define ASSAY_INLINE inline __attribute__((always_inline))

ASSAY_INLINE Lanes Load8(const double* p) {
  Lanes lanes;
  std::memcpy(&lanes, p, sizeof lanes);
  return lanes;
}
ASSAY_INLINE Lanes Load8(const float* p) {
  Narrow narrow;
  std::memcpy(&narrow, p, sizeof narrow);
  return __builtin_convertvector(narrow, Lanes);
}
ASSAY_INLINE Lanes Load8(const Bf16* p) {
  Half half;
  std::memcpy(&half, p, sizeof half);
  const Words words = __builtin_convertvector(half, Words) << 16;
  Narrow narrow;
  std::memcpy(&narrow, &words, sizeof narrow);
  return __builtin_convertvector(narrow, Lanes);
}
ASSAY_INLINE double Load1(const double* p) { return *p; }
ASSAY_INLINE double Load1(const float* p) { return *p; }
ASSAY_INLINE double Load1(const Bf16* p) {
  const uint32_t word = static_cast<uint32_t>(p->bits) << 16;
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
ASSAY_INLINE void Store8(double* p, Lanes lanes) { std::memcpy(p, &lanes, sizeof lanes); }
ASSAY_INLINE Lanes Magnitude(Lanes x) { return __builtin_bit_cast(Lanes, __builtin_bit_cast(Bits, x) & INT64_MAX); }
ASSAY_INLINE double Total(Lanes x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

struct DotResult {
  double sum = 0.0;
  double magnitude = 0.0;   // of the terms
};

template <bool kMagnitude, class A, class B>
DotResult Dot(const A* a, const B* b, int64_t n) {
  Lanes sum0 = {}, sum1 = {}, magnitude0 = {}, magnitude1 = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const Lanes x = Load8(a + i) * Load8(b + i);
    const Lanes y = Load8(a + i + 8) * Load8(b + i + 8);
    sum0 += x;
    sum1 += y;
    if constexpr (kMagnitude) {
      magnitude0 += Magnitude(x);
      magnitude1 += Magnitude(y);
    }
  }
  DotResult result{Total(sum0 + sum1), Total(magnitude0 + magnitude1)};
  for (; i < n; ++i) {
    const double x = Load1(a + i) * Load1(b + i);
    result.sum += x;
    if constexpr (kMagnitude) result.magnitude += std::fabs(x);
  }
  return result;
}

// sum[i] += w * v[i] and, if asked for, magnitude[i] += |w * v[i]|.
template <bool kMagnitude, class V>
void AddScaled(double w, const V* v, int64_t n, double* sum, double* magnitude) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Lanes x = w * Load8(v + i);
    Store8(sum + i, Load8(sum + i) + x);
    if constexpr (kMagnitude) Store8(magnitude + i, Load8(magnitude + i) + Magnitude(x));
  }
  for (; i < n; ++i) {
    const double x = w * Load1(v + i);
    sum[i] += x;
    if constexpr (kMagnitude) magnitude[i] += std::fabs(x);
  }
}

// spread[i] += w * |v[i] - centre[i]|
template <class V>
void AddDeviation(double w, const V* v, int64_t n, const double* centre, double* spread) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Store8(spread + i, Load8(spread + i) + w * Magnitude(Load8(v + i) - Load8(centre + i)));
  }
  for (; i < n; ++i) spread[i] += w * std::fabs(Load1(v + i) - centre[i]);
}

// Calls `use` with a typed pointer to the row's elements; other types and strides are decoded first.
// The two scratch vectors keep the decoded rows alive; a row must not outlive the next decoding.
template <class Use>
void WithElements(const RawRow& row, std::vector<double>& scratch, Use&& use) {
  if (row.Is(Dtype::kF32) || row.Is(Dtype::kTf32)) return use(reinterpret_cast<const float*>(row.data) + row.offset);
  if (row.Is(Dtype::kF64)) return use(reinterpret_cast<const double*>(row.data) + row.offset);
  if (row.Is(Dtype::kBf16)) return use(reinterpret_cast<const Bf16*>(row.data) + row.offset);
  if (static_cast<int64_t>(scratch.size()) < row.count) scratch.resize(static_cast<size_t>(row.count));
  for (int64_t i = 0; i < row.count; ++i) scratch[static_cast<size_t>(i)] = row.Load(i);
  use(static_cast<const double*>(scratch.data()));
}

template <bool kMagnitude>
DotResult DotRows(const RawRow& a, const RawRow& b) {
  DotResult result;
  WithElements(a, environment.workspace->left, [&](const auto* x) {
    WithElements(b, environment.workspace->right, [&](const auto* y) { result = Dot<kMagnitude>(x, y, a.count); });
  });
  return result;
}

}  // namespace assay::simd

#pragma GCC diagnostic pop
