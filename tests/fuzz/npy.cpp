// SPDX-License-Identifier: Apache-2.0
//
// Recorded values in numpy's format: what is read comes in whole rows, and every number of it was in the bytes.
#include <cmath>
#include <span>

#include "contract/recording.h"
#include "target.h"

namespace assay {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = ParseNpy(std::as_bytes(std::span(data, size)));
  if (!read.ok()) {
    ASSAY_CHECK(read.error().code == ErrorCode::kInvalidInput && !read.error().message.empty());
    return 0;
  }
  const Recording& recording = read.value();
  ASSAY_CHECK(recording.row_length >= 1 && !recording.values.empty());
  ASSAY_CHECK(recording.values.size() % static_cast<size_t>(recording.row_length) == 0);
  ASSAY_CHECK(recording.values.size() <= size);  // no element is shorter than a byte
  double sum = 0;
  for (const double value : recording.values) sum += std::isfinite(value) ? std::abs(value) : 0.0;
  ASSAY_CHECK(sum >= 0.0);
  return 0;
}

}  // namespace assay
