// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"

namespace assay {

// Ok when a candidate under this policy may ask for the compiler option; the error says why not and
// what is allowed.  A finite list: an option that is not in it is refused, whatever it does.
Status CheckFlag(std::string_view flag, FpPolicy policy);

// What two options must share to be alternatives of one another: "-O" for -O2 and -O3, "-march",
// "-funroll-loops" for it and its -fno- form.
std::string FlagKey(std::string_view flag);

// All of the list that a policy allows, as patterns, for error messages and docs/contract.md.
std::vector<std::string> AllowedFlags(FpPolicy policy);

// "strict", "contract", ...
std::string_view FpPolicyName(FpPolicy policy);

}  // namespace assay
