// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "record/calibration.h"

namespace assay {

// The machine first, then a table for each part, best with the median behind it; no line is wider
// than `width`.  `age_seconds`: since it was measured.
std::string CalibrationText(const Calibration& calibration, double age_seconds, size_t width);

// "40 s", "12 min", "23 h": the largest unit of which there are two.
std::string Span(double seconds);

}  // namespace assay
