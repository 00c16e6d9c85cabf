// SPDX-License-Identifier: Apache-2.0
#include "verify/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "contract/given.h"
#include "contract/shape.h"

namespace assay {
namespace {

// Work of the slices of one call that are compared in screen and verify, and the most of them.
constexpr double kComparedOperations = 3e6;
constexpr double kComparedElements = 50'000;
constexpr int64_t kFewestSlices = 16;
// Where a slice is a row of a whole vocabulary sixteen of them would be most of the time of a check:
// then fewer, up to so many times the elements, and never under four.
constexpr double kElementsOfFewest = 4;
constexpr int64_t kFewestLongSlices = 4;
constexpr int64_t kMostSlices = 512;
// Slices whose honest ensemble is asked: eight evaluations more.
constexpr size_t kHonestSlices = 32;
// Null units that give a thread which still works the time to betray itself: some milliseconds.
constexpr int kPatience = 512;
// Calls whose draws are remembered, to be compared with those of other seeds.
constexpr size_t kSeenDraws = 6;
// Trials for a smaller failing input, and when to stop looking.
constexpr int kShrinkTrials = 8;
constexpr std::chrono::milliseconds kShrinkTime{400};

std::string KeyOf(const Seed& of_case, size_t slot) { return of_case.Hex() + "/" + std::to_string(slot); }

// An honest kernel's own fault would look the same in a smaller shape; a dead clock would not.
bool WorthShrinking(Reason reason) {
  return reason == Reason::kWrongAnswer || reason == Reason::kCrash || reason == Reason::kWroteOutside ||
         reason == Reason::kReadOutside;
}

// This shape with one axis made smaller, if that is legal.
std::optional<Shape> Smaller(const Contract& contract, const Shape& shape, const std::string& axis, int64_t size) {
  if (size >= shape.axes.at(axis) || size < 1) return std::nullopt;
  std::map<std::string, int64_t> axes = shape.axes;
  axes[axis] = size;
  auto dense = DenseShape(contract, axes);
  if (!dense.ok()) return std::nullopt;
  dense.value().absent_tensors = shape.absent_tensors;
  for (const auto& [output, input] : shape.aliases) {
    if (!MayShare(contract, *contract.FindTensor(output), *contract.FindTensor(input), dense.value())) continue;
    dense.value().aliases[output] = input;
  }
  if (!Legal(contract, dense.value())) return std::nullopt;
  return std::move(dense).value();
}

}  // namespace

const Answers* AnswerBank::Find(const Seed& of_case, size_t slot) const {
  const auto found = answers_.find(KeyOf(of_case, slot));
  return found == answers_.end() ? nullptr : &found->second;
}

const Answers& AnswerBank::Keep(const Seed& of_case, size_t slot, Answers answers) {
  // Full: start again.  What is lost costs one more question to the reference.
  if (elements_ + answers.elements.size() > kMostElements) {
    answers_.clear();
    elements_ = 0;
  }
  elements_ += answers.elements.size();
  return answers_[KeyOf(of_case, slot)] = std::move(answers);
}

int64_t SlicesOf(const Contract& contract, const Shape& shape, double operations, double elements) {
  const int64_t count = SliceCount(contract, shape);
  double answered = 0;
  for (const Tensor& tensor : contract.tensors) {
    if (tensor.role == Role::kIn || shape.absent_tensors.contains(tensor.name)) continue;
    const auto layout = LayoutOf(contract, tensor, shape);
    if (layout.ok()) answered += static_cast<double>(layout.value().element_count);
  }
  const auto work = Operations(contract, shape);
  const auto all = static_cast<double>(count);
  const double by_work = work.ok() ? operations * all / std::max(work.value(), 1.0) : all;
  const double by_elements = elements * all / std::max(answered, 1.0);
  const auto fewest = std::clamp(static_cast<int64_t>(std::min(kElementsOfFewest * by_elements, 1e9)),
                                 kFewestLongSlices, kFewestSlices);
  if (count <= fewest) return count;
  return std::clamp(static_cast<int64_t>(std::min({by_work, by_elements, 1e9})), fewest, std::min(kMostSlices, count));
}

Examination::Examination(Subject subject)
    : subject_(std::move(subject)),
      own_answers_(subject_.contract != nullptr && DependsOnCandidate(*subject_.contract)) {
  ASSAY_CHECK(subject_.contract != nullptr && subject_.artifact != nullptr && subject_.reference != nullptr);
}

uint64_t AnswerBank::Generation(std::string_view check) const {
  const auto found = generation_.find(std::string(check));
  return found == generation_.end() ? 0 : found->second;
}

Stream Examination::Draws(std::string_view check) const {
  const uint64_t generation = subject_.bank != nullptr ? subject_.bank->Generation(check) : 0;
  return Stream(subject_.seed.Derive(check).Derive("shapes", generation));
}

Seed Examination::CaseSeed(std::string_view check, uint64_t ordinal) const {
  const uint64_t generation = subject_.bank != nullptr ? subject_.bank->Generation(check) : 0;
  return subject_.seed.Derive(check, ordinal).Derive("values", generation);
}

Rejected Examination::Refuse(Reason reason, std::string evidence) const {
  Rejected rejected;
  rejected.stage = subject_.stage;
  rejected.reason = reason;
  rejected.evidence = std::move(evidence);
  return rejected;
}

Rejected Examination::Annotated(Rejected rejected, const Case& c, std::string_view regimes) const {
  rejected.stage = subject_.stage;
  const int threads = c.threads > 0 ? c.threads : subject_.threads;
  rejected.evidence =
      fmt::format("{} at {} ({} thread{}{}{}): {}", contract().name, Describe(contract(), c.shape), threads,
                  threads == 1 ? "" : "s", regimes.empty() ? "" : "; ", regimes, rejected.evidence);
  return rejected;
}

Result<ProbeOutcome> Examination::StartProbe(const Case& c) {
  ProbeSpec spec;
  spec.contract = subject_.contract;
  spec.artifact = subject_.artifact;
  spec.shape = c.shape;
  spec.stage = subject_.stage;
  spec.threads = c.threads > 0 ? c.threads : subject_.threads;
  spec.calls = c.calls.size();
  spec.placement = c.placement;
  spec.limit = subject_.limit(c.shape, c.calls.size());
  return Probe::Start(spec, Stream(c.seed.Derive("poison")));
}

Result<const Answers*> Examination::AnswersFor(const TimedCall& call, const Case& c, size_t slot) {
  AnswerBank* const bank = answer_bank();
  if (bank != nullptr) {
    if (const Answers* known = bank->Find(c.seed, slot)) return known;
  }
  Stream stream(c.seed.Derive("audit", slot));
  const int64_t most =
      c.most_slices > 0 ? c.most_slices : SlicesOf(contract(), c.shape, kComparedOperations, kComparedElements);
  const std::vector<int64_t> slices =
      SomeFirst(DrawSlices(SliceCount(contract(), c.shape), most, stream), kHonestSlices, stream);
  ASSAY_TRY(Answers answers, subject_.reference->Ask(call, slices, c.honest ? kHonestSlices : 0));
  answers.texture = TextureOf(c.calls[slot], call.structured);
  if (bank != nullptr) return &bank->Keep(c.seed, slot, std::move(answers));
  scratch_ = std::move(answers);
  return &scratch_;
}

// Wrong at the end of the unit: because it is wrong, or because it was not finished?
Result<Rejected> Examination::Explain(Probe& probe, const Case& c, size_t slot, Reason reason, std::string evidence) {
  const std::string regimes = probe.drawn(slot).regimes;
  ASSAY_TRY(const bool late, probe.ChangesLater(slot, kPatience));
  if (late) {
    reason = Reason::kLateWork;
    evidence += "; the output changed after the unit had ended";
  }
  return Annotated(Refuse(reason, std::move(evidence)), c, regimes);
}

Result<std::optional<Rejected>> Examination::CheckWritten(Probe& probe, const Case& c, size_t slot) {
  const auto unwritten = probe.FindUnwritten(slot);
  if (!unwritten) return std::optional<Rejected>();
  const std::string evidence = fmt::format("{}, element at offset {}, was never written",
                                           contract().tensors[unwritten->tensor].name, unwritten->offset);
  ASSAY_TRY(Rejected rejected, Explain(probe, c, slot, Reason::kWrongAnswer, evidence));
  return std::optional(std::move(rejected));
}

Result<std::optional<Rejected>> Examination::CheckSlot(Probe& probe, const Case& c, size_t slot) {
  ASSAY_TRY(std::optional<Rejected> unwritten, CheckWritten(probe, c, slot));
  if (unwritten) return unwritten;
  ASSAY_TRY(const Answers* const answers, AnswersFor(probe.Call(slot), c, slot));
  return Compare(probe, c, slot, *answers);
}

Result<std::optional<Rejected>> Examination::CompareSlices(Probe& probe, const Case& c, size_t slot,
                                                           std::span<const int64_t> slices, size_t honest_slices,
                                                           std::vector<uint64_t>* prints) {
  const TimedCall call = probe.Call(slot);
  ASSAY_TRY(Answers answers, subject_.reference->Ask(call, slices, honest_slices));
  answers.texture = TextureOf(c.calls[slot], call.structured);
  ASSAY_TRY(std::optional<Rejected> refused, Compare(probe, c, slot, answers));
  if (prints != nullptr && !refused) {
    const std::vector<uint64_t> more = PrintsOf(contract(), answers);
    prints->insert(prints->end(), more.begin(), more.end());
  }
  return refused;
}

Result<std::optional<Rejected>> Examination::Compare(Probe& probe, const Case& c, size_t slot, const Answers& answers) {
  const Judgement judgement = Judge(contract(), answers, probe.Call(slot).tensors);
  elements_ += judgement.elements;
  excluded_ += judgement.excluded;
  if (!judgement.finding) {
    std::optional<Rejected> repeated = RepeatedDraws(probe.Call(slot), judgement);
    if (repeated) return std::optional(Annotated(std::move(*repeated), c, probe.drawn(slot).regimes));
    return std::optional<Rejected>();
  }
  ASSAY_TRY(Rejected rejected,
            Explain(probe, c, slot, Reason::kWrongAnswer, Describe(contract(), c.shape, *judgement.finding)));
  return std::optional(std::move(rejected));
}

std::optional<Rejected> Examination::RepeatedDraws(const TimedCall& call, const Judgement& judgement) {
  std::vector<double> seeds;
  for (size_t i = 0; i < call.scalars.size(); ++i) {
    if (!Info(contract().scalars[i].dtype).is_float) seeds.push_back(call.scalars[i]);
  }
  const auto refuse = [&](size_t tensor, const PrecisionVerdict& verdict) {
    const Finding finding{tensor, -1, 0, 0, 0, verdict.measured, verdict.limit, verdict.rule};
    return Refuse(Reason::kWrongAnswer, Describe(contract(), *call.shape, finding));
  };
  for (const auto& [tensor, draws] : judgement.draws) {
    const PrecisionVerdict together = subject_.draws->Add(tensor, seeds, Describe(contract(), *call.shape), draws);
    if (!together.ok) return refuse(tensor, together);
    for (const SeenDraws& seen : seen_draws_) {
      if (seen.tensor != tensor || seen.seeds == seeds) continue;
      const PrecisionVerdict apart = JudgeApart(seen.draws, draws);
      if (apart.ok) continue;
      return refuse(tensor, apart);
    }
    if (seen_draws_.size() == kSeenDraws) seen_draws_.erase(seen_draws_.begin());
    seen_draws_.push_back({tensor, seeds, draws});
  }
  return std::nullopt;
}

Result<std::optional<Rejected>> Examination::RunOnce(const Case& c) {
  ASSAY_TRY(ProbeOutcome started, StartProbe(c));
  if (auto* rejected = std::get_if<Rejected>(&started)) return std::optional(Annotated(std::move(*rejected), c, ""));
  Probe& probe = std::get<Probe>(started);
  std::vector<size_t> slots;
  for (size_t slot = 0; slot < c.calls.size(); ++slot) {
    ASSAY_TRY(const DrawnCall drawn, probe.Load(slot, c.calls[slot], SlotSeed(c, slot)));
    slots.push_back(slot);
  }
  ++cases_;
  ASSAY_TRY(std::optional<Rejected> refused, probe.Run(slots));
  if (refused) return std::optional(Annotated(std::move(*refused), c, probe.drawn(0).regimes));
  for (const size_t slot : slots) {
    ASSAY_TRY(refused, CheckSlot(probe, c, slot));
    if (refused && slot > 0) return BlamedOnHistory(c, slot, std::move(*refused));
    if (refused) return refused;
  }
  return CheckMachine(probe, c);
}

Result<std::optional<Rejected>> Examination::CheckMachine(Probe& probe, const Case& c) {
  bool unseen = false;
  ASSAY_TRY(std::optional<Rejected> refused, probe.CheckMachine(unseen));
  if (unseen) NotChecked("executable mappings, signal handlers and threads: /proc does not show a jailed process here");
  if (!refused) return refused;
  return std::optional(Annotated(std::move(*refused), c, ""));
}

Result<std::optional<Rejected>> Examination::RunAlone(const Case& c, size_t slot) {
  ASSAY_TRY(ProbeOutcome started, StartProbe(c));
  if (auto* rejected = std::get_if<Rejected>(&started)) return std::optional(std::move(*rejected));
  Probe& probe = std::get<Probe>(started);
  ASSAY_TRY(const DrawnCall drawn, probe.Load(slot, c.calls[slot], SlotSeed(c, slot)));
  ASSAY_TRY(std::optional<Rejected> refused, probe.Run(slot));
  if (refused) return refused;
  return CheckSlot(probe, c, slot);
}

Result<std::optional<Rejected>> Examination::BlamedOnHistory(const Case& c, size_t slot, Rejected found) {
  if (found.reason != Reason::kWrongAnswer) return std::optional(std::move(found));
  ASSAY_TRY(const std::optional<Rejected> alone, RunAlone(c, slot));
  if (alone) return std::optional(std::move(found));
  found.reason = Reason::kDependsOnHistory;
  found.evidence += "; the same call is right in a fresh process";
  return std::optional(std::move(found));
}

// Halves one axis after the other as long as the same thing goes wrong.
Result<Rejected> Examination::Shrunk(const Case& c, Rejected rejected) {
  const auto start = std::chrono::steady_clock::now();
  Case smallest = c;
  AnswerBank* const bank = std::exchange(subject_.bank, nullptr);
  int trials = 0;
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (const Axis& axis : contract().axes) {
      for (const int64_t size : {int64_t{1}, smallest.shape.axes.at(axis.name) / 2}) {
        const auto shape = Smaller(contract(), smallest.shape, axis.name, size);
        if (!shape || trials == kShrinkTrials || std::chrono::steady_clock::now() - start > kShrinkTime) continue;
        ++trials;
        Case trial = smallest;
        trial.shape = *shape;
        trial.honest = false;
        auto again = RunOnce(trial);
        if (!again.ok() || !again.value() || again.value()->reason != rejected.reason) continue;
        rejected = std::move(*again.value());
        smallest = trial;
        shrunk = true;
        break;
      }
    }
  }
  subject_.bank = bank;
  return rejected;
}

Result<std::optional<Rejected>> Examination::Run(const Case& c) {
  ASSAY_TRY(std::optional<Rejected> refused, RunOnce(c));
  if (!refused || !WorthShrinking(refused->reason)) return refused;
  ASSAY_TRY(Rejected shrunk, Shrunk(c, std::move(*refused)));
  return std::optional(std::move(shrunk));
}

}  // namespace assay
