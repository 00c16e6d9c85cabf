// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "record/seams.h"
#include "verify/check.h"

namespace assay {

// What the exam asks beyond screen and verify with new seeds, shapes and processes.
struct ExamPlan {
  const Candidate* candidate = nullptr;
  Builder* builder = nullptr;
  std::function<Result<std::optional<Rejected>>(const Contract&, const Candidate&)> rebuild;
};

Checks ExamChecks(const ExamPlan& plan);

}  // namespace assay
