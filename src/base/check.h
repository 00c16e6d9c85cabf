// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace assay::internal {

// Prints the broken promise and aborts; never returns.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace assay::internal

// For promises that this program makes to itself, in every build type: a gate whose own
// invariant is broken must stop, not carry on.  Never for user input and never for a candidate.
#define ASSAY_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::assay::internal::CheckFailed(__FILE__, __LINE__, #condition))
