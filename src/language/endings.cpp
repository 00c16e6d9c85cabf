// SPDX-License-Identifier: Apache-2.0
#include "language/endings.h"

#include <fmt/format.h>
#include <signal.h>

#include "base/text.h"

namespace assay {
namespace {

Rejected Make(Stage stage, Reason reason, std::string check, std::string evidence) {
  Rejected rejected;
  rejected.stage = stage;
  rejected.reason = reason;
  rejected.check = std::move(check);
  rejected.evidence = Printable(Cut(evidence, 2000));
  return rejected;
}

bool IsSegmentFault(int signal) { return signal == SIGSEGV || signal == SIGBUS; }

// What a fault near a buffer means.  The place comes from a handler inside the process, so it may be a
// lie; but the process is dead either way, and the choice is only between reasons to refuse it.
Reason FaultReason(Access access, FaultSide side, bool write) {
  if (side == FaultSide::kInside) return write && access == Access::kInput ? Reason::kWroteInput : Reason::kCrash;
  return write ? Reason::kWroteOutside : Reason::kReadOutside;
}

std::string PlaceText(const Endings& endings, const FaultPlace& place, bool write) {
  const std::string& name = endings.buffers[static_cast<size_t>(place.buffer)].name;
  const std::string_view verb = write ? "wrote" : "read";
  switch (place.side) {
    case FaultSide::kBefore:
      return fmt::format("{} {} bytes before the start of {}", verb, -place.offset, name);
    case FaultSide::kAfter:
      return fmt::format("{} past the end of {} (byte {} from its start)", verb, name, place.offset);
    case FaultSide::kInside:
      return fmt::format("{} byte {} of {}", verb, place.offset, name);
  }
  return {};
}

std::string WithOutput(std::string evidence, const std::string& output) {
  if (!Trim(output).empty()) evidence += "\nit printed: " + Printable(Cut(Trim(output), 800));
  return evidence;
}

}  // namespace

Rejected Endings::Explain(const LoadFailed& failed) const {
  return Make(
      stage, Reason::kLoadFailed, "load",
      fmt::format("{}: {}", failed.stage == LoadStage::kOpen ? "not loadable" : "symbol not found", failed.text));
}

Rejected Endings::Explain(const Ended& ended) const {
  std::string evidence = ended.evidence.empty() ? Describe(ended.outcome) : ended.evidence;
  if (ended.call >= 0) evidence += fmt::format(" in call {} of its unit", ended.call);
  if (const auto* signaled = std::get_if<Signaled>(&ended.outcome)) {
    const bool placed =
        IsSegmentFault(signaled->signal) && ended.place && static_cast<size_t>(ended.place->buffer) < buffers.size();
    if (!placed) return Make(stage, Reason::kCrash, "runs", WithOutput(evidence, ended.output));
    const bool write = signaled->fault && signaled->fault->write;
    const Reason reason =
        FaultReason(buffers[static_cast<size_t>(ended.place->buffer)].access, ended.place->side, write);
    return Make(stage, reason, "memory",
                WithOutput(PlaceText(*this, *ended.place, write) + "; " + evidence, ended.output));
  }
  if (std::get_if<Exited>(&ended.outcome) != nullptr)
    return Make(stage, Reason::kExited, "runs", WithOutput(evidence, ended.output));
  if (std::get_if<TimedOut>(&ended.outcome) != nullptr)
    return Make(stage, Reason::kHang, "runs", WithOutput(evidence, ended.output));
  if (const auto* refused = std::get_if<ForbiddenCall>(&ended.outcome)) {
    std::string call = Describe(ended.outcome);
    if (ended.evidence.find(refused->name) == std::string::npos) evidence = call + "; " + evidence;
    return Make(stage, Reason::kForbiddenCall, "runs", WithOutput(evidence, ended.output));
  }
  return Make(stage, Reason::kOutOfMemory, "runs", WithOutput(evidence, ended.output));
}

Rejected Endings::Explain(const Hung& hung) const {
  std::string evidence = hung.evidence;
  if (evidence.empty()) {
    evidence = fmt::format("did not return within {}", Seconds(std::chrono::duration<double>(hung.limit).count()));
  }
  return Make(stage, Reason::kHang, "runs", evidence);
}

Rejected Endings::Explain(const MachineState& state) const {
  std::vector<std::string> parts;
  if (state.mxcsr_changed)
    parts.push_back(fmt::format(
        "MXCSR control bits left as {:#06x} (flush-to-zero, denormals-are-zero, rounding or masks)", state.mxcsr));
  if (state.x87_changed) parts.push_back(fmt::format("x87 control word left as {:#06x}", state.x87_control));
  if (state.direction_flag) parts.emplace_back("direction flag left set");
  if (state.callee_saved_changed)
    parts.emplace_back("a callee-saved register (rbx, rbp, r12-r15) or the stack pointer not restored");
  if (state.alignment_check) parts.emplace_back("alignment-check flag left set");
  if (state.thread_pointer) parts.emplace_back("thread pointer (FS base) not restored");
  if (state.x87_stack)
    parts.emplace_back("x87 stack left in use (a value not popped, or MMX without the instruction that ends it)");
  std::string evidence = Join(parts, "; ");
  if (state.first_call >= 0) evidence += fmt::format(", first after call {} of the unit", state.first_call);
  if (state.thread >= 0) evidence += fmt::format(", in thread {} of the team", state.thread);
  return Make(stage, Reason::kMachineState, "machine state", evidence);
}

}  // namespace assay
