// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

// Values that were recorded from a model, in rows as they stood in its last dimension.
struct Recording {
  int64_t row_length = 0;
  std::vector<double> values;  // rows one after the other
};

// Reads what numpy.save writes: format 1.0 or 2.0, little endian, C order, at least one dimension, of
// float16, float32, float64 or integers of up to 32 bits.  kInvalidInput says what is wrong and what to
// do about it, without the file's name.
Result<Recording> ParseNpy(std::span<const std::byte> bytes);
Result<Recording> ReadNpy(const std::filesystem::path& file);

}  // namespace assay
