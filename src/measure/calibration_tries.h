// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "record/calibration.h"

namespace assay {

// The least and the median of these seconds, over `count` of whatever each try did.
BestAndMedian TimeOf(const std::vector<double>& seconds, double count);
// `count` over the seconds: the most, and the median.
BestAndMedian RateOf(double count, const std::vector<double>& seconds);
// One, and all of them where that is more.
std::vector<int> ThreadCounts(const Calibration& calibration);

}  // namespace assay
