// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/seams.h"
#include "record/verdict.h"
#include "verify/examination.h"

namespace assay {

// One question that the gate asks a candidate.  What a check finds carries its reason and evidence;
// the sentence that tells an honest author what to mend is Advice(reason).
class Check {
 public:
  virtual ~Check() = default;
  virtual std::string_view name() const = 0;
  // nothing: this question is answered well.
  virtual Result<std::optional<Rejected>> Run(Examination& examination) = 0;
};

using Checks = std::vector<std::unique_ptr<Check>>;

// In the order in which they are asked: cheapest first.
Checks ScreenChecks();
Checks VerifyChecks();

// The single checks, by their numbers in docs/gate.md.
std::unique_ptr<Check> MakePolicyCheck();       // 0: exports, libraries, code before the first call
std::unique_ptr<Check> MakeSmokeCheck();        // 2: the smallest call
std::unique_ptr<Check> MakeGlanceCheck();       // 3, 4: a few hidden shapes, regimes mixed
std::unique_ptr<Check> MakeTimedGlanceCheck();  // one audited call at the headline's timed shape
std::unique_ptr<Check> MakeShapesCheck();       // 3, 5: hidden shapes, edges, tails, primes, one large
std::unique_ptr<Check> MakeRegimesCheck();      // 4: regimes mixed and pure, one-hot operands
std::unique_ptr<Check> MakeRelationsCheck();    // 6: the contract's relations, one element changed
std::unique_ptr<Check> MakeMemoryCheck();       // 7: guards on both sides, poison, complementary poison
std::unique_ptr<Check> MakeTimedShapesCheck();  // units at every timed shape, the same slot again
std::unique_ptr<Check> MakeDeterminismCheck();  // 9
std::unique_ptr<Check> MakeHistoryCheck();      // 10

// 11, in the exam.  Both must outlive the check.
std::unique_ptr<Check> MakeSanitizerCheck(const Candidate& candidate, Builder& builder);

// The check that a reason belongs to, where any unit may have tripped over it ("memory",
// "machine state"); else the check that was running.
std::string_view CheckOf(Reason reason, std::string_view running);

}  // namespace assay
