// SPDX-License-Identifier: Apache-2.0
#include "app/cli/passage.h"

#include "language/instance.h"
#include "record/advance.h"

namespace assay {
namespace {

// Into a process of its own and out again, without a call.
Status Load(const Workshop& shop, const Artifact& artifact, Attempt& attempt) {
  ASSAY_TRY(const Shape shape, WorkloadShape(shop.contract, shop.contract.workloads.front()));
  InstanceSpec spec;
  spec.contract = &shop.contract;
  spec.artifact = &artifact;
  spec.shape = &shape;
  spec.threads = shop.threads;
  ASSAY_TRY(const InstanceOutcome outcome, Instance::Start(spec));
  attempt.stage = Stage::kLoad;
  if (const auto* refused = std::get_if<Rejected>(&outcome)) Refuse(attempt, *refused);
  return Ok();
}

// The relaxed baseline where there is one. A campaign prefers a peer, but it has proved which of them run here.
const ReferenceKernel* WitnessOf(const Contract& contract) {
  const ReferenceKernel* const relaxed = contract.FindReference("relaxed");
  if (relaxed != nullptr || contract.references.empty()) return relaxed;
  return &contract.references.front();
}

Status EstimateAlone(Workshop& shop, const NamedKernel& subject, const Screened& screened, const Verified& verified,
                     Attempt& attempt) {
  // Somebody who is trusted says how much dearer a single call is here; a stranger would say it of himself.
  const ReferenceKernel* const witness = WitnessOf(shop.contract);
  if (subject.reference != nullptr) {
    shop.timer->SetWitness(verified);
  } else if (witness != nullptr) {
    ASSAY_TRY(const Passage passed, PassTo(Stage::kVerify, shop, {std::nullopt, witness, witness->name}));
    if (passed.verified) shop.timer->SetWitness(*passed.verified);
  }
  ASSAY_TRY(const EstimateOutcome timed, shop.timer->Estimate(shop.contract, screened, nullptr));
  if (const auto* refused = std::get_if<Rejected>(&timed)) return Refuse(attempt, *refused), Ok();
  attempt.stage = Stage::kMeasure;
  attempt.estimates = std::get<Estimates>(timed).workloads;
  return Ok();
}

}  // namespace

Result<Passage> PassTo(Stage last, Workshop& shop, const NamedKernel& subject) {
  if (last == Stage::kExam && !subject.candidate) {
    return Error{ErrorCode::kInvalidInput,
                 subject.label + (subject.object.empty() ? " is a baseline or peer" : " came without a source") +
                     "; only candidates with their source sit the exam"};
  }
  Passage passage;
  Attempt& attempt = passage.attempt;
  if (subject.candidate) attempt.proposal.candidate = *subject.candidate;
  if (!subject.candidate) attempt.proposal.candidate.template_name = subject.label;
  if (!subject.object.empty()) attempt.proposal.candidate.id = Sha256(subject.object);

  ASSAY_TRY(const BuildOutcome built, BuildKernel(shop, subject));
  if (const auto* refused = std::get_if<Rejected>(&built)) return Refuse(attempt, *refused), passage;
  const Artifact& artifact = attempt.artifact.emplace(std::get<Artifact>(built));
  if (last == Stage::kBuild) return passage;
  if (last == Stage::kLoad) {
    ASSAY_TRY_STATUS(Load(shop, artifact, attempt));
    return passage;
  }
  ASSAY_TRY(const ScreenOutcome screened, shop.gate->Screen(shop.contract, artifact));
  if (const auto* refused = std::get_if<Rejected>(&screened)) return Refuse(attempt, *refused), passage;
  Advance(attempt, Stage::kScreen, Trust::kScreened, std::get<Screened>(screened).checks());
  if (last == Stage::kScreen) return passage;

  ASSAY_TRY(const VerifyOutcome verified, shop.gate->Verify(shop.contract, std::get<Screened>(screened)));
  if (const auto* refused = std::get_if<Rejected>(&verified)) return Refuse(attempt, *refused), passage;
  passage.verified = std::get<Verified>(verified);
  Advance(attempt, Stage::kVerify, Trust::kVerified, passage.verified->checks());
  attempt.outcome = OutcomeKind::kVerified;
  if (last == Stage::kVerify) return passage;

  if (last == Stage::kMeasure) {
    ASSAY_TRY_STATUS(EstimateAlone(shop, subject, std::get<Screened>(screened), *passage.verified, attempt));
    return passage;
  }
  ASSAY_TRY(const ExamOutcome examined, shop.gate->Examine(shop.contract, *subject.candidate, *passage.verified));
  if (const auto* refused = std::get_if<Rejected>(&examined)) return Refuse(attempt, *refused), passage;
  Advance(attempt, Stage::kExam, Trust::kExamined, std::get<Examined>(examined).checks());
  return passage;
}

}  // namespace assay
