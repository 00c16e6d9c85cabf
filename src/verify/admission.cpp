// SPDX-License-Identifier: Apache-2.0
#include "verify/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
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
// A mutant that has not shown is looked for in so many draws of situations: two shapes may be too few
// for it, and candidates meet many more.
constexpr size_t kRounds = 5;
// What a contract says it costs may be this much above what its reference counts, and this much below.
constexpr double kCostAbove = 1.25;
constexpr double kCostBelow = 0.25;

bool SameNumbers(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

class AdmissionRun {
 public:
  explicit AdmissionRun(const AdmissionPlan& plan)
      : plan_(plan), contract_(*plan.contract), trials_(contract_, *plan.reference) {}

  Result<Admission> Run();

 private:
  void Take(std::string name, bool must_pass, const std::vector<Judgement>& judged, double most_honest = kMostHonest,
            double least_mutant = kLeastMutant);
  void Complain(std::string text) { admission_.complaints.push_back(std::move(text)); }

  // Draws situations until there are `rounds` rounds of them.
  Status Draw(size_t rounds);
  Status JudgeNulls();

  // A fault and how it fared.  `unharmed`: what the same evaluation without it leaves, by situation.
  struct Suspect {
    Variant variant;
    NumbersFault fault;
    std::vector<std::vector<double>>* unharmed = nullptr;
    std::vector<Judgement> judged;
    bool applies = false;  // it left something else somewhere
    double worst() const;
  };
  Status Try(Suspect& suspect, size_t end);
  Status Pursue(Suspect& suspect, size_t rounds, double least, bool sought);
  Status JudgeHonest();
  Status JudgeMutants();
  Status JudgeClassFaults();
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
  std::vector<size_t> ends_;  // of the rounds of situations
  Trials trials_;
  Admission admission_;
};

double AdmissionRun::Suspect::worst() const {
  double worst = 0;
  for (const Judgement& judgement : judged) worst = std::max(worst, judgement.worst);
  return worst;
}

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

Status AdmissionRun::Draw(size_t rounds) {
  while (ends_.size() < rounds) {
    const Seed seed = ends_.empty() ? plan_.seed : plan_.seed.Derive("round", ends_.size());
    ASSAY_TRY(std::vector<Situation> drawn, DrawSituations(contract_, *plan_.reference, seed));
    std::move(drawn.begin(), drawn.end(), std::back_inserter(situations_));
    ends_.push_back(situations_.size());
  }
  return Ok();
}

// In the situations before `end` in which it was not tried yet.
Status AdmissionRun::Try(Suspect& suspect, size_t end) {
  while (suspect.judged.size() < end) {
    const size_t i = suspect.judged.size();
    ASSAY_TRY(Trials::Tried tried, trials_.OfVariant(situations_[i], suspect.variant, suspect.fault));
    suspect.judged.push_back(std::move(tried.judgement));
    if (suspect.unharmed == nullptr) continue;
    for (size_t known = suspect.unharmed->size(); known <= i; ++known) {
      Variant honest = suspect.variant;
      honest.mutant = Mutant{};
      ASSAY_TRY(Trials::Tried right, trials_.OfVariant(situations_[known], honest, {}));
      suspect.unharmed->push_back(std::move(right.stored));
    }
    suspect.applies = suspect.applies || !SameNumbers(tried.stored, (*suspect.unharmed)[i]);
  }
  return Ok();
}

// From round to round until it reaches `least`.  What nothing shows in the first round is not there,
// unless it is `sought`: a contract without functions has no functions to narrow.
Status AdmissionRun::Pursue(Suspect& suspect, size_t rounds, double least, bool sought) {
  for (size_t round = 1; round <= rounds; ++round) {
    ASSAY_TRY_STATUS(Draw(round));
    ASSAY_TRY_STATUS(Try(suspect, ends_[round - 1]));
    if (suspect.worst() >= least || !(suspect.applies || sought)) break;
  }
  return Ok();
}

Status AdmissionRun::JudgeHonest() {
  for (const Variant& variant : AdmissionHonestVariants()) {
    Suspect kernel{variant, {}, nullptr, {}, false};
    ASSAY_TRY_STATUS(Try(kernel, situations_.size()));
    // Loose functions use up, by construction, the very allowance that the bound makes for them.
    Take(variant.name, true, kernel.judged, variant.elementary == Elementary::kLoose ? 1.0 : kMostHonest);
  }
  return Ok();
}

Status AdmissionRun::JudgeMutants() {
  // By order of summation: as the mutants compute but for their fault.
  std::map<Order, std::vector<std::vector<double>>> unharmed;
  bool sums = false, functions = false;  // whether the reference has any; their mutants come before truncation
  for (const Variant& variant : MutantVariants(contract_)) {
    const bool truncates = variant.mutant.kind == MutantKind::kTruncate;
    // Its drift grows with the number of terms, and the shapes of admission are small: refused must it be.
    const double least = truncates ? kRefused : kLeastMutant;
    Suspect mutant{variant, {}, &unharmed[variant.order], {}, false};
    // Where there is no sum it drifts in no situation, and beside functions it need not show.
    const bool once = truncates && (functions || !sums);
    ASSAY_TRY_STATUS(Pursue(mutant, once ? 1 : kRounds, least, false));
    if (variant.mutant.kind == MutantKind::kNarrowAccumulator) sums = sums || mutant.applies;
    if (variant.mutant.kind == MutantKind::kNarrowElementary) functions = functions || mutant.applies;
    // Truncating one operation costs one u more than rounding it, which a function of 4 u may; what is
    // wrong with truncation is that sums drift.  Sums too short to drift beyond what functions are
    // allowed leave a kernel as right as an honest one with loose functions.
    const bool asked = !truncates || (sums && (!functions || !(mutant.worst() <= kRefused)));
    if (mutant.applies && asked) Take("mutant " + variant.name, false, mutant.judged, kMostHonest, least);
  }
  return Ok();
}

Status AdmissionRun::JudgeClassFaults() {
  std::vector<std::vector<double>> right;
  for (const ClassFault& fault : ClassFaults(contract_)) {
    Suspect mutant{HonestVariants()[0], fault.apply, &right, {}, false};
    ASSAY_TRY_STATUS(Pursue(mutant, kRounds, kLeastMutant, !fault.needs.empty()));
    if (mutant.applies) Take("mutant " + fault.name, false, mutant.judged);
    if (!mutant.applies && !fault.needs.empty()) Complain(fault.needs);
  }
  return Ok();
}

// An artifact at every situation of the first round, like the honest evaluations: further ones were drawn for a
// generated mutant, and the gate itself looks for what a file does not show here.  What it dies of is as far off as
// anything can be.
Result<std::vector<Judgement>> AdmissionRun::JudgementsOf(const Artifact& artifact) {
  std::vector<Judgement> judged;
  Judgement dead;
  dead.worst = dead.worst_estimated = kInfinity;
  for (size_t s = 0; s < ends_.front(); ++s) {
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
    // What an absent tensor saves stands in no expression of axes, nor what other values save: rows
    // that a target hides from the loss cost nothing.
    if (!s.first || !s.shape->absent_tensors.empty()) continue;
    ASSAY_TRY(const double counted,
              plan_.reference->CountOperations(s.call, AllSlices(SliceCount(contract_, *s.shape))));
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
  ASSAY_TRY_STATUS(Draw(1));
  ASSAY_TRY_STATUS(CountExcluded());
  ASSAY_TRY_STATUS(JudgeNulls());
  ASSAY_TRY_STATUS(JudgeHonest());
  ASSAY_TRY_STATUS(JudgeMutants());
  ASSAY_TRY_STATUS(JudgeClassFaults());
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

Result<Admission> RunAdmission(const AdmissionPlan& plan) { return AdmissionRun(plan).Run(); }

}  // namespace assay
