// SPDX-License-Identifier: Apache-2.0
#include "contract/normal_fill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

// avx512f has fused steps, and a fused step gives other bits than a machine that has none.
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

namespace assay {
namespace {

// Vector extensions of GCC and Clang: sixteen lanes, lowered to what the machine has.  The chain of
// steps is long, so more lanes in flight at once is what makes it fast.
constexpr size_t kLanes = 16;
typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));

// The steps are the same, in the same order, for every instruction set: see the header for why.
// By memory and not by value: a vector argument would change its convention with the instruction set.
__attribute__((always_inline)) inline void NormalLanes(float* lanes) {
  Ints draw;
  std::memcpy(&draw, lanes, sizeof draw);
  const Ints tail = draw & 0x7FFFFFFF;
  // (tail + 1/2) / 2^32 in (0, 1/2): the conversion keeps small tails exact, which is where precision counts.
  const Floats p = (__builtin_convertvector(tail, Floats) + 0.5F) * 0x1p-32F;
  const Floats x = (__builtin_convertvector(0x7FFFFFFF - tail, Floats) + 0.5F) * 0x1p-31F;
  const Floats y = 4.0F * p * (1.0F - p);

  // log2(y) = exponent + log2(1 + f), with 1 + f in [sqrt(1/2), sqrt(2)).
  Ints bits;
  std::memcpy(&bits, &y, sizeof bits);
  const Ints exponent = (bits - 0x3F3504F3) >> 23;
  const Ints mantissa = bits - (exponent << 23);
  Floats one_plus_f;
  std::memcpy(&one_plus_f, &mantissa, sizeof one_plus_f);
  const Floats f = one_plus_f - 1.0F;
  Floats log = 0.314724326F - 0.204397827F * f;
  log = -0.365931839F + f * log;
  log = 0.480072796F + f * log;
  log = -0.721236527F + f * log;
  log = 1.442699194F + f * log;
  const Floats w = -(__builtin_convertvector(exponent, Floats) + f * log);

  const Floats above = 1.253378987F + w * (0.303474516F + w * (0.037553653F + w * 0.002271714F));
  const Floats below = 1.0F + w * (0.060996223F + w * (0.012364849F + w * 0.000110140463F));
  const Floats z = x * above / below;

  Ints out;
  std::memcpy(&out, &z, sizeof out);
  out |= draw & static_cast<int32_t>(0x80000000);
  std::memcpy(lanes, &out, sizeof out);
}

__attribute__((always_inline)) inline void TransformBlocks(float* data, size_t count) {
  for (size_t i = 0; i + kLanes <= count; i += kLanes) NormalLanes(data + i);
  const size_t rest = count % kLanes;
  if (rest == 0) return;
  std::array<float, kLanes> last{};
  std::memcpy(last.data(), data + count - rest, rest * sizeof(float));
  NormalLanes(last.data());
  std::memcpy(data + count - rest, last.data(), rest * sizeof(float));
}

void TransformPlain(float* data, size_t count) { TransformBlocks(data, count); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void TransformAvx2(float* data, size_t count) { TransformBlocks(data, count); }

__attribute__((target("avx512f,avx512dq"))) void TransformAvx512(float* data, size_t count) {
  TransformBlocks(data, count);
}

using Transform = void (*)(float*, size_t);
Transform BestTransform() {
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0) return TransformAvx512;
  return __builtin_cpu_supports("avx2") != 0 ? TransformAvx2 : TransformPlain;
}
#endif

// Small enough that the draws are still in the first cache when they are transformed.
constexpr size_t kBlock = 4096;

}  // namespace

void NormalFromBitsPlainly(std::span<float> inout) { TransformPlain(inout.data(), inout.size()); }

void NormalFromBits(std::span<float> inout) {
#if defined(__x86_64__)
  static const Transform kTransform = BestTransform();
  kTransform(inout.data(), inout.size());
#else
  TransformPlain(inout.data(), inout.size());
#endif
}

void FillNormal(std::span<float> out, Stream& stream) {
  while (!out.empty()) {
    const std::span<float> block = out.first(std::min(out.size(), kBlock));
    stream.Fill(std::as_writable_bytes(block));
    NormalFromBits(block);
    out = out.subspan(block.size());
  }
}

void FillNormal(std::span<double> out, Stream& stream) {
  std::array<float, kBlock> coarse;
  std::array<uint32_t, kBlock> fine;
  while (!out.empty()) {
    const size_t count = std::min(out.size(), kBlock);
    FillNormal(std::span(coarse).first(count), stream);
    stream.Fill(std::as_writable_bytes(std::span(fine).first(count)));
    // A relative shift of at most half a float's last place fills the bits that a float has not.
    for (size_t i = 0; i < count; ++i)
      out[i] = double{coarse[i]} * (1.0 + (static_cast<double>(fine[i]) - 0x1p31) * 0x1p-56);
    out = out.subspan(count);
  }
}

void FillUniform(std::span<float> out, Stream& stream) {
  while (!out.empty()) {
    const std::span<float> block = out.first(std::min(out.size(), kBlock));
    stream.Fill(std::as_writable_bytes(block));
    for (float& value : block)
      value = static_cast<float>(static_cast<int32_t>(std::bit_cast<uint32_t>(value) >> 8)) * 0x1p-24F;
    out = out.subspan(block.size());
  }
}

void FillUniform(std::span<double> out, Stream& stream) {
  stream.Fill(std::as_writable_bytes(out));
  for (double& value : out)
    value = static_cast<double>(static_cast<int64_t>(std::bit_cast<uint64_t>(value) >> 11)) * 0x1p-53;
}

}  // namespace assay
