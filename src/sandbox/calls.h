// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "sandbox/outcome.h"

namespace assay {

// The name of a system call on this or a foreign entry ("i386 fork", "x32 getpid").
std::string CallName(uint32_t arch, int64_t number);

// "socket(AF_INET, SOCK_STREAM, 0)": the arguments that say what was wanted, symbolic where they are.
std::string DescribeCall(const ForbiddenCall& call);

}  // namespace assay
