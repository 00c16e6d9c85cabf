// SPDX-License-Identifier: Apache-2.0
#include "measure/part_process.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "measure/caches.h"

namespace assay {
namespace {

constexpr int kNullUnits = 12;
// A thread that is seen stopped may not have been descheduled yet, and its clock then lags by up to
// a tick, which the next unit gets.  So it is sums over units that are compared.
constexpr double kCpuShare = 0.03;
constexpr int64_t kCpuAllowanceNs = 6'000'000;

Rejected Refuse(Reason reason, std::string check, std::string evidence) {
  return Rejected{.stage = Stage::kMeasure,
                  .reason = reason,
                  .check = std::move(check),
                  .evidence = std::move(evidence),
                  .checks = {}};
}

}  // namespace

std::optional<std::string> WorkOutsideUnits(int64_t cpu_ns, int64_t wall_ns, int threads) {
  const double most = static_cast<double>(wall_ns) * threads * (1 + kCpuShare) + kCpuAllowanceNs;
  if (static_cast<double>(cpu_ns) <= most) return std::nullopt;
  return fmt::format("{:.3f} ms of CPU time in units of {:.3f} ms together with {} thread{}",
                     static_cast<double>(cpu_ns) / 1e6, static_cast<double>(wall_ns) / 1e6, threads,
                     threads == 1 ? "" : "s");
}

Result<PartProcess::StartOutcome> PartProcess::Start(Spec spec, const GroupDraw& draw,
                                                     std::span<const PartProcess> before) {
  InstanceSpec instance;
  instance.contract = spec.part.contract;
  instance.artifact = spec.part.artifact;
  instance.shape = spec.part.shape;
  instance.threads = spec.threads;
  instance.slots = spec.slots;
  instance.placement_draw = draw.placement;
  instance.environment_padding = draw.environment_padding;
  instance.stack_offset = draw.stack_offset;
  instance.cpus = draw.cpus;
  // Drawn for the tensors of the workload's own contract, and more than enough to go round.
  for (size_t t = 0; t < spec.part.contract->tensors.size() && !draw.line_offsets.empty(); ++t)
    instance.line_offsets.push_back(draw.line_offsets[t % draw.line_offsets.size()]);
  for (const PartLink& link : spec.part.links)
    instance.handed.push_back({link.tensor, &before[link.part].instance_, link.output});
  instance.lent = spec.lent;
  instance.stage = Stage::kMeasure;
  ASSAY_TRY(InstanceOutcome started, Instance::Start(instance));
  if (auto* rejected = std::get_if<Rejected>(&started)) return StartOutcome(std::move(*rejected));
  PartProcess process(std::move(spec), std::move(std::get<Instance>(started)));
  // The lower quartile: what a neighbour adds to a null unit must not be taken off a kernel's time.
  std::vector<int64_t> nulls(kNullUnits);
  // What calls meet cold the protocol meets cold as well: the runner's code, its stack, the team's.
  for (int64_t& null : nulls) {
    if (process.spec_.state == CacheState::kCold) ASSAY_TRY_STATUS(EmptyCaches({}, draw.cpus));
    ASSAY_TRY(null, NullUnit(process.instance_.session(), 1, process.spec_.mode));
  }
  std::sort(nulls.begin(), nulls.end());
  process.null_ns_ = nulls[nulls.size() / 4];
  return StartOutcome(std::move(process));
}

bool PartProcess::Linked(size_t tensor) const {
  return std::ranges::count(spec_.part.links, tensor, &PartLink::tensor) > 0;
}

void PartProcess::Poison(Stream& stream) {
  for (size_t slot = 0; slot < instance_.slots(); ++slot) instance_.PoisonOutputs(slot, stream.Next());
}

void PartProcess::Fill(const UnitSlots& unit, std::span<const InputDraw> inputs, bool prepared) {
  const std::vector<Tensor>& tensors = spec_.part.contract->tensors;
  for (size_t call = 0; call < unit.slots.size(); ++call) {
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      const std::optional<Feed>& feed = spec_.part.tensors[tensor];
      const bool drawn = feed && tensors[tensor].role != Role::kOut && !Linked(tensor);
      if (!drawn || tensors[tensor].prepare != prepared) continue;
      const std::span<const std::byte> from = inputs[feed->draw].TensorBytes(feed->index, unit.contents[call]);
      if (from.empty()) continue;
      const std::span<std::byte> to = instance_.InputBytes(tensor, unit.slots[call]);
      std::memcpy(to.data(), from.data(), std::min(to.size(), from.size()));
    }
  }
}

Result<std::optional<Rejected>> PartProcess::Prepare(const UnitSlots& unit, std::chrono::nanoseconds limit) {
  std::vector<Call> calls;
  for (const size_t slot : unit.slots) {
    if (auto call = instance_.PrepareCall(slot)) calls.push_back(std::move(*call));
  }
  if (calls.empty()) return std::optional<Rejected>();
  ASSAY_TRY(CallsOutcome ran, instance_.RunUnit(calls, limit, spec_.mode, Stage::kMeasure));
  if (auto* rejected = std::get_if<Rejected>(&ran)) return std::optional<Rejected>(std::move(*rejected));
  prepare_ns_ = std::max<int64_t>(std::get<Completed>(ran).timing.wall_ns - null_ns_, 1);
  return std::optional<Rejected>();
}

void PartProcess::AddCold(CacheState state, std::vector<std::span<const std::byte>>& memory) const {
  if (state == CacheState::kHot) return;
  for (size_t slot = 0; slot < instance_.slots(); ++slot) {
    for (size_t tensor = 0; tensor < spec_.part.contract->tensors.size(); ++tensor) {
      if (state != CacheState::kCold && !spec_.part.contract->tensors[tensor].prepare) continue;
      memory.push_back(instance_.OutputBytes(tensor, slot));
    }
    memory.push_back(instance_.PackedBytes(slot));
  }
}

std::vector<double> PartProcess::Scalars(std::span<const InputDraw> inputs, size_t content) const {
  std::vector<double> scalars;
  for (size_t s = 0; s < spec_.part.scalars.size(); ++s) {
    const std::optional<Feed>& feed = spec_.part.scalars[s];
    scalars.push_back(feed ? inputs[feed->draw].Scalars(content)[feed->index]
                           : spec_.part.shape->scalars.at(spec_.part.contract->scalars[s].name));
  }
  return scalars;
}

std::vector<Call> PartProcess::Calls(const UnitSlots& unit, std::span<const InputDraw> inputs) const {
  std::vector<Call> calls;
  for (size_t call = 0; call < unit.slots.size(); ++call)
    calls.push_back(instance_.CallFor(unit.slots[call], Scalars(inputs, unit.contents[call])));
  return calls;
}

Result<CallsOutcome> PartProcess::Run(std::span<const Call> calls, std::chrono::nanoseconds limit) {
  ASSAY_TRY(CallsOutcome ran, instance_.RunUnit(calls, limit, spec_.mode, Stage::kMeasure));
  if (const auto* completed = std::get_if<Completed>(&ran)) {
    wall_ns_ += completed->timing.wall_ns;
    cpu_ns_ += completed->timing.cpu_ns;
  }
  return ran;
}

// What the call read as it was drawn, not as the process holds it: an inout tensor is overwritten.  What another part
// wrote is read where it lies: this process cannot change it, and that one is stopped.
TimedCall PartProcess::Timed(size_t slot, size_t content, std::span<const InputDraw> inputs) const {
  TimedCall timed{.contract = spec_.part.contract,
                  .shape = spec_.part.shape,
                  .scalars = Scalars(inputs, content),
                  .tensors = {},
                  .before = {},
                  .structured = false};
  for (size_t tensor = 0; tensor < spec_.part.contract->tensors.size(); ++tensor) {
    const std::optional<Feed>& feed = spec_.part.tensors[tensor];
    const Role role = spec_.part.contract->tensors[tensor].role;
    const bool linked = Linked(tensor);
    const bool drawn_here = feed && role != Role::kOut && !linked;
    const std::span<const std::byte> drawn =
        drawn_here ? inputs[feed->draw].TensorBytes(feed->index, content) : std::span<const std::byte>();
    timed.tensors.push_back(role == Role::kIn && !linked ? drawn : instance_.OutputBytes(tensor, slot));
    timed.before.push_back(role == Role::kInOut ? drawn : std::span<const std::byte>());
    // Of what a kernel wrote nobody knows the mantissas.
    timed.structured = timed.structured || (linked && Info(spec_.part.contract->tensors[tensor].dtype).is_float) ||
                       (drawn_here && inputs[feed->draw].Structured(content));
    timed.found = timed.found || linked;
  }
  return timed;
}

Result<std::optional<Rejected>> PartProcess::Judge(const UnitSlots& unit, std::span<const InputDraw> inputs,
                                                   Auditor& auditor) {
  ASSAY_TRY(std::optional<Rejected> refused, instance_.CheckGuards(Stage::kMeasure));
  if (refused) return refused;
  if (const auto why = WorkOutsideUnits(cpu_ns_, wall_ns_, spec_.threads))
    return std::optional<Rejected>(Refuse(Reason::kLateWork, "work outside the unit", *why));
  std::vector<TimedCall> calls;
  for (size_t call = 0; call < unit.slots.size(); ++call) {
    TimedCall timed = Timed(unit.slots[call], unit.contents[call], inputs);
    for (size_t tensor = 0; tensor < timed.before.size(); ++tensor) {
      if (timed.before[tensor].empty()) continue;
      refused = instance_.CheckGaps(tensor, unit.slots[call], timed.before[tensor], Stage::kMeasure);
      if (refused) return refused;
    }
    calls.push_back(std::move(timed));
  }
  return auditor.Audit(calls);
}

}  // namespace assay
