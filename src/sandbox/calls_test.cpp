// SPDX-License-Identifier: Apache-2.0
#include "sandbox/calls.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>

namespace assay {
namespace {

TEST(DescribeCall, NamesWhatWasWanted) {
  const struct {
    const char* name;
    uint32_t arch;
    int64_t number;
    std::array<uint64_t, 6> arguments;
    const char* expected;
  } cases[] = {
      {"socket", AUDIT_ARCH_X86_64, SYS_socket, {2, 1 | 02000000, 0}, "socket(AF_INET, SOCK_STREAM, 0)"},
      {"unknown family", AUDIT_ARCH_X86_64, SYS_socket, {99, 7, 0}, "socket(99, 7, 0)"},
      {"madvise", AUDIT_ARCH_X86_64, SYS_madvise, {0x10000, 4096, 14}, "madvise(0x10000, 0x1000, MADV_HUGEPAGE)"},
      {"mprotect", AUDIT_ARCH_X86_64, SYS_mprotect, {0x10000, 1, 5}, "mprotect(0x10000, 1, PROT_READ|PROT_EXEC)"},
      {"32-bit entry", AUDIT_ARCH_I386, 2, {}, "i386 fork(0, 0, 0)"},
      {"x32 entry", AUDIT_ARCH_X86_64, 0x40000000 | 39, {}, "x32 getpid(0, 0, 0)"},
      {"no such call", AUDIT_ARCH_X86_64, 5555, {1}, "call 5555(1, 0, 0)"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DescribeCall({c.number, CallName(c.arch, c.number), c.arguments}), c.expected);
  }
}

TEST(Describe, NamesEveryEnding) {
  const struct {
    Outcome outcome;
    const char* expected;
  } cases[] = {
      {Exited{0}, "exited with code 0"},
      {Signaled{11, {}}, "killed by SIGSEGV"},
      {Signaled{11, FaultFacts{0x10, 0x20, true}}, "killed by SIGSEGV (store to 0x10, program counter 0x20)"},
      {TimedOut{std::chrono::milliseconds(5)}, "not finished within 5 ms"},
      {ForbiddenCall{41, "socket", {2, 2, 0}}, "forbidden call socket(AF_INET, SOCK_DGRAM, 0)"},
      {OutOfMemory{1 << 30}, "out of memory (limit 1024 MiB)"},
  };
  for (const auto& c : cases) EXPECT_EQ(Describe(c.outcome), c.expected);
}

}  // namespace
}  // namespace assay
