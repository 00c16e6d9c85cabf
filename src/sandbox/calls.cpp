// SPDX-License-Identifier: Apache-2.0
#include "sandbox/calls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>

namespace assay {
namespace {

struct Word {
  uint64_t value;
  const char* name;
};

constexpr Word kFamilies[] = {{AF_UNIX, "AF_UNIX"},       {AF_INET, "AF_INET"},     {AF_INET6, "AF_INET6"},
                              {AF_NETLINK, "AF_NETLINK"}, {AF_PACKET, "AF_PACKET"}, {AF_VSOCK, "AF_VSOCK"}};
constexpr Word kSocketTypes[] = {{SOCK_STREAM, "SOCK_STREAM"}, {SOCK_DGRAM, "SOCK_DGRAM"}, {SOCK_RAW, "SOCK_RAW"}};
constexpr Word kAdvice[] = {{MADV_REMOVE, "MADV_REMOVE"},
                            {MADV_HUGEPAGE, "MADV_HUGEPAGE"},
                            {MADV_WILLNEED, "MADV_WILLNEED"},
                            {MADV_MERGEABLE, "MADV_MERGEABLE"},
                            {25, "MADV_COLLAPSE"},
                            {MADV_DONTFORK, "MADV_DONTFORK"}};
constexpr Word kProtection[] = {{PROT_EXEC, "PROT_EXEC"},
                                {PROT_READ | PROT_EXEC, "PROT_READ|PROT_EXEC"},
                                {PROT_WRITE | PROT_EXEC, "PROT_WRITE|PROT_EXEC"},
                                {PROT_READ | PROT_WRITE | PROT_EXEC, "PROT_READ|PROT_WRITE|PROT_EXEC"}};

std::string Symbolic(uint64_t value, std::span<const Word> words) {
  for (const Word& word : words) {
    if (word.value == value) return word.name;
  }
  char text[24];
  std::snprintf(text, sizeof(text), value < 4096 ? "%llu" : "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Plain(uint64_t value) { return Symbolic(value, {}); }

}  // namespace

std::string CallName(uint32_t arch, int64_t number) {
  const bool native = arch == AUDIT_ARCH_X86_64 && number < 0x40000000;
  const uint32_t token = native ? SCMP_ARCH_X86_64 : arch == AUDIT_ARCH_X86_64 ? SCMP_ARCH_X32 : SCMP_ARCH_X86;
  const char* prefix = native ? "" : token == SCMP_ARCH_X32 ? "x32 " : "i386 ";
  char* name = ::seccomp_syscall_resolve_num_arch(token, static_cast<int>(number));
  std::string text = prefix + (name != nullptr ? std::string(name) : "call " + std::to_string(number));
  std::free(name);
  return text;
}

std::string DescribeCall(const ForbiddenCall& call) {
  const auto& a = call.arguments;
  std::string text = call.name + "(";
  if (call.name == "socket") {
    text += Symbolic(a[0], kFamilies) + ", " + Symbolic(a[1] & 0xf, kSocketTypes) + ", " + Plain(a[2]);
  } else if (call.name == "madvise") {
    text += Plain(a[0]) + ", " + Plain(a[1]) + ", " + Symbolic(a[2], kAdvice);
  } else if (call.name == "mmap" || call.name == "mprotect") {
    text += Plain(a[0]) + ", " + Plain(a[1]) + ", " + Symbolic(a[2], kProtection);
  } else {
    text += Plain(a[0]) + ", " + Plain(a[1]) + ", " + Plain(a[2]);
  }
  return text + ")";
}

}  // namespace assay
