// SPDX-License-Identifier: Apache-2.0
#include "verify/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "contract/values.h"
#include "verify/answers.h"
#include "verify/examination.h"
#include "verify/reference.h"

namespace assay {
namespace {

// Four slices of every call; more where slices are a few numbers, up to a fraction of a millisecond.
constexpr int64_t kFewestSlices = 4;
constexpr int64_t kFewestFound = 8;  // as many as the rule for most slices wants, where it is asked
constexpr int64_t kMostSlices = 32;
constexpr double kAuditedOperations = 2e5;
// What an answer costs to pass on and to judge, in operations of the reference: of a kernel that does little with each
// of its numbers the audits took ten times as long as its calls.
constexpr double kOperationsPerAnswer = 32;

double AnswersOf(const Contract& contract, const Shape& shape) {
  double answers = 0;
  for (const Tensor& tensor : contract.tensors) {
    if (tensor.role == Role::kIn || shape.absent_tensors.contains(tensor.name)) continue;
    const auto layout = LayoutOf(contract, tensor, shape);
    if (layout.ok()) answers += static_cast<double>(layout.value().element_count);
  }
  return answers;
}

// Calls of one unit that are compared with the reference; fewer where the slices of one are that many times
// kAuditedOperations.
constexpr size_t kAuditedCalls = 3;
constexpr double kCostly = 4;

struct AuditPlan {
  int64_t slices = 0;
  size_t calls = kAuditedCalls;
};

// An index is judged by the keys of all that it chose from, and each of these costs what an answer costs.
bool Ranks(const Contract& contract) {
  return std::ranges::any_of(contract.tensors, [](const Tensor& tensor) {
    return tensor.role != Role::kIn && tensor.compare && tensor.compare->kind == CompareClass::kIndex;
  });
}

AuditPlan PlanOf(const Contract& contract, const Shape& shape, int64_t fewest) {
  const int64_t count = SliceCount(contract, shape);
  const auto operations = Operations(contract, shape);
  if (!operations.ok() || count == 0) return {.slices = std::min(count, fewest)};
  const double of_operations = operations.value() * (Ranks(contract) ? kOperationsPerAnswer : 1);
  const double work = std::max(of_operations, kOperationsPerAnswer * AnswersOf(contract, shape));
  const double of_one = std::max(work / static_cast<double>(count), 1.0);
  AuditPlan plan;
  plan.slices = std::min(count, std::clamp(static_cast<int64_t>(kAuditedOperations / of_one), fewest, kMostSlices));
  const double of_call = of_one * static_cast<double>(plan.slices);
  const double affordable = static_cast<double>(kAuditedCalls) * kCostly * kAuditedOperations / of_call;
  plan.calls = static_cast<size_t>(std::clamp(affordable, 1.0, static_cast<double>(kAuditedCalls)));
  return plan;
}

// Words of each output of the other calls that are looked at.
constexpr int kLooks = 4;
// Poison has a NaN's exponent in each of its four parts; arithmetic makes no such word.
constexpr uint64_t kPoisonMask = 0x7FF07FF07FF07FF0ULL;

// Slices of a timed call come from anywhere; the first and the last have no privilege here.
std::vector<int64_t> SecretSlices(int64_t count, int64_t most, Stream& stream) {
  std::vector<int64_t> slices;
  while (static_cast<int64_t>(slices.size()) < std::min(most, count)) {
    const auto drawn = static_cast<int64_t>(stream.Below(static_cast<uint64_t>(count)));
    if (std::find(slices.begin(), slices.end(), drawn) == slices.end()) slices.push_back(drawn);
  }
  std::sort(slices.begin(), slices.end());
  return slices;
}

// A tensor that is changed in place, where it still holds what it held before the call.
bool StillAsBefore(const TimedCall& call, const Finding& finding) {
  const DType dtype = call.contract->tensors[finding.tensor].dtype;
  const auto load = [&](std::span<const std::byte> bytes) { return LoadElement(dtype, bytes, finding.offset); };
  return load(call.before[finding.tensor]) == load(call.tensors[finding.tensor]);
}

// Poison repeats one word whose every part is a NaN.  A wrong answer that happens to be NaN is a
// wrong answer.
bool LooksUnwritten(const Contract& contract, const TimedCall& call, const Finding& finding) {
  const Tensor& tensor = contract.tensors[finding.tensor];
  if (finding.offset < 0) return false;
  if (tensor.role == Role::kInOut) return StillAsBefore(call, finding);
  if (!std::isnan(finding.got) || !Info(tensor.dtype).has_nan) return false;
  const size_t width = ByteSize(tensor.dtype, 1);
  const auto bytes = call.tensors[finding.tensor];
  const size_t word = static_cast<size_t>(finding.offset) * width / 8 * 8;
  if (word + 8 > bytes.size()) return true;
  uint64_t bits;
  std::memcpy(&bits, bytes.data() + word, 8);
  return (bits & kPoisonMask) == kPoisonMask;
}

// Some secret words of a tensor that is changed in place: all of them as they were is worth a comparison.
bool ShowsNoChange(std::span<const std::byte> before, std::span<const std::byte> after, Stream& stream) {
  for (int look = 0; look < kLooks; ++look) {
    const size_t at = 8 * stream.Below(after.size() / 8);
    if (std::memcmp(after.data() + at, before.data() + at, 8) != 0) return false;
  }
  return true;
}

// Some secret words of each output, without the reference.
bool LooksSkipped(const TimedCall& call, Stream& stream) {
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    const Tensor& tensor = call.contract->tensors[t];
    const auto bytes = call.tensors[t];
    if (tensor.role == Role::kIn || bytes.size() < 8) continue;
    if (tensor.role == Role::kInOut && ShowsNoChange(call.before[t], bytes, stream)) return true;
    if (tensor.role == Role::kInOut || !Info(tensor.dtype).has_nan) continue;
    for (int look = 0; look < kLooks; ++look) {
      uint64_t bits;
      std::memcpy(&bits, bytes.data() + 8 * stream.Below(bytes.size() / 8), 8);
      if ((bits & kPoisonMask) == kPoisonMask) return true;
    }
  }
  return false;
}

}  // namespace

struct SliceAuditor::State {
  State(Seed seed, std::filesystem::path folder) : stream(seed), cache(std::move(folder)) {}
  Result<Reference*> ReferenceOf(const Contract& contract);

  Stream stream;
  std::filesystem::path cache;
  std::map<Digest, std::unique_ptr<Reference>> references;
  int64_t audited = 0;
};

Result<Reference*> SliceAuditor::State::ReferenceOf(const Contract& contract) {
  auto& reference = references[contract.hash];
  if (reference == nullptr) {
    ASSAY_TRY(reference, Reference::Start(contract, cache));
  }
  return reference.get();
}

SliceAuditor::SliceAuditor(Seed seed, std::filesystem::path cache)
    : state_(std::make_unique<State>(seed.Derive("audit"), std::move(cache))) {}
SliceAuditor::~SliceAuditor() = default;

Result<std::optional<Rejected>> SliceAuditor::Audit(std::span<const TimedCall> calls) {
  // Which calls of a unit are compared is drawn now, after its end: a short kernel has 64 calls in a
  // unit, and comparing each would cost a hundred times what it measures.
  std::set<size_t> drawn;
  if (calls.empty()) return std::optional<Rejected>();
  // The calls of a unit are of one contract and shape, and read what one kind of source wrote.
  const TimedCall& any = calls.front();
  const AuditPlan plan = PlanOf(*any.contract, *any.shape, any.found ? kFewestFound : kFewestSlices);
  while (drawn.size() < std::min(calls.size(), plan.calls)) drawn.insert(state_->stream.Below(calls.size()));
  for (size_t c = 0; c < calls.size(); ++c) {
    const TimedCall& call = calls[c];
    // Whoever leaves out whole calls leaves poison behind: a look at all of them is cheap.
    if (!drawn.contains(c) && !LooksSkipped(call, state_->stream)) continue;
    const Contract& contract = *call.contract;
    const std::vector<int64_t> slices = SecretSlices(SliceCount(contract, *call.shape), plan.slices, state_->stream);
    if (slices.empty()) continue;
    ASSAY_TRY(Reference* const reference, state_->ReferenceOf(contract));
    // Elements have bounds for their worst case.  What is as precise as an honest kernel is known of values that the
    // gate has drawn; of those that another kernel wrote it is asked here.
    ASSAY_TRY(Answers answers, reference->Ask(call, slices, call.found ? slices.size() : 0));
    if (call.structured) answers.texture = Texture::kMixed;
    state_->audited += static_cast<int64_t>(slices.size());
    const Judgement judgement = Judge(contract, answers, call.tensors);
    if (!judgement.finding) continue;
    Rejected rejected;
    rejected.stage = Stage::kMeasure;
    rejected.check = "audit of timed calls";
    const bool late = LooksUnwritten(contract, call, *judgement.finding);
    rejected.reason = late ? Reason::kLateWork : Reason::kAuditMismatch;
    rejected.evidence = fmt::format("{} at {}, a timed call: {}{}", contract.name, Describe(contract, *call.shape),
                                    Describe(contract, *call.shape, *judgement.finding),
                                    late ? "; not written when the unit ended" : "");
    rejected.checks.push_back({rejected.check, state_->audited, 0});
    return std::optional(std::move(rejected));
  }
  return std::optional<Rejected>();
}

int64_t SliceAuditor::slices_audited() const { return state_->audited; }

double SkippedShareCaught(int64_t slices_audited) {
  if (slices_audited <= 0) return 1.0;
  return 1.0 - std::pow(0.01, 1.0 / static_cast<double>(slices_audited));
}

}  // namespace assay
