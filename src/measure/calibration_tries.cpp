// SPDX-License-Identifier: Apache-2.0
#include "measure/calibration_tries.h"

#include <algorithm>

#include "base/check.h"
#include "numerics/statistics.h"

namespace assay {

BestAndMedian TimeOf(const std::vector<double>& seconds, double count) {
  ASSAY_CHECK(!seconds.empty());
  return {*std::min_element(seconds.begin(), seconds.end()) / count, Median(seconds) / count};
}

BestAndMedian RateOf(double count, const std::vector<double>& seconds) {
  const BestAndMedian time = TimeOf(seconds, count);
  return {1 / time.best, 1 / time.median};
}

std::vector<int> ThreadCounts(const Calibration& calibration) {
  if (calibration.threads == 1) return {1};
  return {1, calibration.threads};
}

}  // namespace assay
