// SPDX-License-Identifier: Apache-2.0
#include "verify/gate.h"

#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "contract/shape.h"
#include "verify/admission.h"
#include "verify/check.h"
#include "verify/exam.h"
#include "verify/trust.h"

namespace assay {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

// A hang is a call that did not return within ten times the reference's time, at least this.
constexpr std::chrono::seconds kLeastLimit{2};
constexpr int kHangFactor = 10;
// More elements than this without information and a verdict would mean nothing.
constexpr int64_t kFewElements = 2000;

// What a gate keeps of one contract during a campaign.
struct Desk {
  std::unique_ptr<Reference> reference;
  AnswerBank bank;
  std::vector<Shape> timed;
  std::map<std::string, std::chrono::nanoseconds> reference_time;  // of one call, by shape
};

int ProcessorsAllowed() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(CPU_COUNT(&allowed), 1);
}

// The least limit, longer by as much as the machine is crowded: who waits for its turn does not hang.
std::chrono::nanoseconds LeastLimit() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) load = 0;
  const double crowding = std::clamp(load / ProcessorsAllowed(), 1.0, 10.0);
  return std::chrono::nanoseconds(
      static_cast<int64_t>(crowding * std::chrono::duration<double, std::nano>(kLeastLimit).count()));
}

Result<std::vector<Shape>> TimedShapes(const Contract& contract) {
  std::vector<Shape> shapes;
  for (const Workload& workload : contract.workloads) {
    ASSAY_TRY(Shape shape, WorkloadShape(contract, workload));
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace

struct KernelGate::State {
  State(Builder& b, GateOptions o) : builder(b), options(std::move(o)) {}

  Result<Desk*> DeskOf(const Contract& contract);
  Result<std::chrono::nanoseconds> TimeBaseline(const Contract& contract, const Shape& shape);
  std::chrono::nanoseconds LimitOf(const Contract& contract, Desk& desk, const Shape& shape, size_t calls);
  Result<Subject> SubjectOf(const Contract& contract, const Artifact& artifact, Stage stage);
  Result<std::optional<Rejected>> RunChecks(const Checks& checks, const Subject& subject,
                                            std::vector<CheckRecord>& records);

  Builder& builder;
  GateOptions options;
  std::map<Digest, std::unique_ptr<Desk>> desks;  // by contract hash
};

KernelGate::KernelGate(Builder& builder, GateOptions options)
    : state_(std::make_unique<State>(builder, std::move(options))) {}
KernelGate::~KernelGate() = default;

int ThreadsFor(const Contract& contract, int asked) {
  if (asked > 0) return asked;
  if (contract.policy.threads > 0) return contract.policy.threads;
  return ProcessorsAllowed();
}

Result<Desk*> KernelGate::State::DeskOf(const Contract& contract) {
  auto& desk = desks[contract.hash];
  if (desk == nullptr) {
    auto fresh = std::make_unique<Desk>();
    ASSAY_TRY(fresh->timed, TimedShapes(contract));
    ASSAY_TRY(fresh->reference, Reference::Start(contract, options.cache, ThreadsFor(contract, 0)));
    desk = std::move(fresh);
  }
  return desk.get();
}

// One call of the plain baseline at this shape: what a candidate's patience is measured in.
Result<std::chrono::nanoseconds> KernelGate::State::TimeBaseline(const Contract& contract, const Shape& shape) {
  const auto baseline = std::find_if(contract.references.begin(), contract.references.end(),
                                     [](const ReferenceKernel& r) { return r.kind == ReferenceKind::kBaseline; });
  if (baseline == contract.references.end()) return std::chrono::nanoseconds(0);
  ASSAY_TRY(const BuildOutcome built, builder.BuildReference(contract, *baseline));
  const auto* artifact = std::get_if<Artifact>(&built);
  if (artifact == nullptr) return std::chrono::nanoseconds(0);
  ProbeSpec spec;
  spec.contract = &contract;
  spec.artifact = artifact;
  spec.shape = shape;
  spec.threads = ThreadsFor(contract, options.threads);
  spec.limit = std::chrono::seconds(60);
  ASSAY_TRY(ProbeOutcome started, Probe::Start(spec, Stream(options.seed.Derive("baseline"))));
  auto* probe = std::get_if<Probe>(&started);
  if (probe == nullptr) return std::chrono::nanoseconds(0);
  ASSAY_TRY(const DrawnCall drawn, probe->Load(0, Values::kFirst, options.seed.Derive("baseline values")));
  const auto start = steady_clock::now();
  ASSAY_TRY(const std::optional<Rejected> refused, probe->Run(0));
  return refused ? std::chrono::nanoseconds(0) : std::chrono::nanoseconds(steady_clock::now() - start);
}

std::chrono::nanoseconds KernelGate::State::LimitOf(const Contract& contract, Desk& desk, const Shape& shape,
                                                    size_t calls) {
  const std::chrono::nanoseconds least = LeastLimit();
  if (std::find(desk.timed.begin(), desk.timed.end(), shape) == desk.timed.end()) return least;
  const std::string key = Describe(contract, shape);
  if (!desk.reference_time.contains(key)) {
    const auto timed = TimeBaseline(contract, shape);
    desk.reference_time[key] = timed.ok() ? timed.value() : std::chrono::nanoseconds(0);
  }
  return std::max(least, desk.reference_time[key] * kHangFactor * static_cast<int>(calls));
}

Result<Subject> KernelGate::State::SubjectOf(const Contract& contract, const Artifact& artifact, Stage stage) {
  ASSAY_TRY(Desk* const desk, DeskOf(contract));
  Subject subject;
  subject.contract = &contract;
  subject.artifact = &artifact;
  subject.stage = stage;
  subject.threads = ThreadsFor(contract, options.threads);
  subject.seed = options.seed.Derive(Name(stage)).Derive(contract.hash);
  subject.reference = desk->reference.get();
  subject.bank = &desk->bank;
  subject.timed = desk->timed;
  subject.limit = [this, &contract, desk](const Shape& shape, size_t calls) {
    return LimitOf(contract, *desk, shape, calls);
  };
  return subject;
}

Result<std::optional<Rejected>> KernelGate::State::RunChecks(const Checks& checks, const Subject& subject,
                                                             std::vector<CheckRecord>& records) {
  int64_t elements = 0, excluded = 0;
  for (const auto& check : checks) {
    if (std::ranges::find(options.without, check->name()) != options.without.end()) continue;
    const auto start = steady_clock::now();
    Examination examination(subject);
    auto outcome = check->Run(examination);
    if (!outcome.ok()) return Annotate(std::move(outcome).error(), "check " + std::string(check->name()));
    records.push_back({std::string(check->name()), examination.cases(),
                       duration<double>(steady_clock::now() - start).count(), examination.not_checked()});
    elements += examination.elements();
    excluded += examination.excluded();
    if (!outcome.value()) continue;
    if (subject.bank != nullptr) subject.bank->Retire(check->name());
    Rejected rejected = std::move(*outcome.value());
    rejected.stage = subject.stage;
    rejected.check = CheckOf(rejected.reason, check->name());
    rejected.checks = records;
    return std::optional(std::move(rejected));
  }
  if (elements > kFewElements &&
      !(static_cast<double>(excluded) <= kExcludedCapOfRegime * static_cast<double>(elements))) {
    return Error{ErrorCode::kInvalidInput,
                 subject.contract->name + ": the reference says nothing about " + std::to_string(excluded) + " of " +
                     std::to_string(elements) +
                     " elements; state a policy for overflow, or write the reference with its primitives"};
  }
  return std::optional<Rejected>();
}

std::vector<std::string> KernelGate::CheckNames() const {
  const Candidate nobody;
  std::vector<std::string> names;
  const auto add = [&](const Checks& part) {
    for (const auto& check : part) names.emplace_back(check->name());
  };
  add(ScreenChecks());
  add(VerifyChecks());
  add(ExamChecks({&nobody, &state_->builder, {}}));
  return names;
}

Result<ScreenOutcome> KernelGate::Screen(const Contract& contract, const Artifact& artifact) {
  ASSAY_TRY(const Subject subject, state_->SubjectOf(contract, artifact, Stage::kScreen));
  std::vector<CheckRecord> records;
  ASSAY_TRY(std::optional<Rejected> refused, state_->RunChecks(ScreenChecks(), subject, records));
  if (refused) return ScreenOutcome(std::move(*refused));
  // Right as far as a glance can tell: it may be timed, not believed.
  return ScreenOutcome(TrustFromGate::AsScreened(artifact, std::move(records)));
}

Result<VerifyOutcome> KernelGate::Verify(const Contract& contract, const Screened& screened) {
  ASSAY_TRY(const Subject subject, state_->SubjectOf(contract, screened.artifact(), Stage::kVerify));
  std::vector<CheckRecord> records = screened.checks();
  ASSAY_TRY(std::optional<Rejected> refused, state_->RunChecks(VerifyChecks(), subject, records));
  if (refused) return VerifyOutcome(std::move(*refused));
  return VerifyOutcome(TrustFromGate::AsVerified(screened.artifact(), std::move(records)));
}

Result<ExamOutcome> KernelGate::Examine(const Contract& contract, const Candidate& candidate,
                                        const Verified& verified) {
  ASSAY_TRY(Subject subject, state_->SubjectOf(contract, verified.artifact(), Stage::kExam));
  // Inputs and shapes that no other candidate has seen and nobody's answers were kept of.
  subject.bank = nullptr;
  subject.seed = subject.seed.Derive(candidate.id);
  std::vector<CheckRecord> records = verified.checks();
  const ExamPlan plan{&candidate, &state_->builder, state_->options.rebuild};
  for (const auto& part : {ScreenChecks, VerifyChecks}) {
    ASSAY_TRY(std::optional<Rejected> refused, state_->RunChecks(part(), subject, records));
    if (refused) return ExamOutcome(std::move(*refused));
  }
  ASSAY_TRY(std::optional<Rejected> refused, state_->RunChecks(ExamChecks(plan), subject, records));
  if (refused) return ExamOutcome(std::move(*refused));
  return ExamOutcome(TrustFromGate::AsExamined(verified.artifact(), std::move(records)));
}

template <typename Work>
auto KernelGate::WithItsOwnThreads(Work&& work) -> decltype(work()) {
  const int asked = std::exchange(state_->options.threads, 0);
  auto result = work();
  state_->options.threads = asked;
  return result;
}

Result<VerifyOutcome> KernelGate::Control(const Contract& contract, const Artifact& artifact) {
  return WithItsOwnThreads([&]() -> Result<VerifyOutcome> {
    ASSAY_TRY(const ScreenOutcome screened, Screen(contract, artifact));
    if (const auto* refused = std::get_if<Rejected>(&screened)) return VerifyOutcome(*refused);
    return Verify(contract, std::get<Screened>(screened));
  });
}

Result<Admission> KernelGate::Admit(const Contract& contract) {
  ASSAY_TRY(Desk* const desk, state_->DeskOf(contract));
  AdmissionPlan plan;
  plan.contract = &contract;
  plan.builder = &state_->builder;
  plan.reference = desk->reference.get();
  plan.seed = state_->options.seed.Derive("admission");
  plan.threads = ThreadsFor(contract, 0);
  plan.gate = this;
  return WithItsOwnThreads([&] { return RunAdmission(plan); });
}

}  // namespace assay
