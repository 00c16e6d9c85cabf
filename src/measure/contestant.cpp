// SPDX-License-Identifier: Apache-2.0
#include "measure/contestant.h"

#include <algorithm>

#include <fmt/format.h>

#include "measure/caches.h"

namespace assay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Trusted code that takes this long hangs.
constexpr std::chrono::seconds kNeighbourLimit{60};

int64_t Nanoseconds(SteadyClock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Real time on the real clock; a sleep would add a wake-up that nobody planted.
int64_t SpinFor(double seconds) {
  if (!(seconds > 0)) return 0;
  const auto start = SteadyClock::now();
  const auto end = start + std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  while (SteadyClock::now() < end) {
  }
  return Nanoseconds(SteadyClock::now() - start);
}

Error NeighbourFailed(const ChainPart& part, const Rejected& why) {
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("{} ({}), which runs beside the kernels of an in-situ workload, failed: {}: {}; run `assay "
                  "contract check {}`",
                  part.contract->name, part.artifact->name, Name(why.reason), why.evidence, part.contract->name)};
}

// The outputs of a part that later ones read.
std::vector<LentOutput> LentBy(const Chain& chain, size_t part) {
  std::vector<LentOutput> lent;
  for (const ChainPart& reader : chain) {
    for (const PartLink& link : reader.links) {
      if (link.part == part)
        lent.push_back({link.output, static_cast<size_t>(reader.contract->tensors[link.tensor].align)});
    }
  }
  return lent;
}

}  // namespace

GroupDraw DrawGroup(const Contract& contract, int threads, std::span<const int> processors, Stream& stream) {
  GroupDraw draw;
  draw.placement = stream.Next();
  draw.environment_padding = stream.Below(4096);
  draw.stack_offset = 16 * stream.Below(256);
  for (size_t i = 0; i < contract.tensors.size(); ++i) draw.line_offsets.push_back(stream.Below(64));
  // Which cores is part of the draw: they need not be equal, nor need their neighbours.
  const size_t first = stream.Below(processors.size());
  const size_t count = std::min(static_cast<size_t>(std::max(threads, 1)), processors.size());
  for (size_t i = 0; i < count; ++i) draw.cpus.push_back(processors[(first + i) % processors.size()]);
  return draw;
}

Result<Contestant::StartOutcome> Contestant::Start(const Spec& spec, const GroupDraw& draw) {
  Contestant contestant(draw, spec);
  for (size_t p = 0; p < spec.chain.size(); ++p) {
    PartProcess::Spec part{.part = spec.chain[p],
                           .threads = spec.threads,
                           .slots = spec.slots,
                           .mode = spec.mode,
                           .state = spec.state,
                           .lent = LentBy(spec.chain, p)};
    ASSAY_TRY(PartProcess::StartOutcome started, PartProcess::Start(std::move(part), draw, contestant.parts_));
    if (auto* rejected = std::get_if<Rejected>(&started)) {
      if (!spec.chain[p].own) return NeighbourFailed(spec.chain[p], *rejected);
      return StartOutcome(std::move(*rejected));
    }
    contestant.parts_.push_back(std::move(std::get<PartProcess>(started)));
  }
  return StartOutcome(std::move(contestant));
}

int64_t Contestant::null_ns() const {
  int64_t sum = 0;
  for (const PartProcess& part : parts_) sum += part.null_ns();
  return sum;
}

// After everything was written, while the processes are stopped.
Status Contestant::MakeCold(CacheState state) {
  std::vector<std::span<const std::byte>> memory;
  for (const PartProcess& part : parts_) part.AddCold(state, memory);
  if (state == CacheState::kCold) return EmptyCaches(memory, cpus_);
  std::erase_if(memory, [](const auto& bytes) { return bytes.empty(); });
  return memory.empty() ? Ok() : EmptyCaches(memory, {});
}

// Poison, packed weights and inputs, in every part.
Result<std::optional<Rejected>> Contestant::Ready(const UnitRequest& request, std::span<const InputDraw> inputs,
                                                  Stream& stream) {
  for (PartProcess& part : parts_) part.Poison(stream);
  for (PartProcess& part : parts_) {
    part.Fill(request.calls, inputs, true);
    ASSAY_TRY(std::optional<Rejected> refused,
              part.Prepare(request.calls, part.part().own ? request.limit : kNeighbourLimit));
    if (!refused) continue;
    if (!part.part().own) return NeighbourFailed(part.part(), *refused);
    return refused;
  }
  for (PartProcess& part : parts_) part.Fill(request.calls, inputs, false);
  return std::optional<Rejected>();
}

Result<UnitVerdict> Contestant::Run(const UnitRequest& request, std::span<const InputDraw> inputs, Auditor& auditor,
                                    Stream& stream) {
  ASSAY_TRY(std::optional<Rejected> refused, Ready(request, inputs, stream));
  if (refused) return UnitVerdict(std::move(*refused));
  std::vector<std::vector<Call>> calls;
  for (const PartProcess& part : parts_) calls.push_back(part.Calls(request.calls, inputs));
  ASSAY_TRY_STATUS(MakeCold(request.state));

  const int64_t delay_ns = SpinFor(request.delay_seconds);
  UnitResult unit{.wall_ns = delay_ns, .cpu_ns = 0, .own_ns = delay_ns};
  bool alone = true;
  // Nothing comes between two parts but the stop of the one and the start of the other: whoever looked at what was
  // written would move its cache lines.
  for (size_t p = 0; p < parts_.size(); ++p) {
    const bool own = parts_[p].part().own;
    ASSAY_TRY(CallsOutcome ran, parts_[p].Run(calls[p], own ? request.limit : kNeighbourLimit));
    if (auto* rejected = std::get_if<Rejected>(&ran)) {
      ASSAY_TRY(Rejected blamed, Blame(p, std::move(*rejected), request, inputs, auditor));
      return UnitVerdict(std::move(blamed));
    }
    const UnitTiming& timing = std::get<Completed>(ran).timing;
    unit.wall_ns += timing.wall_ns;
    unit.cpu_ns += timing.cpu_ns;
    if (own) unit.own_ns += timing.wall_ns - parts_[p].null_ns();
    if (own) unit.prepare_ns += parts_[p].prepare_ns();
    alone = alone && own;
  }
  if (alone) unit.own_ns = 0;
  ASSAY_TRY(refused, JudgeOwn(request, inputs, auditor));
  if (refused) return UnitVerdict(std::move(*refused));
  return UnitVerdict(unit);
}

Result<std::optional<Rejected>> Contestant::JudgeOwn(const UnitRequest& request, std::span<const InputDraw> inputs,
                                                     Auditor& auditor) {
  for (PartProcess& part : parts_) {
    if (!part.part().own) continue;
    ASSAY_TRY(std::optional<Rejected> refused, part.Judge(request.calls, inputs, auditor));
    if (refused) return refused;
  }
  if (whole_ == nullptr) return std::optional<Rejected>();
  // Steps that are right by themselves may still be the wrong ones, and would be a reference that nobody can meet.
  std::vector<TimedCall> calls;
  for (size_t call = 0; call < request.calls.slots.size(); ++call)
    calls.push_back(Whole(request.calls.slots[call], request.calls.contents[call], inputs));
  return auditor.Audit(calls);
}

// What a tensor of the whole is in memory: what some part wrote, the producer's output that parts read in its place,
// or nothing but a draw.
std::span<const std::byte> Contestant::WholeBytes(size_t tensor, size_t slot) const {
  const Feed wanted{kOwnDraw, tensor};
  for (const PartProcess& process : parts_) {
    const ChainPart& part = process.part();
    for (size_t t = 0; part.own && t < part.tensors.size(); ++t) {
      const bool linked = std::ranges::count(part.links, t, &PartLink::tensor) > 0;
      if (part.tensors[t] == wanted && (linked || part.contract->tensors[t].role == Role::kOut))
        return process.Bytes(t, slot);
    }
  }
  return {};
}

TimedCall Contestant::Whole(size_t slot, size_t content, std::span<const InputDraw> inputs) const {
  const InputDraw& draw = inputs[kOwnDraw];
  const std::span<const double> scalars = draw.Scalars(content);
  TimedCall timed{.contract = whole_,
                  .shape = whole_shape_,
                  .scalars = {scalars.begin(), scalars.end()},
                  .tensors = {},
                  .before = {},
                  .structured = draw.Structured(content)};
  for (size_t tensor = 0; tensor < whole_->tensors.size(); ++tensor) {
    const std::span<const std::byte> drawn = draw.TensorBytes(tensor, content);
    const std::span<const std::byte> found = drawn.empty() ? WholeBytes(tensor, slot) : drawn;
    const bool handed = drawn.empty() && !found.empty() && whole_->tensors[tensor].role == Role::kIn;
    timed.structured = timed.structured || (handed && Info(whole_->tensors[tensor].dtype).is_float);
    timed.found = timed.found || handed;
    timed.tensors.push_back(found);
    timed.before.emplace_back();
  }
  return timed;
}

// A part did not come to its end.  A consumer is right for every right answer, so when it fails the answer was wrong.
Result<Rejected> Contestant::Blame(size_t part, Rejected rejected, const UnitRequest& request,
                                   std::span<const InputDraw> inputs, Auditor& auditor) {
  const ChainPart& failed = parts_[part].part();
  if (failed.own) return rejected;
  const auto own = [](const PartProcess& one) { return one.part().own; };
  if (std::none_of(parts_.begin(), parts_.begin() + static_cast<ptrdiff_t>(part), own))
    return NeighbourFailed(failed, rejected);
  ASSAY_TRY(std::optional<Rejected> refused, JudgeOwn(request, inputs, auditor));
  if (refused) return *std::move(refused);
  return Rejected{
      .stage = Stage::kMeasure,
      .reason = Reason::kAuditMismatch,
      .check = "consumer",
      .evidence = fmt::format("{} ({}) failed on what this kernel left for it: {}: {}", failed.contract->name,
                              failed.artifact->name, Name(rejected.reason), rejected.evidence),
      .checks = {}};
}

}  // namespace assay
