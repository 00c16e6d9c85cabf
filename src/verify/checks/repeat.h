// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "verify/examination.h"

namespace assay {

// The one call of a case in a fresh process, and what it left in the outputs.
struct FreshRun {
  std::vector<std::byte> outputs;
  std::string regimes;
  std::optional<Rejected> refused;
};
Result<FreshRun> RunFresh(Examination& examination, const Case& c, bool compare);

// The same call in one more process at the same addresses must give these bits: no process is shown
// one content twice, so a repeat inside one would prove nothing.  Silent where the policy asks for none.
Result<std::optional<Rejected>> RepeatsTo(Examination& examination, const Case& c,
                                          const std::vector<std::byte>& outputs);

// The refusal when two runs differ.
Rejected Differs(Examination& examination, const Case& c, const std::string& regimes, const std::vector<std::byte>& one,
                 const std::vector<std::byte>& other, std::string what);

}  // namespace assay
