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

// Vectors travel by reference: as values their calling convention would depend on the flags, which
// GCC warns about even where everything is inlined.
ASSAY_INLINE void Load8(const double* p, Lanes& lanes) { std::memcpy(&lanes, p, sizeof lanes); }
ASSAY_INLINE void Load8(const float* p, Lanes& lanes) {
  Narrow narrow;
  std::memcpy(&narrow, p, sizeof narrow);
  lanes = __builtin_convertvector(narrow, Lanes);
}
ASSAY_INLINE void Load8(const Bf16* p, Lanes& lanes) {
  Half half;
  std::memcpy(&half, p, sizeof half);
  const Words words = __builtin_convertvector(half, Words) << 16;
  Narrow narrow;
  std::memcpy(&narrow, &words, sizeof narrow);
  lanes = __builtin_convertvector(narrow, Lanes);
}
ASSAY_INLINE double Load1(const double* p) { return *p; }
ASSAY_INLINE double Load1(const float* p) { return *p; }
ASSAY_INLINE double Load1(const Bf16* p) {
  const uint32_t word = static_cast<uint32_t>(p->bits) << 16;
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
ASSAY_INLINE void AddTo(double* p, const Lanes& x) {
  Lanes sum;
  std::memcpy(&sum, p, sizeof sum);
  sum += x;
  std::memcpy(p, &sum, sizeof sum);
}
ASSAY_INLINE void MakePositive(Lanes& x) { x = __builtin_bit_cast(Lanes, __builtin_bit_cast(Bits, x) & INT64_MAX); }
ASSAY_INLINE double Total(const Lanes& x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

struct DotResult {
  double sum = 0.0;
  double magnitude = 0.0;  // of the terms
};

// The magnitudes cost a fifth more; there is one loop, not two, so that oracles compile fast.
template <class T>
DotResult Dot(const T* a, const T* b, int64_t n) {
  Lanes sum0 = {}, sum1 = {}, magnitude0 = {}, magnitude1 = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Lanes x0, x1, y0, y1;
    Load8(a + i, x0);
    Load8(a + i + 8, x1);
    Load8(b + i, y0);
    Load8(b + i + 8, y1);
    x0 *= y0;
    x1 *= y1;
    sum0 += x0;
    sum1 += x1;
    MakePositive(x0);
    MakePositive(x1);
    magnitude0 += x0;
    magnitude1 += x1;
  }
  const Lanes sum = sum0 + sum1, magnitude = magnitude0 + magnitude1;
  DotResult result{Total(sum), Total(magnitude)};
  for (; i < n; ++i) {
    const double x = Load1(a + i) * Load1(b + i);
    result.sum += x;
    result.magnitude += std::fabs(x);
  }
  return result;
}

// sum[i] += w * v[i], and magnitude[i] += |w * v[i]| unless it is null.
template <class V>
void AddScaled(double w, const V* v, int64_t n, double* sum, double* magnitude) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Lanes x;
    Load8(v + i, x);
    x *= w;
    AddTo(sum + i, x);
    if (magnitude == nullptr) continue;
    MakePositive(x);
    AddTo(magnitude + i, x);
  }
  for (; i < n; ++i) {
    const double x = w * Load1(v + i);
    sum[i] += x;
    if (magnitude != nullptr) magnitude[i] += std::fabs(x);
  }
}

// spread[i] += w * |v[i] - centre[i]|
template <class V>
void AddDeviation(double w, const V* v, int64_t n, const double* centre, double* spread) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Lanes x, c;
    Load8(v + i, x);
    Load8(centre + i, c);
    x -= c;
    MakePositive(x);
    x *= w;
    AddTo(spread + i, x);
  }
  for (; i < n; ++i) spread[i] += w * std::fabs(Load1(v + i) - centre[i]);
}

inline const double* Decoded(const RawRow& row, std::vector<double>& scratch) {
  if (row.Is(DType::kF64)) return reinterpret_cast<const double*>(row.data) + row.offset;
  if (static_cast<int64_t>(scratch.size()) < row.count) scratch.resize(static_cast<size_t>(row.count));
  for (int64_t i = 0; i < row.count; ++i) scratch[static_cast<size_t>(i)] = row.Load(i);
  return scratch.data();
}

inline const float* Floats(const RawRow& row) { return reinterpret_cast<const float*>(row.data) + row.offset; }
inline const Bf16* Halves(const RawRow& row) { return reinterpret_cast<const Bf16*>(row.data) + row.offset; }

// Calls `use` with a typed pointer to the row's elements; rare types and strides are decoded first,
// and such a row must not outlive the next decoding.
template <class Use>
void WithElements(const RawRow& row, const Use& use) {
  if (row.Is(DType::kF32)) {
    use(Floats(row));
  } else if (row.Is(DType::kBf16)) {
    use(Halves(row));
  } else {
    use(Decoded(row, environment.workspace->left));
  }
}

inline DotResult DotRows(const RawRow& a, const RawRow& b) {
  if (a.Is(DType::kF32) && b.Is(DType::kF32)) return Dot(Floats(a), Floats(b), a.count);
  if (a.Is(DType::kBf16) && b.Is(DType::kBf16)) return Dot(Halves(a), Halves(b), a.count);
  return Dot(Decoded(a, environment.workspace->left), Decoded(b, environment.workspace->right), a.count);
}

}  // namespace assay::simd
