// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "engine/tools.h"

namespace assay {

// Every stage goes through here: the interrupt check, the watcher's line and the seconds are
// written once.  `work` returns a Result; its time, less what it waited for other programs, is
// added to `seconds` whatever its end.
template <typename Work>
auto RunStage(const Tools& tools, const Campaign& campaign, const char* stage, const std::string& what, double& seconds,
              Work&& work) -> decltype(work()) {
  if (tools.interrupted.load()) return Error{ErrorCode::kInterrupted, "interrupted before " + std::string(stage)};
  tools.progress.Entered(campaign, stage, what);
  const auto worked = [&tools] {
    const auto now = tools.clock.Now();
    return now - tools.clock.Waited();
  };
  const auto start = worked();
  auto result = std::forward<Work>(work)();
  seconds += std::chrono::duration<double>(worked() - start).count();
  return result;
}

}  // namespace assay
