// SPDX-License-Identifier: Apache-2.0
#include <linux/audit.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>

#include "sandbox/calls.h"
#include "sandbox/session_state.h"

namespace assay {
namespace {

std::string Where(const SessionSpec& spec, const FaultPlace& place) {
  const BufferSpec& buffer = spec.buffers[static_cast<size_t>(place.buffer)];
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

Outcome Classify(const Session::State& state, const Ending& ending, const ring::FaultReport& fault) {
  if (state.refusal) return ToForbiddenCall(*state.refusal);
  if (ending.code == CLD_EXITED) return Exited{ending.status};
  const bool noted = fault.signal == static_cast<uint32_t>(ending.status);
  if (ending.status == SIGSYS) {
    if (noted && fault.call_valid == 1) return TrappedCall(fault);
    return ForbiddenCall{-1, "a call that left no trace", {}};
  }
  if (noted && fault.memory_exhausted == 1) return OutOfMemory{state.spec.limits.address_space};
  Signaled signaled{ending.status, std::nullopt};
  if (noted) signaled.fault = FaultFacts{fault.address, fault.program_counter, fault.write == 1};
  return signaled;
}

}  // namespace

// The nearest buffer within a guard page's reach; anything farther away is just an address.
std::optional<FaultPlace> Session::State::Locate(uint64_t address) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    const uint64_t stride = buffer.slot_bytes() + 4096;
    const uint64_t first = addresses[i];
    if (address + 4096 < first || address >= first + stride * buffer.spec().slots) continue;
    const uint64_t slot = address < first ? 0 : (address - first) / stride;
    const int64_t offset = static_cast<int64_t>(address - SlotAddress(static_cast<int>(i), static_cast<int>(slot)));
    const int64_t bytes = static_cast<int64_t>(buffer.spec().bytes);
    const FaultSide side = offset < 0 ? FaultSide::kBefore : offset < bytes ? FaultSide::kInside : FaultSide::kAfter;
    return FaultPlace{static_cast<int>(i), static_cast<int>(slot), side, offset};
  }
  return std::nullopt;
}

Ended Session::State::Explain(const Ending& ending) {
  stopped = false;
  TakeMessages();
  process->Bury();
  ring::FaultReport fault;
  std::memcpy(&fault, &report->fault, sizeof(fault));
  Ended ended{Classify(*this, ending, fault), "", std::nullopt,
              static_cast<int>(report->calls_begun % (ring::kCalls + 1)) - 1, Printed()};
  ended.evidence = Describe(ended.outcome);
  const auto* signaled = std::get_if<Signaled>(&ended.outcome);
  if (signaled != nullptr && signaled->fault && (signaled->signal == SIGSEGV || signaled->signal == SIGBUS)) {
    ended.place = Locate(signaled->fault->address);
    if (ended.place)
      ended.evidence +=
          std::string(signaled->fault->write ? ": a store to " : ": a load from ") + Where(spec, *ended.place);
  }
  return ended;
}

}  // namespace assay
