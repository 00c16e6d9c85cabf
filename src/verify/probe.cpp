// SPDX-License-Identifier: Apache-2.0
#include "verify/probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "contract/values.h"

namespace assay {
namespace {

bool IsOutput(const Tensor& tensor) { return tensor.role != Role::kIn; }

// Whether the element is a NaN of its type, read without the detour through double where it is cheap.
bool IsNan(const Tensor& tensor, std::span<const std::byte> bytes, int64_t offset) {
  if (tensor.dtype == DType::kF32) {
    float value;
    std::memcpy(&value, bytes.data() + offset * 4, 4);
    return std::isnan(value);
  }
  return std::isnan(LoadElement(tensor.dtype, bytes, offset));
}

}  // namespace

Probe::Probe(ProbeSpec spec, Instance instance, Stream draws)
    : spec_(std::move(spec)),
      instance_(std::move(instance)),
      draws_(std::move(draws)),
      drawn_(instance_.slots()),
      before_(instance_.slots(), Contents(spec_.contract->tensors.size())),
      written_(instance_.slots(), true) {}

Result<ProbeOutcome> Probe::Start(const ProbeSpec& spec, Stream draws) {
  InstanceSpec instance;
  instance.contract = spec.contract;
  instance.artifact = spec.artifact;
  instance.shape = &spec.shape;
  instance.threads = spec.threads;
  instance.slots = spec.calls + 1;
  instance.placement_draw = spec.placement;
  instance.environment_padding = 16 * (spec.placement % 256);
  instance.stage = spec.stage;
  ASSAY_TRY(InstanceOutcome started, Instance::Start(instance));
  if (auto* rejected = std::get_if<Rejected>(&started)) return ProbeOutcome(std::move(*rejected));
  return ProbeOutcome(Probe(spec, std::move(std::get<Instance>(started)), std::move(draws)));
}

Result<DrawnCall> Probe::Load(size_t slot, Values values, const Seed& seed, bool complement) {
  instance_.PoisonOutputs(slot, draws_.Next(), complement);
  written_[slot] = false;
  ASSAY_TRY(drawn_[slot], DrawCall(*spec_.contract, spec_.shape, values, seed,
                                   [&](size_t tensor) { return instance_.InputBytes(tensor, slot); }));
  KeepBefore(slot);
  return drawn_[slot];
}

void Probe::KeepBefore(size_t slot) {
  for (size_t t = 0; t < spec_.contract->tensors.size(); ++t) {
    if (spec_.contract->tensors[t].role != Role::kInOut && !instance_.Lends(t)) continue;
    const auto bytes = instance_.OutputBytes(t, slot);
    before_[slot][t].assign(bytes.begin(), bytes.end());
  }
}

void Probe::LoadBytes(size_t slot, const TimedCall& call) {
  instance_.PoisonOutputs(slot, draws_.Next());
  written_[slot] = false;
  drawn_[slot] = {call.scalars, call.structured, ""};
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    const std::span<const std::byte> from = call.Read(t);
    if (spec_.contract->tensors[t].role == Role::kOut || from.empty()) continue;
    const std::span<std::byte> into = instance_.InputBytes(t, slot);
    ASSAY_CHECK(into.size() == from.size());
    std::copy(from.begin(), from.end(), into.begin());
  }
  KeepBefore(slot);
}

Status Probe::LoadNan(size_t slot, const Seed& seed) {
  ASSAY_TRY(drawn_[slot], Load(slot, Values::kFirst, seed));
  ASSAY_TRY_STATUS(DrawNanCall(*spec_.contract, spec_.shape, seed,
                               [&](size_t tensor) { return instance_.InputBytes(tensor, slot); }));
  KeepBefore(slot);
  return Ok();
}

Result<std::optional<Rejected>> Probe::Run(std::span<const size_t> slots) {
  std::vector<::assay::Call> calls;
  for (const size_t slot : slots) {
    // Prepared arguments belong to these contents; made outside the unit that is judged.
    if (const auto prepare = instance_.PrepareCall(slot)) {
      ASSAY_TRY(CallsOutcome prepared,
                instance_.RunUnit(std::span(&*prepare, 1), spec_.limit, WaitMode::kSleep, spec_.stage));
      if (auto* rejected = std::get_if<Rejected>(&prepared)) return std::optional(std::move(*rejected));
    }
    calls.push_back(instance_.CallFor(slot, drawn_[slot].scalars));
  }
  ASSAY_TRY(std::optional<Rejected> refused, RunCalls(calls, slots));
  for (size_t i = 0; i < slots.size() && !refused; ++i) {
    for (size_t t = 0; t < before_[slots[i]].size() && !refused; ++t) {
      if (before_[slots[i]][t].empty()) continue;
      refused = instance_.CheckGaps(t, slots[i], before_[slots[i]][t], spec_.stage);
    }
  }
  return refused;
}

Result<std::optional<Rejected>> Probe::RunCalls(std::span<const ::assay::Call> calls, std::span<const size_t> slots) {
  for (size_t slot = 0; slot < instance_.slots(); ++slot) {
    if (!written_[slot] || std::find(slots.begin(), slots.end(), slot) != slots.end()) continue;
    instance_.PoisonOutputs(slot, draws_.Next());
    written_[slot] = false;
  }
  ASSAY_TRY(CallsOutcome outcome, instance_.RunUnit(calls, spec_.limit, WaitMode::kSleep, spec_.stage));
  for (const size_t slot : slots) written_[slot] = true;
  if (auto* rejected = std::get_if<Rejected>(&outcome)) return std::optional(std::move(*rejected));
  return instance_.CheckGuards(spec_.stage);
}

Result<std::optional<Rejected>> Probe::RunSmaller(size_t slot, const Shape& smaller, const DrawnCall& drawn) {
  drawn_[slot] = drawn;
  ::assay::Call call = instance_.CallFor(slot, drawn.scalars);
  for (size_t a = 0; a < spec_.contract->arguments.size(); ++a) {
    const ArgumentRef& argument = spec_.contract->arguments[a];
    const auto& values = argument.kind == ArgumentKind::kAxis ? smaller.axes : smaller.strides;
    if (argument.kind != ArgumentKind::kAxis && argument.kind != ArgumentKind::kStride) continue;
    call.arguments[a] = IntegerArgument{static_cast<uint64_t>(values.at(argument.name))};
  }
  return RunCalls(std::span(&call, 1), std::span(&slot, 1));
}

TimedCall Probe::Call(size_t slot) const {
  TimedCall call;
  call.contract = spec_.contract;
  call.shape = &spec_.shape;
  call.scalars = drawn_[slot].scalars;
  call.structured = drawn_[slot].structured;
  for (size_t t = 0; t < spec_.contract->tensors.size(); ++t) {
    call.tensors.push_back(instance_.OutputBytes(t, slot));
    call.before.emplace_back(before_[slot][t]);
  }
  return call;
}

std::vector<std::byte> Probe::CopyOutputs(size_t slot) const {
  std::vector<std::byte> copy;
  for (size_t t = 0; t < spec_.contract->tensors.size(); ++t) {
    if (!IsOutput(spec_.contract->tensors[t]) || !instance_.Present(t)) continue;
    const auto bytes = instance_.OutputBytes(t, slot);
    copy.insert(copy.end(), bytes.begin(), bytes.end());
    instance_.BlankGaps(t, std::span(copy).last(bytes.size()));
  }
  return copy;
}

std::optional<Probe::Unwritten> Probe::FindUnwritten(size_t slot) const {
  for (size_t t = 0; t < spec_.contract->tensors.size(); ++t) {
    const Tensor& tensor = spec_.contract->tensors[t];
    if (tensor.role != Role::kOut || !instance_.Present(t) || !Info(tensor.dtype).has_nan) continue;
    if (spec_.shape.aliases.contains(tensor.name)) continue;  // it was full of its input
    const TensorLayout& layout = instance_.LayoutOf(t);
    const auto bytes = instance_.OutputBytes(t, slot);
    const size_t width = ByteSize(tensor.dtype, 1);
    for (int64_t e = 0; e < layout.element_count; ++e) {
      const int64_t offset = layout.padded ? ElementOffset(layout, e) : e;
      if (!IsNan(tensor, bytes, offset)) continue;
      if (instance_.StillPoison(t, slot, static_cast<size_t>(offset) * width, width)) return Unwritten{t, offset};
    }
  }
  return std::nullopt;
}

Result<bool> Probe::ChangesLater(size_t slot, int null_units) {
  const std::vector<std::byte> before = CopyOutputs(slot);
  for (int i = 0; i < null_units; ++i) {
    ASSAY_TRY(CallsOutcome outcome, instance_.RunUnit({}, spec_.limit, WaitMode::kSleep, spec_.stage));
    // Dying between calls is work outside of calls as well.
    if (std::holds_alternative<Rejected>(outcome)) return true;
    if (i % 8 == 7 && CopyOutputs(slot) != before) return true;
  }
  return CopyOutputs(slot) != before;
}

}  // namespace assay
