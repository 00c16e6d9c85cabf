// SPDX-License-Identifier: Apache-2.0
#include "measure/contestant.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "measure/caches.h"

namespace assay {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kNullUnits = 12;
// A thread that is seen stopped may not have been descheduled yet, and its clock then lags by up to
// a tick, which the next unit gets.  So it is sums over units that are compared.
constexpr double kCpuShare = 0.03;
constexpr int64_t kCpuAllowanceNs = 6'000'000;

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

Rejected Refuse(Reason reason, std::string check, std::string evidence) {
  return Rejected{.stage = Stage::kMeasure,
                  .reason = reason,
                  .check = std::move(check),
                  .evidence = std::move(evidence),
                  .checks = {}};
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

std::optional<std::string> WorkOutsideUnits(int64_t cpu_ns, int64_t wall_ns, int threads) {
  const double most = static_cast<double>(wall_ns) * threads * (1 + kCpuShare) + kCpuAllowanceNs;
  if (static_cast<double>(cpu_ns) <= most) return std::nullopt;
  return fmt::format("{:.3f} ms of CPU time in units of {:.3f} ms together with {} thread{}",
                     static_cast<double>(cpu_ns) / 1e6, static_cast<double>(wall_ns) / 1e6, threads,
                     threads == 1 ? "" : "s");
}

Result<Contestant::StartOutcome> Contestant::Start(const Spec& spec, const GroupDraw& draw) {
  InstanceSpec instance;
  instance.contract = spec.contract;
  instance.artifact = spec.artifact;
  instance.shape = spec.shape;
  instance.threads = spec.threads;
  instance.slots = spec.slots;
  instance.placement_draw = draw.placement;
  instance.environment_padding = draw.environment_padding;
  instance.stack_offset = draw.stack_offset;
  instance.cpus = draw.cpus;
  instance.line_offsets = draw.line_offsets;
  instance.stage = Stage::kMeasure;
  ASSAY_TRY(InstanceOutcome started, Instance::Start(instance));
  if (auto* rejected = std::get_if<Rejected>(&started)) return StartOutcome(std::move(*rejected));
  Contestant contestant(spec, draw, std::move(std::get<Instance>(started)));
  // The lower quartile: what a neighbour adds to a null unit must not be taken off a kernel's time.
  std::vector<int64_t> nulls(kNullUnits);
  for (int64_t& null : nulls) {
    ASSAY_TRY(null, NullUnit(contestant.instance_.session(), 1, spec.mode));
  }
  std::sort(nulls.begin(), nulls.end());
  contestant.null_ns_ = nulls[nulls.size() / 4];
  return StartOutcome(std::move(contestant));
}

void Contestant::Poison(Stream& stream) {
  for (size_t slot = 0; slot < instance_.slots(); ++slot) instance_.PoisonOutputs(slot, stream.Next());
}

void Contestant::Fill(const UnitRequest& request, const InputDraw& inputs, bool prepared) {
  const std::vector<Tensor>& tensors = spec_.contract->tensors;
  for (size_t call = 0; call < request.slots.size(); ++call) {
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      const std::span<const std::byte> from = inputs.TensorBytes(tensor, request.contents[call]);
      if (from.empty() || tensors[tensor].prepare != prepared) continue;
      const std::span<std::byte> to = instance_.InputBytes(tensor, request.slots[call]);
      std::memcpy(to.data(), from.data(), std::min(to.size(), from.size()));
    }
  }
}

// Weights that may be packed ahead of the calls: they alone are there when the packing runs, so
// that it cannot compute what the calls are timed for.
Result<std::optional<Rejected>> Contestant::Prepare(const UnitRequest& request) {
  std::vector<Call> calls;
  for (const size_t slot : request.slots) {
    if (auto call = instance_.PrepareCall(slot)) calls.push_back(std::move(*call));
  }
  if (calls.empty()) return std::optional<Rejected>();
  ASSAY_TRY(CallsOutcome ran, instance_.RunUnit(calls, request.limit, spec_.mode, Stage::kMeasure));
  if (auto* rejected = std::get_if<Rejected>(&ran)) return std::optional<Rejected>(std::move(*rejected));
  return std::optional<Rejected>();
}

// After everything was written, while the process is stopped.  Decoys are flushed like the slots of calls: which is
// which must not show in a cache either.
Status Contestant::MakeCold(CacheState state) {
  if (state == CacheState::kHot) return Ok();
  std::vector<std::span<const std::byte>> memory;
  for (size_t slot = 0; slot < instance_.slots(); ++slot) {
    for (size_t tensor = 0; tensor < spec_.contract->tensors.size(); ++tensor) {
      if (state == CacheState::kWeightsCold && !spec_.contract->tensors[tensor].prepare) continue;
      memory.push_back(instance_.OutputBytes(tensor, slot));
    }
    memory.push_back(instance_.PackedBytes(slot));
  }
  return state == CacheState::kCold ? EmptyCaches(memory, cpus_) : EmptyCaches(memory, {});
}

Result<UnitVerdict> Contestant::Run(const UnitRequest& request, const InputDraw& inputs, Auditor& auditor,
                                    Stream& stream) {
  Poison(stream);
  Fill(request, inputs, true);
  ASSAY_TRY(std::optional<Rejected> refused, Prepare(request));
  if (refused) return UnitVerdict(std::move(*refused));
  Fill(request, inputs, false);
  std::vector<Call> calls;
  for (size_t call = 0; call < request.slots.size(); ++call) {
    calls.push_back(instance_.CallFor(request.slots[call], inputs.Scalars(request.contents[call])));
  }
  ASSAY_TRY_STATUS(MakeCold(request.state));

  const int64_t delay_ns = SpinFor(request.delay_seconds);
  ASSAY_TRY(CallsOutcome ran, instance_.RunUnit(calls, request.limit, spec_.mode, Stage::kMeasure));
  if (auto* rejected = std::get_if<Rejected>(&ran)) return UnitVerdict(std::move(*rejected));
  const UnitTiming timing = std::get<Completed>(ran).timing;
  ASSAY_TRY(refused, Judge(request, inputs, timing, auditor));
  if (refused) return UnitVerdict(std::move(*refused));
  return UnitVerdict(UnitResult{timing.wall_ns + delay_ns, timing.cpu_ns});
}

Result<std::optional<Rejected>> Contestant::Judge(const UnitRequest& request, const InputDraw& inputs,
                                                  const UnitTiming& timing, Auditor& auditor) {
  ASSAY_TRY(std::optional<Rejected> refused, instance_.CheckGuards(Stage::kMeasure));
  if (refused) return refused;
  wall_ns_ += timing.wall_ns;
  cpu_ns_ += timing.cpu_ns;
  if (const auto why = WorkOutsideUnits(cpu_ns_, wall_ns_, spec_.threads))
    return std::optional<Rejected>(Refuse(Reason::kLateWork, "work outside the unit", *why));
  std::vector<TimedCall> calls;
  for (size_t call = 0; call < request.slots.size(); ++call) {
    const std::span<const double> scalars = inputs.Scalars(request.contents[call]);
    TimedCall timed{.contract = spec_.contract,
                    .shape = spec_.shape,
                    .scalars = {scalars.begin(), scalars.end()},
                    .tensors = {},
                    .before = {},
                    .structured = inputs.Structured(request.contents[call])};
    for (size_t tensor = 0; tensor < spec_.contract->tensors.size(); ++tensor) {
      // What the call read as it was drawn, not as the process holds it: an inout tensor is overwritten.
      const std::span<const std::byte> drawn = inputs.TensorBytes(tensor, request.contents[call]);
      const Role role = spec_.contract->tensors[tensor].role;
      timed.tensors.push_back(role == Role::kIn ? drawn : instance_.OutputBytes(tensor, request.slots[call]));
      timed.before.push_back(role == Role::kInOut ? drawn : std::span<const std::byte>());
      if (role != Role::kInOut || drawn.empty()) continue;
      refused = instance_.CheckGaps(tensor, request.slots[call], drawn, Stage::kMeasure);
      if (refused) return refused;
    }
    calls.push_back(std::move(timed));
  }
  return auditor.Audit(calls);
}

}  // namespace assay
