// SPDX-License-Identifier: Apache-2.0
#include "sandbox/report.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "sandbox/calls.h"

namespace assay {
namespace {

// As the System V convention has them; the low bits of MXCSR are sticky exception flags, which are anybody's to set.
constexpr uint32_t kMxcsr = 0x1f80;
constexpr uint32_t kMxcsrControl = 0xffc0;
constexpr uint16_t kX87Control = 0x037f;
constexpr uint16_t kEmptyStack = 0xffff;
constexpr uint32_t kDirectionBit = 0x400;
constexpr uint32_t kAlignmentBit = 0x40000;

// One page lies between two slots, and before the first.
constexpr uint64_t kPage = 4096;

// Without the fence a compiler may read the shared memory a second time where it would have to keep a register.
template <class Value>
Value Copy(const Value& shared) {
  Value copy;
  std::memcpy(&copy, &shared, sizeof(copy));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return copy;
}

// The nearest buffer within a guard page's reach; anything farther away is just an address.
std::optional<FaultPlace> Locate(std::span<const PlacedBuffer> buffers, uint64_t address) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PlacedBuffer& buffer = buffers[i];
    const uint64_t stride = buffer.slot_bytes + kPage;
    if (address < buffer.address - kPage || address >= buffer.address + stride * buffer.spec->slots) continue;
    const uint64_t slot = address < buffer.address ? 0 : (address - buffer.address) / stride;
    const auto offset = static_cast<int64_t>(address - (buffer.address + slot * stride + buffer.payload_offset));
    const auto bytes = static_cast<int64_t>(buffer.spec->bytes);
    const FaultSide side = offset < 0 ? FaultSide::kBefore : offset < bytes ? FaultSide::kInside : FaultSide::kAfter;
    return FaultPlace{static_cast<int>(i), static_cast<int>(slot), side, offset};
  }
  return std::nullopt;
}

std::string Where(const BufferSpec& buffer, const FaultPlace& place) {
  const std::string name = buffer.name + "[slot " + std::to_string(place.slot) + "]";
  if (place.side == FaultSide::kInside) return name + " at byte " + std::to_string(place.offset);
  if (place.side == FaultSide::kBefore) return std::to_string(-place.offset) + " bytes before " + name;
  return std::to_string(place.offset - static_cast<int64_t>(buffer.bytes)) + " bytes behind the end of " + name;
}

ForbiddenCall TrappedCall(const ring::FaultReport& fault) {
  ForbiddenCall call{fault.call_number, CallName(fault.call_arch, fault.call_number), {}};
  for (size_t i = 0; i < call.arguments.size(); ++i) call.arguments[i] = fault.call_arguments[i];
  return call;
}

Outcome Classify(const Ending& ending, const std::optional<jail::RefusalReport>& refusal, uint64_t address_space,
                 const ring::FaultReport& fault) {
  if (refusal) return ToForbiddenCall(*refusal);
  if (ending.code == CLD_EXITED) return Exited{ending.status};
  const bool noted = fault.signal == static_cast<uint32_t>(ending.status);
  if (ending.status == SIGSYS) {
    if (noted && fault.call_valid == 1) return TrappedCall(fault);
    return ForbiddenCall{-1, "a call that left no trace", {}};
  }
  if (noted && fault.memory_exhausted == 1) return OutOfMemory{address_space};
  Signaled signaled{ending.status, std::nullopt};
  if (noted) signaled.fault = FaultFacts{fault.address, fault.program_counter, fault.write == 1};
  return signaled;
}

}  // namespace

StartReport ReadStart(const ring::Report& report) {
  using Text = char[ring::kText];
  StartReport start{Copy(report.stage), {}};
  Text text;
  std::memcpy(text, report.text, sizeof(text));
  start.text = std::string(text, ::strnlen(text, sizeof(text)));
  switch (start.stage) {
    case ring::Stage::kReady:
    case ring::Stage::kOpenFailed:
    case ring::Stage::kSymbolFailed:
    case ring::Stage::kBroken:
      return start;
    default:
      return {ring::Stage::kOpenFailed, "the artifact did not finish loading"};
  }
}

Completed ReadCompleted(const ring::Report& report, size_t calls, const UnitTiming& timing) {
  Completed completed;
  completed.timing = timing;
  completed.integer_results.resize(calls);
  if (calls != 0) std::memcpy(completed.integer_results.data(), report.results, calls * sizeof(uint64_t));
  const auto machine = Copy(report.state);
  completed.state.mxcsr_changed = (machine.changes & ring::kMxcsrChanged) != 0;
  completed.state.x87_changed = (machine.changes & ring::kX87Changed) != 0;
  completed.state.direction_flag = (machine.changes & ring::kDirectionFlag) != 0;
  completed.state.callee_saved_changed = (machine.changes & ring::kCalleeSavedChanged) != 0;
  completed.state.alignment_check = (machine.changes & ring::kAlignmentCheck) != 0;
  completed.state.thread_pointer = (machine.changes & ring::kThreadPointer) != 0;
  completed.state.mxcsr = machine.mxcsr;
  completed.state.x87_control = static_cast<uint16_t>(machine.x87_control);
  if (machine.changes != 0)
    completed.state.first_call = static_cast<int>(std::min<uint64_t>(machine.first_call, calls > 0 ? calls - 1 : 0));
  return completed;
}

void JudgeTeam(const ring::Report& report, int threads, MachineState& machine) {
  const uint32_t count = std::min({Copy(report.inspected), ring::kTeam, static_cast<uint32_t>(threads)});
  for (uint32_t i = 0; i < count && machine.clean(); ++i) {
    const auto thread = Copy(report.team[i]);
    machine.mxcsr_changed = (thread.mxcsr & kMxcsrControl) != (kMxcsr & kMxcsrControl);
    machine.x87_changed = thread.x87_control != kX87Control;
    machine.direction_flag = (thread.flags & kDirectionBit) != 0;
    machine.alignment_check = (thread.flags & kAlignmentBit) != 0;
    machine.x87_stack = thread.x87_tags != kEmptyStack;
    machine.mxcsr = thread.mxcsr;
    machine.x87_control = thread.x87_control;
    machine.thread = static_cast<int>(i);
  }
}

int CallUnderWay(const ring::Report& report) {
  return static_cast<int>(Copy(report.calls_begun) % (ring::kCalls + 1)) - 1;
}

ArtifactRange ReadArtifact(const ring::Report& report) {
  return {Copy(report.artifact_base), Copy(report.artifact_bytes)};
}

Ended ReadEnding(const ring::Report& report, const Ending& ending, const std::optional<jail::RefusalReport>& refusal,
                 uint64_t address_space, std::span<const PlacedBuffer> buffers) {
  const auto fault = Copy(report.fault);
  Ended ended{Classify(ending, refusal, address_space, fault), "", std::nullopt, CallUnderWay(report), ""};
  ended.evidence = Describe(ended.outcome);
  const auto* signaled = std::get_if<Signaled>(&ended.outcome);
  if (signaled == nullptr || !signaled->fault || (signaled->signal != SIGSEGV && signaled->signal != SIGBUS))
    return ended;
  ended.place = Locate(buffers, signaled->fault->address);
  if (!ended.place) return ended;
  const BufferSpec& buffer = *buffers[static_cast<size_t>(ended.place->buffer)].spec;
  ended.evidence +=
      std::string(signaled->fault->write ? ": a store to " : ": a load from ") + Where(buffer, *ended.place);
  return ended;
}

}  // namespace assay
