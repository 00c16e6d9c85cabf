// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// assay:note class: honest, contract: softmax_rows
// The neighbour of the narrow arithmetics: an exponential of its own, good to about two units in the last place, sums in
// sixteen lanes, and the tail of a row through a masked copy instead of a read beyond the end.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float Lanes __attribute__((vector_size(64)));
typedef int32_t Whole __attribute__((vector_size(64)));

static Lanes Load(const float* from, int64_t count, float fill) {
  Lanes value = Lanes{} + fill;
  memcpy(&value, from, sizeof(float) * (count < 16 ? count : 16));
  return value;
}

static Lanes Exp(Lanes x) {
  x = x < -103.0F ? Lanes{} - 103.0F : x;
  const Lanes scaled = x * 1.44269504F + 12582912.0F;  // rounds to nearest in the low bits
  const Lanes n = scaled - 12582912.0F;
  Lanes r = x - n * 0.693359375F;
  r = r + n * 2.12194440e-4F;
  Lanes p = Lanes{} + 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  // In two halves, so that results below the smallest normal number come out right.
  const Whole whole = __builtin_convertvector(n, Whole);
  const Whole half = whole >> 1;
  const Whole first = (half + 127) << 23, second = (whole - half + 127) << 23;
  Lanes a, b;
  memcpy(&a, &first, sizeof a);
  memcpy(&b, &second, sizeof b);
  return p * a * b;
}

static float Add(Lanes v) {
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += v[i];
  return sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    Lanes largest = Load(in, C, in[0]);
    for (int64_t c = 16; c < C; c += 16) {
      const Lanes value = Load(in + c, C - c, in[0]);
      largest = value > largest ? value : largest;
    }
    float maximum = largest[0];
    for (int i = 1; i < 16; ++i) maximum = largest[i] > maximum ? largest[i] : maximum;
    Lanes sums = {};
    for (int64_t c = 0; c < C; c += 16) {
      const Lanes value = Exp(Load(in + c, C - c, -INFINITY) - maximum);
      memcpy(out + c, &value, sizeof(float) * (C - c < 16 ? C - c : 16));
      for (int i = 0; i < 16; ++i) sums[i] += c + i < C ? value[i] : 0;
    }
    const float inverse = 1 / Add(sums);
    for (int64_t c = 0; c < C; ++c) out[c] *= inverse;
  }
}
