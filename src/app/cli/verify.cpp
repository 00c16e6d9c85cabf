// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/workshop.h"
#include "language/instance.h"
#include "record/json.h"
#include "report/summary.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// One candidate on its way through the stages up to the one asked for; the attempt says how far it came.
class Way {
 public:
  Way(Workshop& shop, const Subject& subject, Stage last) : shop_(shop), subject_(subject), last_(last) {
    if (subject.candidate) attempt_.proposal.candidate = *subject.candidate;
    if (!subject.candidate) attempt_.proposal.candidate.template_name = subject.label;
  }

  Result<Attempt> Walk();

 private:
  bool Refuse(const Rejected& why);
  Result<bool> Load(const Artifact& artifact);
  template <typename Proof>
  void Passed(Stage stage, Trust trust, const Proof& proof) {
    attempt_.stage = stage;
    attempt_.trust = trust;
    attempt_.checks = proof.checks();  // those of the levels below are among them
  }

  Workshop& shop_;
  const Subject& subject_;
  Stage last_;
  Attempt attempt_;
};

bool Way::Refuse(const Rejected& why) {
  attempt_.outcome = OutcomeKind::kRejected;
  attempt_.stage = why.stage;
  attempt_.rejected = why;
  if (!why.checks.empty()) attempt_.checks = why.checks;
  return false;
}

// Into a process of its own and out again, without a call.
Result<bool> Way::Load(const Artifact& artifact) {
  ASSAY_TRY(const Shape shape, WorkloadShape(shop_.contract, shop_.contract.workloads.front()));
  InstanceSpec spec;
  spec.contract = &shop_.contract;
  spec.artifact = &artifact;
  spec.shape = &shape;
  spec.threads = shop_.threads;
  ASSAY_TRY(const InstanceOutcome outcome, Instance::Start(spec));
  attempt_.stage = Stage::kLoad;
  if (const auto* refused = std::get_if<Rejected>(&outcome)) return Refuse(*refused);
  return true;
}

Result<Attempt> Way::Walk() {
  ASSAY_TRY(const BuildOutcome built, BuildSubject(shop_, subject_));
  if (const auto* refused = std::get_if<Rejected>(&built)) return Refuse(*refused), attempt_;
  const Artifact& artifact = attempt_.artifact.emplace(std::get<Artifact>(built));
  if (last_ == Stage::kBuild) return attempt_;
  if (last_ == Stage::kLoad) {
    ASSAY_TRY(const bool loaded, Load(artifact));
    static_cast<void>(loaded);
    return attempt_;
  }
  ASSAY_TRY(const ScreenOutcome screened, shop_.gate->Screen(shop_.contract, artifact));
  if (const auto* refused = std::get_if<Rejected>(&screened)) return Refuse(*refused), attempt_;
  Passed(Stage::kScreen, Trust::kScreened, std::get<Screened>(screened));
  if (last_ == Stage::kScreen) return attempt_;

  ASSAY_TRY(const VerifyOutcome verified, shop_.gate->Verify(shop_.contract, std::get<Screened>(screened)));
  if (const auto* refused = std::get_if<Rejected>(&verified)) return Refuse(*refused), attempt_;
  Passed(Stage::kVerify, Trust::kVerified, std::get<Verified>(verified));
  attempt_.outcome = OutcomeKind::kVerified;
  if (last_ == Stage::kVerify) return attempt_;

  if (last_ == Stage::kMeasure) {
    shop_.timer->SetWitness(std::get<Verified>(verified));
    ASSAY_TRY(const EstimateOutcome timed,
              shop_.timer->Estimate(shop_.contract, std::get<Screened>(screened), nullptr));
    if (const auto* refused = std::get_if<Rejected>(&timed)) return Refuse(*refused), attempt_;
    attempt_.stage = Stage::kMeasure;
    attempt_.estimates = std::get<Estimates>(timed).workloads;
    return attempt_;
  }
  if (!subject_.candidate)
    return Error{ErrorCode::kInvalidInput, subject_.label + " is a baseline or peer; only candidates sit the exam"};
  ASSAY_TRY(const ExamOutcome examined,
            shop_.gate->Examine(shop_.contract, *subject_.candidate, std::get<Verified>(verified)));
  if (const auto* refused = std::get_if<Rejected>(&examined)) return Refuse(*refused), attempt_;
  Passed(Stage::kExam, Trust::kExamined, std::get<Examined>(examined));
  return attempt_;
}

}  // namespace

Result<int> Command(const VerifyArguments& arguments) {
  ASSAY_TRY(Workshop shop, Workshop::Open(arguments.contract, {arguments.threads, {}, 0, {}}));
  ASSAY_TRY(const Subject subject, FindSubject(shop.contract, arguments.file, arguments.knobs, arguments.flags));
  Way way(shop, subject, *ParseStage(arguments.stop_after));
  const Result<Attempt> walked = way.Walk();
  if (!walked.ok()) {
    // The gate's own trouble is no verdict on the kernel.
    if (walked.error().code == ErrorCode::kInvalidInput) return walked.error();
    Say("assay: " + walked.error().message + "\n");
    return kNoVerdict;
  }
  const Attempt& attempt = walked.value();
  if (!arguments.json.empty()) {
    ASSAY_TRY(const Machine machine, MachineHere());
    ASSAY_TRY_STATUS(
        WriteJson(arguments.json, VerdictJson(attempt, shop.contract.name, machine, VersionsHere(shop.contract))));
  }
  if (arguments.json != "-") Print(VerdictText(attempt, shop.contract.name, OutputWidth()));
  return attempt.rejected ? kRefused : kDone;
}

}  // namespace assay
