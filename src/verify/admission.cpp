// SPDX-License-Identifier: Apache-2.0
#include "verify/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "language/cpp/directives.h"
#include "verify/gate.h"
#include "verify/mutants.h"
#include "verify/probe.h"
#include "verify/situation.h"
#include "verify/trial.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The limit itself: what the gate refuses.
constexpr double kRefused = 1.0;
// What a contract says it costs may be this much above what its reference counts, and this much below.
constexpr double kCostAbove = 1.25;
constexpr double kCostBelow = 0.25;

bool SameNumbers(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

class AdmissionRun {
 public:
  AdmissionRun(const AdmissionPlan& plan, std::vector<Situation> situations)
      : plan_(plan),
        contract_(*plan.contract),
        situations_(std::move(situations)),
        trials_(contract_, *plan.reference) {}

  Result<Admission> Run();

 private:
  void Take(std::string name, bool must_pass, const std::vector<Judgement>& judged, double most_honest = kMostHonest,
            double least_mutant = kLeastMutant);
  void Complain(std::string text) { admission_.complaints.push_back(std::move(text)); }

  Status JudgeNulls();
  Status TryVariant(const Variant& variant, const NumbersFault& fault, std::vector<std::vector<double>>* unharmed,
                    std::vector<Judgement>& judged, bool& applies);
  Status JudgeVariants();
  Status JudgeFiles(const std::vector<std::filesystem::path>& files, bool must_pass);
  Result<std::vector<Judgement>> JudgementsOf(const Artifact& artifact);
  Result<bool> GateRefuses(const Artifact& artifact);
  Status EveryInputMoves();
  Result<bool> Moves(size_t input, size_t output);
  Status ReferencesPass();
  Status CostAgrees();
  Status CountExcluded();

  AdmissionPlan plan_;
  const Contract& contract_;
  std::vector<Situation> situations_;
  Trials trials_;
  Admission admission_;
};

// `judged`: one for each situation.
void AdmissionRun::Take(std::string name, bool must_pass, const std::vector<Judgement>& judged, double most_honest,
                        double least_mutant) {
  AdmissionCase c;
  c.name = std::move(name);
  c.must_pass = must_pass;
  double estimated = 0;
  for (size_t s = 0; s < judged.size(); ++s) {
    estimated = std::max(estimated, judged[s].worst_estimated);
    if (s > 0 && !(judged[s].worst > c.worst_over_limit)) continue;
    c.worst_over_limit = judged[s].worst;
    c.worst_regime = situations_[s].regime;
  }
  c.as_expected =
      must_pass ? estimated <= most_honest && c.worst_over_limit <= 1.0 : c.worst_over_limit >= least_mutant;
  if (!c.as_expected) {
    Complain(
        must_pass
            ? fmt::format("{} reaches {:.2f} of the limit ({}), {:.2f} where the bound is an estimate (at most {}): "
                          "write the reference with the n-ary primitives, so that its bound covers every honest order",
                          c.name, c.worst_over_limit, c.worst_regime, estimated, most_honest)
            : fmt::format("{} reaches only {:.2g} times the limit, less than {}: add a regime of values in which it "
                          "shows, or a larger axis",
                          c.name, c.worst_over_limit, least_mutant));
  }
  admission_.cases.push_back(std::move(c));
}

Status AdmissionRun::JudgeNulls() {
  for (const Null& null : Nulls(contract_)) {
    std::vector<Judgement> judged;
    for (const Situation& s : situations_) {
      ASSAY_TRY(Judgement judgement, trials_.OfNumbers(s, null.numbers(s.call, s.answers, s.others)));
      judged.push_back(std::move(judgement));
    }
    Take(null.name, false, judged);
  }
  return Ok();
}

// Everything that is evaluated, in every situation; `applies`: it left something else than `unharmed`.
Status AdmissionRun::TryVariant(const Variant& variant, const NumbersFault& fault,
                                std::vector<std::vector<double>>* unharmed, std::vector<Judgement>& judged,
                                bool& applies) {
  applies = false;
  for (size_t i = 0; i < situations_.size(); ++i) {
    const Situation& s = situations_[i];
    ASSAY_TRY(Trials::Tried tried, trials_.OfVariant(s, variant, fault));
    judged.push_back(std::move(tried.judgement));
    if (unharmed == nullptr) continue;
    if (i == unharmed->size()) {
      Variant honest = variant;
      honest.mutant = Mutant{};
      ASSAY_TRY(Trials::Tried right, trials_.OfVariant(s, honest, {}));
      unharmed->push_back(std::move(right.stored));
    }
    applies = applies || !SameNumbers(tried.stored, (*unharmed)[i]);
  }
  return Ok();
}

Status AdmissionRun::JudgeVariants() {
  bool applies = false;
  for (const Variant& variant : AdmissionHonestVariants()) {
    std::vector<Judgement> judged;
    ASSAY_TRY_STATUS(TryVariant(variant, {}, nullptr, judged, applies));
    // Loose functions use up, by construction, the very allowance that the bound makes for them.
    Take(variant.name, true, judged, variant.elementary == Elementary::kLoose ? 1.0 : kMostHonest);
  }
  // By order of summation and situation: as the mutants compute but for their fault.
  std::map<Order, std::vector<std::vector<double>>> unharmed;
  bool sums = false, functions = false;  // whether the reference has any; their mutants come before truncation
  for (const Variant& variant : MutantVariants(contract_)) {
    std::vector<std::vector<double>>& honest_numbers = unharmed[variant.order];
    std::vector<Judgement> judged;
    ASSAY_TRY_STATUS(TryVariant(variant, {}, &honest_numbers, judged, applies));
    if (variant.mutant.kind == MutantKind::kNarrowAccumulator) sums = sums || applies;
    if (variant.mutant.kind == MutantKind::kNarrowElementary) functions = functions || applies;
    // Truncating one operation costs one u more than rounding it, which a function of 4 u may; what is
    // wrong with truncation is that sums drift.  Sums too short to drift beyond what functions are
    // allowed leave a kernel as right as an honest one with loose functions.
    if (variant.mutant.kind == MutantKind::kTruncate) {
      const bool drifts =
          std::any_of(judged.begin(), judged.end(), [](const Judgement& one) { return !(one.worst <= kRefused); });
      applies = applies && sums && (drifts || !functions);
    }
    // A contract without functions has no functions to narrow: nothing to refuse, nothing to show.
    // Its drift grows with the number of terms, and the shapes of admission are small: refused must it be.
    const double least = variant.mutant.kind == MutantKind::kTruncate ? kRefused : kLeastMutant;
    if (applies) Take("mutant " + variant.name, false, judged, kMostHonest, least);
  }
  std::vector<std::vector<double>> right;
  for (const ClassFault& fault : ClassFaults(contract_)) {
    std::vector<Judgement> judged;
    ASSAY_TRY_STATUS(TryVariant(HonestVariants()[0], fault.apply, &right, judged, applies));
    if (applies) Take("mutant " + fault.name, false, judged);
    if (!applies && !fault.needs.empty()) Complain(fault.needs);
  }
  return Ok();
}

// An artifact at every situation; what it dies of is as far off as anything can be.
Result<std::vector<Judgement>> AdmissionRun::JudgementsOf(const Artifact& artifact) {
  std::vector<Judgement> judged;
  Judgement dead;
  dead.worst = dead.worst_estimated = kInfinity;
  for (size_t s = 0; s < situations_.size(); ++s) {
    const Situation& situation = situations_[s];
    ProbeSpec spec;
    spec.contract = &contract_;
    spec.artifact = &artifact;
    spec.shape = *situation.shape;
    spec.threads = plan_.threads;
    spec.limit = std::chrono::seconds(5);
    ASSAY_TRY(ProbeOutcome started, Probe::Start(spec, Stream(plan_.seed.Derive("probe", s))));
    auto* probe = std::get_if<Probe>(&started);
    judged.push_back(dead);
    if (probe == nullptr) continue;
    probe->LoadBytes(0, situation.call);
    ASSAY_TRY(const std::optional<Rejected> refused, probe->Run(0));
    if (refused) continue;
    if (probe->FindUnwritten(0)) continue;
    ASSAY_TRY(judged.back(), trials_.OfOutputs(situation, probe->Call(0).tensors));
  }
  return judged;
}

// Whether the gate as candidates meet it refuses an artifact: a fault that shows at few shapes (the
// edge of a block, a lost tail) need not show in the situations above.
Result<bool> AdmissionRun::GateRefuses(const Artifact& artifact) {
  ASSAY_TRY(const ScreenOutcome screened, plan_.gate->Screen(contract_, artifact));
  if (std::holds_alternative<Rejected>(screened)) return true;
  ASSAY_TRY(const VerifyOutcome verified, plan_.gate->Verify(contract_, std::get<Screened>(screened)));
  return std::holds_alternative<Rejected>(verified);
}

Status AdmissionRun::JudgeFiles(const std::vector<std::filesystem::path>& files, bool must_pass) {
  for (const auto& file : files) {
    const std::string name = (must_pass ? "honest " : "mutant ") + file.filename().string();
    ASSAY_TRY(const Template source, ReadTemplate(file, contract_));
    ASSAY_TRY(const Candidate candidate, MakeCandidate(source, {}, {}));
    ASSAY_TRY(const BuildOutcome built, plan_.builder->Build(contract_, candidate, BuildVariant::kPrimary));
    const auto* artifact = std::get_if<Artifact>(&built);
    if (artifact == nullptr) {
      // A mutant that does not build proves nothing about the gate.
      Complain(fmt::format("{} does not build: {}", name, std::get<Rejected>(built).evidence));
      continue;
    }
    ASSAY_TRY(std::vector<Judgement> judged, JudgementsOf(*artifact));
    const auto seen = [](const Judgement& j) { return j.worst >= kLeastMutant; };
    if (!must_pass && std::none_of(judged.begin(), judged.end(), seen)) {
      ASSAY_TRY(const bool refused, GateRefuses(*artifact));
      if (refused) {
        admission_.cases.push_back({name, false, kInfinity, "the gate's own shapes", true});
        continue;
      }
    }
    Take(name, must_pass, judged);
  }
  return Ok();
}

Result<bool> AdmissionRun::Moves(size_t input, size_t output) {
  for (const Situation& s : situations_) {
    if (s.bytes[input].empty()) continue;
    ASSAY_TRY(const std::vector<std::byte> fresh, s.Redrawn(contract_, input, plan_.seed.Derive("redrawn", input)));
    TimedCall call = s.call;
    call.tensors[input] = fresh;
    ASSAY_TRY(const bool moves, trials_.AnswersMove(s, call, output));
    if (moves) return true;
  }
  return false;
}

// A tensor that no output depends on could be read, or not, by anybody.  An output may well not depend
// on every input, as a log-sum-exp on the values, so one of them is enough.
Status AdmissionRun::EveryInputMoves() {
  for (size_t input = 0; input < contract_.tensors.size(); ++input) {
    if (contract_.tensors[input].role == Role::kOut) continue;
    bool moves = false;
    for (size_t output = 0; output < contract_.tensors.size() && !moves; ++output) {
      if (contract_.tensors[output].role == Role::kIn) continue;
      ASSAY_TRY(moves, Moves(input, output));
    }
    if (moves) continue;
    Complain(fmt::format("redrawing {} moves no output beyond its bound: the contract cannot tell whether it was read",
                         contract_.tensors[input].name));
  }
  return Ok();
}

Status AdmissionRun::ReferencesPass() {
  bool relaxed = false;
  for (const ReferenceKernel& kernel : contract_.references) {
    relaxed = relaxed || (kernel.kind == ReferenceKind::kBaseline && kernel.name == "relaxed");
    ASSAY_TRY(const BuildOutcome built, plan_.builder->BuildReference(contract_, kernel));
    const auto* artifact = std::get_if<Artifact>(&built);
    if (artifact == nullptr) {
      Complain(fmt::format("{} does not build: {}", kernel.name, std::get<Rejected>(built).evidence));
      continue;
    }
    ASSAY_TRY(const ScreenOutcome screened, plan_.gate->Screen(contract_, *artifact));
    const auto* refused = std::get_if<Rejected>(&screened);
    VerifyOutcome verified = Rejected{};
    if (refused == nullptr) {
      ASSAY_TRY(verified, plan_.gate->Verify(contract_, std::get<Screened>(screened)));
      refused = std::get_if<Rejected>(&verified);
    }
    if (refused != nullptr)
      Complain(fmt::format("{} is refused ({}): {}", kernel.name, Name(refused->reason), refused->evidence));
  }
  // fp = strict forbids what makes a baseline relaxed.
  if (!relaxed && contract_.policy.fp != FpPolicy::kStrict) {
    Complain(
        "there is no baseline \"relaxed\": a speed-up over strict code alone would be one of compiler flags; add "
        "[baseline] relaxed with -ffast-math");
  }
  return Ok();
}

Status AdmissionRun::CostAgrees() {
  if (!contract_.cost || contract_.cost->unit[0] != 'f') return Ok();
  for (const Situation& s : situations_) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < SliceCount(contract_, *s.shape); ++i) all.push_back(i);
    ASSAY_TRY(const double counted, plan_.reference->CountOperations(s.call, all));
    ASSAY_TRY(const double typed, Operations(contract_, *s.shape));
    const bool agrees = typed <= kCostAbove * counted && typed >= kCostBelow * counted;
    if (agrees) continue;
    Complain(fmt::format(
        "[cost] says {:.4g} operations at {}, the reference counts {:.4g}: a floor made of it would be wrong", typed,
        Describe(contract_, *s.shape), counted));
    return Ok();
  }
  return Ok();
}

Status AdmissionRun::CountExcluded() {
  double all_excluded = 0, all = 0;
  for (const Situation& s : situations_) {
    std::vector<double> values;
    for (const AnswerElement& element : s.answers.elements) values.push_back(element.expected.value);
    ASSAY_TRY(const Judgement own, trials_.OfNumbers(s, values));
    const int64_t excluded = own.excluded;
    const auto count = own.elements;
    all_excluded += static_cast<double>(excluded);
    all += static_cast<double>(count);
    if (static_cast<double>(excluded) <= kExcludedCapOfRegime * static_cast<double>(count)) continue;
    Complain(
        fmt::format("the reference says nothing about {} of {} elements ({}): keep overflow and ambiguous branches out "
                    "of this regime",
                    excluded, count, s.regime));
  }
  if (all_excluded <= kExcludedCap * all) return Ok();
  Complain(
      fmt::format("the reference says nothing about {:.0f} of {:.0f} elements in all: fewer extreme regimes, or the "
                  "n-ary primitives",
                  all_excluded, all));
  return Ok();
}

Result<Admission> AdmissionRun::Run() {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_TRY_STATUS(CountExcluded());
  ASSAY_TRY_STATUS(JudgeNulls());
  ASSAY_TRY_STATUS(JudgeVariants());
  ASSAY_TRY_STATUS(JudgeFiles(contract_.mutants, false));
  ASSAY_TRY_STATUS(JudgeFiles(contract_.honest, true));
  ASSAY_TRY_STATUS(EveryInputMoves());
  ASSAY_TRY_STATUS(ReferencesPass());
  ASSAY_TRY_STATUS(CostAgrees());
  admission_.smallest_mutant = kInfinity;
  for (const AdmissionCase& c : admission_.cases) {
    if (c.must_pass) admission_.largest_honest = std::max(admission_.largest_honest, c.worst_over_limit);
    if (!c.must_pass) admission_.smallest_mutant = std::min(admission_.smallest_mutant, c.worst_over_limit);
  }
  admission_.admitted = admission_.complaints.empty();
  admission_.gate_version = kGateVersion;
  admission_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(admission_);
}

}  // namespace

Result<Admission> RunAdmission(const AdmissionPlan& plan) {
  ASSAY_TRY(std::vector<Situation> situations, DrawSituations(*plan.contract, *plan.reference, plan.seed));
  return AdmissionRun(plan, std::move(situations)).Run();
}

}  // namespace assay
