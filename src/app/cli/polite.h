// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "record/seams.h"

namespace assay {

// Compilers and checks use all processors: they wait while another campaign on this machine times, and it waits for
// them.  Patience is bounded: after it the work goes on beside the other's timing, which sees that it was disturbed.
class PoliteBuilder : public Builder {
 public:
  explicit PoliteBuilder(Builder& builder) : builder_(builder) {}
  Result<BuildOutcome> Build(const Contract& contract, const Candidate& candidate, BuildVariant variant) override;
  Status Prepare(const Contract& contract, std::span<const Candidate> candidates) override;
  Result<BuildOutcome> BuildReference(const Contract& contract, const ReferenceKernel& reference) override;

 private:
  Builder& builder_;
};

class PoliteGate : public Gate {
 public:
  explicit PoliteGate(Gate& gate) : gate_(gate) {}
  Result<ScreenOutcome> Screen(const Contract& contract, const Artifact& artifact) override;
  Result<VerifyOutcome> Verify(const Contract& contract, const Screened& screened) override;
  Result<ExamOutcome> Examine(const Contract& contract, const Candidate& candidate, const Verified& verified) override;
  Result<VerifyOutcome> Control(const Contract& contract, const Artifact& artifact) override;
  Result<Admission> Admit(const Contract& contract) override;

 private:
  Gate& gate_;
};

}  // namespace assay
