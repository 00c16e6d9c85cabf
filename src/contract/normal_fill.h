// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace assay {

// Standard normal numbers, fast: 16 MiB take about 4 ms of one core, half of it the cipher.  A unit
// refills megabytes while a candidate waits.
//
// Each float comes from one 32-bit draw: a sign and a 31-bit tail probability p, then
// z = x R(w) with x = 1 - 2p, w = -log2(4p(1 - p)) and R a rational fit of the inverse normal
// distribution.  |z| is right to 1.2e-4 of its value, reaches 6.3, and no operation is fused, so
// that a seed gives the same bits on every machine.  Below |z| = 0.01 the last bits of the mantissa
// are not all random; nowhere else does the fit show in fewer than ten million draws.
void FillNormal(std::span<float> out, Stream& stream);
void FillNormal(std::span<double> out, Stream& stream);  // the same, with the lower bits drawn too

// Turns draws, as 32-bit numbers in the floats' memory, into normal numbers in place.
void NormalFromBits(std::span<float> inout);
void NormalFromBitsPlainly(std::span<float> inout);  // without this machine's extensions; the same bits

// Uniform in [0, 1): 24 and 53 random bits.
void FillUniform(std::span<float> out, Stream& stream);
void FillUniform(std::span<double> out, Stream& stream);

}  // namespace assay
