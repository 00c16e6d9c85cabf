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

// Axes and strides of another shape in a call that was made for the process's own.
void SetSizes(const Contract& contract, const Shape& shape, ::assay::Call& call) {
  for (size_t a = 0; a < contract.arguments.size(); ++a) {
    const ArgumentRef& argument = contract.arguments[a];
    if (argument.kind == ArgumentKind::kAxis)
      call.arguments[a] = IntegerArgument{static_cast<uint64_t>(shape.axes.at(argument.name))};
    if (argument.kind == ArgumentKind::kStride)
      call.arguments[a] = IntegerArgument{static_cast<uint64_t>(shape.strides.at(argument.name))};
  }
}

}  // namespace

Probe::Probe(ProbeSpec spec, Instance instance, Stream draws)
    : spec_(std::move(spec)),
      instance_(std::move(instance)),
      draws_(std::move(draws)),
      drawn_(instance_.slots()),
      before_(instance_.slots(), Contents(spec_.contract->tensors.size())),
      written_(instance_.slots(), true),
      smaller_(instance_.slots()) {}

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
  smaller_[slot].reset();
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
  smaller_[slot].reset();
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
    if (smaller_[slot]) SetSizes(*spec_.contract, *smaller_[slot], calls.back());
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
  ASSAY_TRY(std::optional<Rejected> outside, instance_.CheckGuards(spec_.stage));
  for (const size_t slot : slots) {
    if (!outside) outside = CheckBeyond(slot);
  }
  return outside;
}

Result<DrawnCall> Probe::LoadSmaller(size_t slot, const Shape& smaller, Values values, const Seed& seed) {
  instance_.PoisonOutputs(slot, draws_.Next());
  written_[slot] = false;
  smaller_[slot] = std::make_unique<Shape>(smaller);
  ASSAY_TRY(drawn_[slot], DrawCall(*spec_.contract, smaller, values, seed, [&](size_t tensor) {
              return instance_.InputBytes(tensor, slot).first(SpanOf(tensor, slot));
            }));
  KeepBefore(slot);
  return drawn_[slot];
}

size_t Probe::SpanOf(size_t tensor, size_t slot) const {
  const size_t whole = instance_.OutputBytes(tensor, slot).size();
  if (!smaller_[slot]) return whole;
  const auto layout = LayoutOf(*spec_.contract, spec_.contract->tensors[tensor], *smaller_[slot]);
  return layout.ok() ? std::min(whole, static_cast<size_t>(layout.value().byte_span)) : whole;
}

std::optional<Rejected> Probe::CheckBeyond(size_t slot) const {
  if (!smaller_[slot]) return std::nullopt;
  for (size_t t = 0; t < spec_.contract->tensors.size(); ++t) {
    const Tensor& tensor = spec_.contract->tensors[t];
    if (tensor.role == Role::kIn || !instance_.Present(t)) continue;
    const std::span<const std::byte> now = instance_.OutputBytes(t, slot);
    const size_t whole = now.size(), own = SpanOf(t, slot);
    if (own == whole) continue;
    const std::vector<std::byte>& before = before_[slot][t];  // empty but for inout tensors
    if (before.empty() ? instance_.StillPoison(t, slot, own, whole - own)
                       : std::memcmp(before.data() + own, now.data() + own, whole - own) == 0) {
      continue;
    }
    Rejected rejected;
    rejected.stage = spec_.stage;
    rejected.reason = Reason::kWroteOutside;
    rejected.check = "memory";
    rejected.evidence = tensor.name + ": written behind its " + std::to_string(own) +
                        " bytes, where a larger call of this process has its output";
    return rejected;
  }
  return std::nullopt;
}

TimedCall Probe::Call(size_t slot) const {
  TimedCall call;
  call.contract = spec_.contract;
  call.shape = &ShapeOf(slot);
  call.scalars = drawn_[slot].scalars;
  call.structured = drawn_[slot].structured;
  for (size_t t = 0; t < spec_.contract->tensors.size(); ++t) {
    call.tensors.push_back(instance_.OutputBytes(t, slot).first(SpanOf(t, slot)));
    const std::span<const std::byte> before(before_[slot][t]);
    call.before.push_back(before.first(std::min(before.size(), SpanOf(t, slot))));
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
    const auto laid = LayoutOf(*spec_.contract, tensor, ShapeOf(slot));
    if (!laid.ok()) continue;
    const TensorLayout& layout = laid.value();
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
