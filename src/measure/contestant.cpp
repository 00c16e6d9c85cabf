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
  Contestant contestant(draw);
  for (size_t p = 0; p < spec.chain.size(); ++p) {
    PartProcess::Spec part{.part = spec.chain[p],
                           .threads = spec.threads,
                           .slots = spec.slots,
                           .mode = spec.mode,
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
    ASSAY_TRY(std::optional<Rejected> refused, part.Prepare(request.calls, request.limit));
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
  return std::optional<Rejected>();
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
