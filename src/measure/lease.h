// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace assay {

// Who may use the processors: one campaign that times, alone; else any number that build or check.  Locks on two files
// that everybody can open: the clock's, and a turnstile that whoever waits for the clock closes behind it, so that the
// builds of others cannot keep it waiting for ever.
class MachineLease {
 public:
  // To time.  Waits at most `patience`; nothing when somebody else still holds it then.
  static Result<std::optional<MachineLease>> Acquire(std::chrono::milliseconds patience);
  // To build or to check beside others that do so, while nobody times.
  static Result<std::optional<MachineLease>> Share(std::chrono::milliseconds patience);
  // The same on a file of the caller's choice; the turnstile lies beside it.
  static Result<std::optional<MachineLease>> AcquireAt(const std::filesystem::path& file,
                                                       std::chrono::milliseconds patience);
  static Result<std::optional<MachineLease>> ShareAt(const std::filesystem::path& file,
                                                     std::chrono::milliseconds patience);
  // Between two groups of one decision: whoever waits has a turn, and then it is ours again; at once when nobody waits.
  // False when it could not be had again within `patience`: it is nobody's then.
  Result<bool> GiveWay(std::chrono::milliseconds patience);
  // What this process has spent on waiting, in all its threads.
  static std::chrono::nanoseconds Waited();
  MachineLease(MachineLease&&) noexcept = default;
  MachineLease& operator=(MachineLease&&) noexcept = default;

 private:
  MachineLease(std::filesystem::path path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::filesystem::path path_;
  UniqueFd file_;  // closing it releases the lock, even when the process is killed
};

}  // namespace assay
