// SPDX-License-Identifier: Apache-2.0
#include "language/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/file.h"
#include "base/text.h"
#include "language/cpp/loader_view.h"
#include "language/endings.h"
#include "language/instance_sizes.h"
#include "language/parameters.h"

namespace assay {
namespace {

constexpr size_t kMaxArtifact = size_t{64} << 20;

// A stretch of an output's payload between two rows, which no call may write.
struct Gap {
  size_t offset, bytes;
};

// The gaps of a strided layout: what no row of the last dimension covers.
std::vector<Gap> GapsOf(const TensorLayout& layout) {
  std::vector<Gap> gaps;
  if (!layout.padded || layout.element_count == 0 || layout.extents.empty()) return gaps;
  const int64_t row = layout.strides.back() == 1 ? layout.extents.back() : 1;
  std::vector<int64_t> starts;
  for (int64_t element = 0; element < layout.element_count; element += row)
    starts.push_back(ElementOffset(layout, element));
  std::sort(starts.begin(), starts.end());
  const auto width = static_cast<size_t>(Info(layout.dtype).bits);
  size_t covered = 0;
  for (const int64_t start : starts) {
    const size_t begin = static_cast<size_t>(start) * width / 8;
    if (begin > covered) gaps.push_back({covered, begin - covered});
    covered = std::max(covered, (static_cast<size_t>(start + row) * width + 7) / 8);
  }
  return gaps;
}

}  // namespace

struct Instance::State {
  explicit State(Session&& started) : session(std::move(started)) {}

  Session session;
  size_t slots = 1;
  Endings endings;
  std::vector<TensorLayout> layouts;  // by tensor
  std::vector<Role> roles;
  std::vector<int> buffers;            // by tensor, -1 = null
  std::vector<size_t> owners;          // by tensor: itself, or the input that lends it its memory
  std::vector<bool> handed;            // by tensor: another process writes it
  std::vector<std::vector<Gap>> gaps;  // by tensor
  std::vector<Parameter> parameters;
  std::vector<size_t> prepared;  // tensors that ENTRY_prepare takes
  std::vector<uint64_t> axes;
  int scratch_buffer = -1, packed_buffer = -1;
  int prepare_symbol = -1;
  int64_t scratch_bytes = 0;
  std::optional<uint64_t> scratch_pattern;  // to be poisoned before the next unit
  std::vector<bool> poisoned;               // by slot, since its last call
  std::vector<bool> ever_poisoned;          // by slot
  std::vector<std::vector<bool>> filled;    // by tensor and slot: written by us since it was poisoned

  Rejected WroteOutside(size_t tensor, size_t slot, int64_t offset, std::string_view where, Stage stage) const;
};

namespace {

// What has to be known before a process can be made.
struct Layout {
  std::vector<TensorLayout> layouts;
  std::vector<int> buffers;
  std::vector<size_t> owners;
  SessionSpec session;
  int scratch_buffer = -1, packed_buffer = -1, prepare_symbol = -1;
  int64_t scratch_bytes = 0;
};
using LayoutOutcome = std::variant<Layout, Rejected>;

Access AccessOf(Role role) {
  switch (role) {
    case Role::kIn:
      return Access::kInput;
    case Role::kOut:
      return Access::kOutput;
    case Role::kInOut:
      return Access::kInOut;
  }
  return Access::kInput;
}

// The tensor in whose memory this one lies.
size_t OwnerOf(const InstanceSpec& spec, size_t tensor) {
  const auto lent = spec.shape->aliases.find(spec.contract->tensors[tensor].name);
  if (lent == spec.shape->aliases.end()) return tensor;
  return static_cast<size_t>(spec.contract->FindTensor(lent->second) - spec.contract->tensors.data());
}

// What an earlier instance hands over, or what a later one will read.
Status ShareMemory(const InstanceSpec& spec, size_t tensor, BufferSpec& buffer) {
  for (const Handover& handover : spec.handed) {
    if (handover.tensor != tensor) continue;
    ASSAY_TRY(buffer.borrowed, handover.from->Lend(handover.output));
  }
  for (const LentOutput& lent : spec.lent) {
    if (lent.tensor != tensor) continue;
    buffer.lent = true;
    buffer.align = std::max(buffer.align, lent.align);
  }
  return Ok();
}

Status AddTensors(const InstanceSpec& spec, Layout& layout) {
  for (size_t t = 0; t < spec.contract->tensors.size(); ++t) {
    const Tensor& tensor = spec.contract->tensors[t];
    ASSAY_TRY(TensorLayout shape, LayoutOf(*spec.contract, tensor, *spec.shape));
    layout.layouts.push_back(std::move(shape));
    layout.owners.push_back(OwnerOf(spec, t));
    if (spec.shape->absent_tensors.contains(tensor.name) || layout.owners[t] != t) {
      layout.buffers.push_back(-1);
      continue;
    }
    BufferSpec buffer;
    buffer.name = tensor.name;
    buffer.bytes = static_cast<size_t>(layout.layouts.back().byte_span);
    buffer.access = AccessOf(tensor.role);
    buffer.align = static_cast<size_t>(tensor.align);
    buffer.slots = spec.slots;
    if (t < spec.line_offsets.size()) buffer.line_offset = spec.line_offsets[t];
    ASSAY_TRY_STATUS(ShareMemory(spec, t, buffer));
    layout.buffers.push_back(static_cast<int>(layout.session.buffers.size()));
    layout.session.buffers.push_back(std::move(buffer));
  }
  for (size_t t = 0; t < layout.owners.size(); ++t) {
    if (layout.owners[t] == t) continue;
    layout.buffers[t] = layout.buffers[layout.owners[t]];
    BufferSpec& shared = layout.session.buffers[static_cast<size_t>(layout.buffers[t])];
    shared.access = Access::kInOut;
    shared.align = std::max(shared.align, static_cast<size_t>(spec.contract->tensors[t].align));
  }
  return Ok();
}

// Memory of a candidate's own: room to copy and widen its tensors, and for each thread a stack and
// what malloc reserves.  Small enough that one that never stops asking is found out before it could
// be taken for a hang.
uint64_t MemoryBudget(const InstanceSpec& spec, const std::vector<BufferSpec>& buffers) {
  uint64_t tensors = 0;
  for (const BufferSpec& buffer : buffers) tensors += buffer.bytes;
  return (uint64_t{1} << 30) + 4 * tensors + static_cast<uint64_t>(spec.threads) * (uint64_t{192} << 20);
}

Rejected Refusal(Stage stage, Reason reason, std::string evidence) {
  Rejected rejected;
  rejected.stage = stage;
  rejected.reason = reason;
  rejected.check = "load";
  rejected.evidence = std::move(evidence);
  return rejected;
}

// Scratch is one buffer for all slots, because the calls of a unit follow one another; packed weights
// belong to their slot.
Result<std::optional<Rejected>> AddExtras(const InstanceSpec& spec, const std::vector<std::string>& exports,
                                          Layout& layout) {
  const Contract& contract = *spec.contract;
  const auto exported = [&](const std::string& name) {
    return std::find(exports.begin(), exports.end(), name) != exports.end();
  };
  const bool takes_scratch =
      std::any_of(contract.arguments.begin(), contract.arguments.end(),
                  [](const ArgumentRef& argument) { return argument.kind == ArgumentKind::kScratch; });
  if (takes_scratch && exported(contract.entry + "_scratch")) {
    ASSAY_TRY(SizeOutcome asked, AskSize(spec, contract.entry + "_scratch"));
    if (auto* rejected = std::get_if<Rejected>(&asked)) return std::optional(std::move(*rejected));
    layout.scratch_bytes = std::get<int64_t>(asked);
    if (auto bad = BadSize(contract.entry + "_scratch", layout.scratch_bytes, contract.policy.scratch_bytes,
                           "the contract's policy.scratch")) {
      return std::optional(Refusal(spec.stage, Reason::kPolicy, *bad));
    }
    if (layout.scratch_bytes > 0) {
      layout.scratch_buffer = static_cast<int>(layout.session.buffers.size());
      layout.session.buffers.push_back(
          {"scratch", static_cast<size_t>(layout.scratch_bytes), Access::kScratch, 64, 1, 0});
    }
  }
  if (!exported(contract.entry + "_prepare")) return std::optional<Rejected>();
  if (!exported(contract.entry + "_packed")) {
    return std::optional(Refusal(spec.stage, Reason::kLoadFailed,
                                 fmt::format("defines {0}_prepare without {0}_packed", contract.entry)));
  }
  ASSAY_TRY(SizeOutcome asked, AskSize(spec, contract.entry + "_packed"));
  if (auto* rejected = std::get_if<Rejected>(&asked)) return std::optional(std::move(*rejected));
  int64_t most = int64_t{1} << 20;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    if (contract.tensors[t].prepare) most += 4 * layout.layouts[t].byte_span;  // a widened and padded copy
  }
  const int64_t bytes = std::get<int64_t>(asked);
  if (auto bad = BadSize(contract.entry + "_packed", bytes, most, "a packed form of at most four times its tensors")) {
    return std::optional(Refusal(spec.stage, Reason::kPolicy, *bad));
  }
  layout.prepare_symbol = static_cast<int>(layout.session.symbols.size());
  layout.session.symbols.push_back(contract.entry + "_prepare");
  layout.packed_buffer = static_cast<int>(layout.session.buffers.size());
  layout.session.buffers.push_back({"packed", static_cast<size_t>(bytes), Access::kScratch, 64, spec.slots, 0});
  return std::optional<Rejected>();
}

}  // namespace

Result<InstanceOutcome> Instance::Start(const InstanceSpec& spec) {
  ASSAY_TRY(const std::string bytes, ReadFile(spec.artifact->path, kMaxArtifact));
  if (Sha256(bytes) != spec.artifact->file_hash) {
    return Error{ErrorCode::kCorrupt, spec.artifact->path.string() + " is not the file that was built"};
  }
  LoaderView view;
  if (const auto trouble = ReadAsLoader(bytes, view))
    return Error{ErrorCode::kCorrupt, spec.artifact->path.string() + " " + *trouble};
  Layout layout;
  layout.session = BaseSpec(spec);
  ASSAY_TRY_STATUS(AddTensors(spec, layout));
  if (!spec.artifact->trusted_code && spec.artifact->sanitizer.empty())
    layout.session.limits.address_space = MemoryBudget(spec, layout.session.buffers);
  ASSAY_TRY(auto refused, AddExtras(spec, view.Exports(), layout));
  if (refused) return InstanceOutcome(std::move(*refused));

  Endings endings{spec.stage, {}};
  for (const BufferSpec& buffer : layout.session.buffers) endings.buffers.push_back({buffer.name, buffer.access});
  ASSAY_TRY(StartOutcome started, Session::Start(layout.session));
  if (auto* failed = std::get_if<LoadFailed>(&started)) return InstanceOutcome(endings.Explain(*failed));
  if (auto* ended = std::get_if<Ended>(&started)) return InstanceOutcome(endings.Explain(*ended));

  auto state = std::make_unique<State>(std::get<Session>(std::move(started)));
  state->slots = spec.slots;
  state->parameters = ParametersOf(*spec.contract, *spec.shape);
  for (size_t t = 0; t < spec.contract->tensors.size(); ++t) {
    state->roles.push_back(spec.contract->tensors[t].role);
    state->handed.push_back(std::ranges::count(spec.handed, t, &Handover::tensor) > 0);
    const bool written = state->roles.back() != Role::kIn || std::ranges::count(layout.owners, t) > 1;
    state->gaps.push_back(written && layout.buffers[t] >= 0 ? GapsOf(layout.layouts[t]) : std::vector<Gap>{});
    if (spec.contract->tensors[t].prepare) state->prepared.push_back(t);
  }
  for (const Axis& axis : spec.contract->axes)
    state->axes.push_back(static_cast<uint64_t>(spec.shape->axes.at(axis.name)));
  state->layouts = std::move(layout.layouts);
  state->buffers = std::move(layout.buffers);
  state->owners = std::move(layout.owners);
  state->scratch_buffer = layout.scratch_buffer;
  state->packed_buffer = layout.packed_buffer;
  state->prepare_symbol = layout.prepare_symbol;
  state->scratch_bytes = layout.scratch_bytes;
  state->poisoned.assign(spec.slots, false);
  state->ever_poisoned.assign(spec.slots, false);
  state->filled.assign(spec.contract->tensors.size(), std::vector<bool>(spec.slots, false));
  state->endings = std::move(endings);
  return InstanceOutcome(Instance(std::move(state)));
}

Instance::Instance(std::unique_ptr<State> state) : state_(std::move(state)) {}
Instance::Instance(Instance&&) noexcept = default;
Instance& Instance::operator=(Instance&&) noexcept = default;
Instance::~Instance() = default;

size_t Instance::slots() const { return state_->slots; }
bool Instance::Present(size_t tensor) const { return state_->buffers[tensor] >= 0; }
bool Instance::Lends(size_t tensor) const { return std::ranges::count(state_->owners, tensor) > 1; }
const TensorLayout& Instance::LayoutOf(size_t tensor) const { return state_->layouts[tensor]; }
int64_t Instance::scratch_bytes() const { return state_->scratch_bytes; }
Session& Instance::session() { return state_->session; }

std::span<std::byte> Instance::InputBytes(size_t tensor, size_t slot) {
  if (!Present(tensor)) return {};
  ASSAY_CHECK(state_->roles[tensor] != Role::kOut && slot < state_->slots && !state_->handed[tensor]);
  state_->filled[tensor][slot] = true;
  return state_->session.Input(state_->buffers[tensor], static_cast<int>(slot));
}

std::span<const std::byte> Instance::OutputBytes(size_t tensor, size_t slot) const {
  if (!Present(tensor)) return {};
  ASSAY_CHECK(slot < state_->slots);
  return state_->session.Output(state_->buffers[tensor], static_cast<int>(slot));
}

Result<std::shared_ptr<const LentPages>> Instance::Lend(size_t tensor) const {
  ASSAY_CHECK(Present(tensor));
  return state_->session.Lend(state_->buffers[tensor]);
}

std::span<const std::byte> Instance::PackedBytes(size_t slot) const {
  if (state_->packed_buffer < 0) return {};
  return state_->session.Output(state_->packed_buffer, static_cast<int>(slot));
}

Call Instance::CallFor(size_t slot, std::span<const double> scalars) const {
  Call call;
  for (const Parameter& parameter : state_->parameters) {
    switch (parameter.kind) {
      case ArgumentKind::kAxis:
      case ArgumentKind::kStride:
        call.arguments.emplace_back(IntegerArgument{parameter.bits});
        break;
      case ArgumentKind::kScalar:
        call.arguments.push_back(ScalarArgument(parameter.dtype, scalars[parameter.index]));
        break;
      case ArgumentKind::kScratch:
        if (state_->scratch_buffer < 0)
          call.arguments.emplace_back(NullArgument{});
        else
          call.arguments.emplace_back(PointerArgument{state_->scratch_buffer, 0});
        break;
      case ArgumentKind::kTensor: {
        int buffer = state_->buffers[parameter.index];
        const bool packed = state_->packed_buffer >= 0 && std::find(state_->prepared.begin(), state_->prepared.end(),
                                                                    parameter.index) != state_->prepared.end();
        if (packed && buffer >= 0) buffer = state_->packed_buffer;
        if (buffer < 0)
          call.arguments.emplace_back(NullArgument{});
        else
          call.arguments.emplace_back(PointerArgument{buffer, static_cast<int>(slot)});
        break;
      }
    }
  }
  return call;
}

std::optional<Call> Instance::PrepareCall(size_t slot) const {
  if (state_->prepare_symbol < 0) return std::nullopt;
  Call call;
  call.symbol = state_->prepare_symbol;
  for (const size_t tensor : state_->prepared) {
    if (state_->buffers[tensor] < 0)
      call.arguments.emplace_back(NullArgument{});
    else
      call.arguments.emplace_back(PointerArgument{state_->buffers[tensor], static_cast<int>(slot)});
  }
  for (const uint64_t axis : state_->axes) call.arguments.emplace_back(IntegerArgument{axis});
  call.arguments.emplace_back(PointerArgument{state_->packed_buffer, static_cast<int>(slot)});
  return call;
}

void Instance::PoisonOutputs(size_t slot, uint64_t draw, bool complement) {
  ASSAY_CHECK(slot < state_->slots);
  const uint64_t pattern = PoisonPattern(draw);
  for (size_t t = 0; t < state_->buffers.size(); ++t) {
    if (state_->buffers[t] < 0 || state_->owners[t] != t || state_->handed[t]) continue;
    // One-byte floats have NaNs, but no pattern of wider words is one in each byte; they take the
    // complement like integers.
    const DTypeInfo& info = Info(state_->layouts[t].dtype);
    const uint64_t word = complement && !(info.has_nan && info.bits >= 16) ? ~pattern : pattern;
    state_->session.Poison(state_->buffers[t], static_cast<int>(slot), word);
    state_->filled[t][slot] = false;
  }
  state_->scratch_pattern = complement ? ~pattern : pattern;
  state_->poisoned[slot] = true;
  state_->ever_poisoned[slot] = true;
}

void Instance::BlankGaps(size_t tensor, std::span<std::byte> copy) const {
  const TensorLayout& layout = state_->layouts[tensor];
  for (const Gap& gap : state_->gaps[tensor]) std::ranges::fill(copy.subspan(gap.offset, gap.bytes), std::byte{0});
  // Packed tensors are dense (the contract's loader sees to it).
  const bool half = Info(layout.dtype).bits == 4 && layout.element_count % 2 == 1;
  if (half) copy[static_cast<size_t>(layout.byte_span) - 1] &= std::byte{0x0F};
}

bool Instance::StillPoison(size_t tensor, size_t slot, size_t offset, size_t bytes) const {
  if (!Present(tensor)) return false;
  return state_->session.StillPoison(state_->buffers[tensor], static_cast<int>(slot), offset, bytes);
}

Rejected Instance::State::WroteOutside(size_t tensor, size_t slot, int64_t offset, std::string_view where,
                                       Stage stage) const {
  const std::string& name = endings.buffers[static_cast<size_t>(buffers[tensor])].name;
  Rejected rejected;
  rejected.stage = stage;
  rejected.reason = Reason::kWroteOutside;
  rejected.check = "memory";
  rejected.evidence = fmt::format("{} slot {}: byte {} {} was written ({} is {} bytes long)", name, slot, offset, where,
                                  name, layouts[tensor].byte_span);
  return rejected;
}

std::optional<Rejected> Instance::CheckGaps(size_t tensor, size_t slot, std::span<const std::byte> before,
                                            Stage stage) const {
  if (!Present(tensor)) return std::nullopt;
  const std::span<const std::byte> now = OutputBytes(tensor, slot);
  ASSAY_CHECK(before.size() == now.size());
  for (const Gap& gap : state_->gaps[tensor]) {
    if (std::memcmp(now.data() + gap.offset, before.data() + gap.offset, gap.bytes) == 0) continue;
    return state_->WroteOutside(tensor, slot, static_cast<int64_t>(gap.offset),
                                "or one behind it in the gap between two rows", stage);
  }
  return std::nullopt;
}

Result<std::optional<Rejected>> Instance::CheckGuards(Stage stage) const {
  const auto refuse = [&](size_t tensor, size_t slot, int64_t offset, std::string_view where) {
    return std::optional(state_->WroteOutside(tensor, slot, offset, where, stage));
  };
  for (size_t t = 0; t < state_->buffers.size(); ++t) {
    if (state_->buffers[t] < 0 || state_->roles[t] == Role::kIn) continue;
    const auto bytes = static_cast<size_t>(state_->layouts[t].byte_span);
    for (size_t slot = 0; slot < state_->slots; ++slot) {
      if (!state_->ever_poisoned[slot]) continue;
      if (const auto hit = state_->session.CheckGuards(state_->buffers[t], static_cast<int>(slot))) {
        return refuse(t, slot, hit->offset, hit->offset < 0 ? "before its start" : "past its end");
      }
      // What was filled is the caller's to compare (CheckGaps).
      const bool filled = state_->filled[state_->owners[t]][slot];
      for (const Gap& gap : state_->gaps[t]) {
        if (!filled && !StillPoison(t, slot, gap.offset, gap.bytes))
          return refuse(t, slot, static_cast<int64_t>(gap.offset), "or one behind it in the gap between two rows");
      }
      // A slot that waits for its call, or that nobody was given: a decoy.
      if (!filled && state_->poisoned[slot] && bytes > 0 && !StillPoison(t, slot, 0, bytes)) {
        return refuse(t, slot, 0, "or one behind it, in a slot that no call was given,");
      }
    }
  }
  return std::optional<Rejected>();
}

Result<std::optional<Rejected>> Instance::CheckMachine(std::chrono::nanoseconds limit, Stage stage, bool& unseen) {
  Endings endings = state_->endings;
  endings.stage = stage;
  // First what the kernel knows: it cannot be tidied up in between.
  const auto changes = state_->session.ChangesSinceStart();
  unseen = !changes && !state_->session.spec().trusted;
  if (changes && !changes->empty()) {
    return std::optional(Rejected{stage, Reason::kMachineState, "machine state", Join(*changes, "; "), {}});
  }
  ASSAY_TRY(UnitOutcome outcome, state_->session.Inspect(limit));
  if (const auto* completed = std::get_if<Completed>(&outcome)) {
    if (completed->state.clean()) return std::optional<Rejected>();
    return std::optional(endings.Explain(completed->state));
  }
  // Nothing of the candidate's was called.
  Rejected rejected = std::holds_alternative<Ended>(outcome) ? endings.Explain(std::get<Ended>(outcome))
                                                             : endings.Explain(std::get<Hung>(outcome));
  rejected.reason = Reason::kLateWork;
  rejected.evidence = "between calls, while the team was asked for its state: " + rejected.evidence;
  return std::optional(std::move(rejected));
}

Result<CallsOutcome> Instance::RunUnit(std::span<const Call> calls, std::chrono::nanoseconds limit, WaitMode mode,
                                       Stage stage) {
  if (state_->scratch_buffer >= 0 && state_->scratch_pattern) {
    state_->session.Poison(state_->scratch_buffer, 0, *state_->scratch_pattern);
  }
  state_->scratch_pattern.reset();
  for (const Call& call : calls) {
    for (const CallArgument& argument : call.arguments) {
      const auto* pointer = std::get_if<PointerArgument>(&argument);
      if (pointer == nullptr || pointer->buffer == state_->scratch_buffer || pointer->buffer == state_->packed_buffer)
        continue;
      // PrepareCall touches inputs only: its slot still waits for its call.
      if (call.symbol == 0) state_->poisoned[static_cast<size_t>(pointer->slot)] = false;
    }
  }
  ASSAY_TRY(UnitOutcome outcome, state_->session.Run(calls, limit, mode));
  Endings endings = state_->endings;
  endings.stage = stage;
  if (auto* ended = std::get_if<Ended>(&outcome)) return CallsOutcome(endings.Explain(*ended));
  if (auto* hung = std::get_if<Hung>(&outcome)) return CallsOutcome(endings.Explain(*hung));
  Completed& completed = std::get<Completed>(outcome);
  if (!completed.state.clean()) return CallsOutcome(endings.Explain(completed.state));
  return CallsOutcome(std::move(completed));
}

}  // namespace assay
