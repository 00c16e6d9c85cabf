// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>

#include "runner/runner.h"

namespace assay::runner {
namespace {

ring::Report* report_page = nullptr;
size_t probe_bytes = 0;

// A fault right after an allocation failed is most often a null that nobody looked at.
bool MemoryExhausted() {
  if (probe_bytes == 0) return false;
  void* probe = ::mmap(nullptr, probe_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return true;
  ::munmap(probe, probe_bytes);
  return false;
}

void OnFault(int signal, siginfo_t* info, void* context) {
  const ucontext_t* state = static_cast<const ucontext_t*>(context);
  const auto& registers = state->uc_mcontext.gregs;
  ring::FaultReport& fault = report_page->fault;
  if (fault.signal == 0) {  // the first fault is the cause, later ones are its consequences
    fault.address = reinterpret_cast<uint64_t>(info->si_addr);
    fault.program_counter = static_cast<uint64_t>(registers[REG_RIP]);
    fault.write = (registers[REG_ERR] & 2) != 0 ? 1 : 0;
    fault.memory_exhausted = (signal == SIGSEGV || signal == SIGABRT) && MemoryExhausted() ? 1 : 0;
    if (signal == SIGSYS) {
      fault.call_valid = 1;
      fault.call_number = info->si_syscall;
      fault.call_arch = info->si_arch;
      const int order[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
      for (int i = 0; i < 6; ++i) fault.call_arguments[i] = static_cast<uint64_t>(registers[order[i]]);
    }
    fault.signal = static_cast<uint32_t>(signal);
  }
  // The handler was reset by its delivery.  A fault repeats by itself on return; abort and a trapped
  // call have to be sent again, and are delivered as soon as this returns.
  if (signal == SIGABRT || signal == SIGSYS) ::syscall(SYS_tgkill, ::getpid(), ::gettid(), signal);
}

}  // namespace

void CatchFaults(ring::Report* report) {
  report_page = report;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) probe_bytes = limit.rlim_cur / 4;
  // A stack of its own, so that an overflow of the main thread's stack can be told.
  alignas(16) static char stack[1 << 15];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS})
    ::sigaction(signal, &action, nullptr);
}

}  // namespace assay::runner
