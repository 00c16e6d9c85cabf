// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "numerics/dtype.h"

namespace assay {

// Rounds to the nearest element (ties to even); beyond the range it is an infinity where there is
// one, else NaN (e4m3) or the nearest end (integers).
uint64_t EncodeElement(DType dtype, double value);
double DecodeElement(DType dtype, uint64_t bits);

// Stores `row` from element `offset` on, densely.
void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const float> row);
void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const double> row);
void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const int32_t> row);
void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const int64_t> row);

}  // namespace assay
