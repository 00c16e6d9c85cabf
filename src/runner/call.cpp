// SPDX-License-Identifier: Apache-2.0
#include <sys/auxv.h>

#include <cstddef>
#include <cstring>

#include "runner/runner.h"

namespace assay::runner {
namespace {

// Known to trampoline.S by its offsets.
struct Frame {
  void* function;
  uint64_t integers[6];
  uint64_t vectors[8];
  const uint64_t* stack;
  uint64_t stack_count;
  uint64_t result;
  uint64_t saved_rsp;
  uint64_t expected_rsp;
  uint32_t flags;
  uint32_t mxcsr;
  uint16_t x87_control;
};
static_assert(offsetof(Frame, integers) == 8 && offsetof(Frame, vectors) == 56 && offsetof(Frame, stack) == 120);
static_assert(offsetof(Frame, result) == 136 && offsetof(Frame, saved_rsp) == 144 &&
              offsetof(Frame, expected_rsp) == 152);
static_assert(offsetof(Frame, flags) == 160 && offsetof(Frame, mxcsr) == 164 && offsetof(Frame, x87_control) == 168);

// As the System V convention has them at a function's entry.
constexpr uint32_t kMxcsr = 0x1f80;
constexpr uint16_t kX87Control = 0x037f;
constexpr uint32_t kMxcsrControl = 0xffc0;  // the rest are sticky exception flags, which are the callee's to set

// Integers and pointers fill six registers, floats and doubles eight; what does not fit goes to the
// stack in the order of the arguments, each in eight bytes.
void Classify(const ring::CallPlan& call, Frame& frame, uint64_t (&stack)[ring::kArguments]) {
  uint32_t integers = 0;
  uint32_t vectors = 0;
  uint32_t spilled = 0;
  const uint32_t count = call.count < ring::kArguments ? call.count : ring::kArguments;
  for (uint32_t i = 0; i < count; ++i) {
    const ring::Argument& argument = call.arguments[i];
    if (argument.kind == ring::ArgumentKind::kInteger) {
      (integers < 6 ? frame.integers[integers++] : stack[spilled++]) = argument.bits;
    } else {
      (vectors < 8 ? frame.vectors[vectors++] : stack[spilled++]) = argument.bits;
    }
  }
  frame.stack = stack;
  frame.stack_count = spilled;
}

void SetControls() {
  const uint32_t mxcsr = kMxcsr;
  const uint16_t control = kX87Control;
  asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(control));
}

// Whether a process may read and write the base itself, as a kernel under examination then can, too.
bool ThreadPointerIsOpen() {
  constexpr unsigned long kFsGsBase = 2;  // HWCAP2_FSGSBASE
  static const bool open = (::getauxval(AT_HWCAP2) & kFsGsBase) != 0;
  return open;
}

}  // namespace

extern "C" void AssayTrampoline(Frame* frame);

void MakeCall(const ring::CallPlan& call, void* function, uint32_t index, ring::Report* report) {
  Frame frame{};
  uint64_t stack[ring::kArguments];
  Classify(call, frame, stack);
  frame.function = function;
  SetControls();
  const bool open = ThreadPointerIsOpen();
  uint64_t before = 0, after = 0;
  if (open) asm volatile("rdfsbase %0" : "=r"(before));
  AssayTrampoline(&frame);
  // First of all: the next access to this thread's own memory would go astray.  Written only where it
  // has to be, since that is the dear half and the call is timed.
  if (open) asm volatile("rdfsbase %0" : "=r"(after));
  if (after != before) asm volatile("wrfsbase %0" : : "r"(before) : "memory");
  report->results[index] = frame.result;
  uint32_t changes = frame.flags;
  if (after != before) changes |= ring::kThreadPointer;
  if ((frame.mxcsr & kMxcsrControl) != (kMxcsr & kMxcsrControl)) changes |= ring::kMxcsrChanged;
  if (frame.x87_control != kX87Control) changes |= ring::kX87Changed;
  if (changes == 0) return;
  SetControls();
  if (report->state.changes == 0) {
    report->state.mxcsr = frame.mxcsr;
    report->state.x87_control = frame.x87_control;
    report->state.first_call = index;
  }
  report->state.changes |= changes;
}

ring::ThreadState TakeThreadState() {
  // The environment as the x87 unit stores it: control, status and tag word, each in four bytes, and pointers.
  uint32_t environment[7];
  uint64_t flags = 0;
  ring::ThreadState state{};
  asm volatile("fnstenv %0\n\tstmxcsr %1\n\tpushfq\n\tpopq %2" : "=m"(environment), "=m"(state.mxcsr), "=r"(flags));
  state.x87_control = static_cast<uint16_t>(environment[0]);
  state.x87_tags = static_cast<uint16_t>(environment[2]);
  state.flags = static_cast<uint32_t>(flags);
  asm volatile("fninit");
  SetControls();
  return state;
}

}  // namespace assay::runner
