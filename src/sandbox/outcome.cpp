// SPDX-License-Identifier: Apache-2.0
#include "sandbox/outcome.h"

#include <string.h>

#include <cstdio>
#include <type_traits>

#include "sandbox/calls.h"

namespace assay {
namespace {

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Signal(const Signaled& end) {
  const char* name = ::sigabbrev_np(end.signal);
  std::string text =
      "killed by " + (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(end.signal));
  if (!end.fault) return text;
  return text + " (" + (end.fault->write ? "store to " : "at address ") + Hex(end.fault->address) +
         ", program counter " + Hex(end.fault->program_counter) + ")";
}

}  // namespace

std::string Describe(const Outcome& outcome) {
  return std::visit(
      [](const auto& end) -> std::string {
        using End = std::decay_t<decltype(end)>;
        if constexpr (std::is_same_v<End, Exited>) return "exited with code " + std::to_string(end.code);
        if constexpr (std::is_same_v<End, Signaled>) return Signal(end);
        if constexpr (std::is_same_v<End, TimedOut>)
          return "not finished within " + std::to_string(end.limit.count()) + " ms";
        if constexpr (std::is_same_v<End, ForbiddenCall>) return "forbidden call " + DescribeCall(end);
        if constexpr (std::is_same_v<End, OutOfMemory>) {
          return "out of memory (limit " + std::to_string(end.limit_bytes >> 20) + " MiB)";
        }
      },
      outcome);
}

}  // namespace assay
