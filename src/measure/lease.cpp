// SPDX-License-Identifier: Apache-2.0
#include "measure/lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include <fmt/format.h>

namespace assay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// /run/lock is emptied at boot and writable for everybody on Debian; /tmp is the fallback.
std::filesystem::path ClockFile() {
  const std::filesystem::path folder = ::access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp";
  return folder / "assay-clock.lock";
}

std::atomic<int64_t> g_waited_ns = 0;

// Nothing when it is still held at `deadline`.
Result<std::optional<UniqueFd>> Lock(const std::filesystem::path& file, int how, SteadyTime deadline) {
  // Somebody else's file is opened for reading only: flock needs no more, and with O_CREAT a
  // sticky folder's protection would refuse another user's file.
  UniqueFd lock(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock.valid()) lock = UniqueFd(::open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock.valid()) return SystemError(fmt::format("open the clock's lock {}", file.string()), errno);
  for (;;) {
    if (::flock(lock.get(), how | LOCK_NB) == 0) return std::optional<UniqueFd>(std::move(lock));
    if (errno != EWOULDBLOCK && errno != EINTR) return SystemError("lock the clock", errno);
    if (std::chrono::steady_clock::now() >= deadline) return std::optional<UniqueFd>();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// The turnstile is held only until the clock's own lock is.
Result<std::optional<UniqueFd>> Through(const std::filesystem::path& file, int how,
                                        std::chrono::milliseconds patience) {
  const SteadyTime start = std::chrono::steady_clock::now(), deadline = start + patience;
  ASSAY_TRY(const std::optional<UniqueFd> turnstile, Lock(file.string() + ".next", how, deadline));
  auto lock = turnstile ? Lock(file, how, deadline) : Result<std::optional<UniqueFd>>(std::optional<UniqueFd>());
  g_waited_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return lock;
}

}  // namespace

std::chrono::nanoseconds MachineLease::Waited() { return std::chrono::nanoseconds(g_waited_ns.load()); }

Result<std::optional<MachineLease>> MachineLease::Acquire(std::chrono::milliseconds patience) {
  return AcquireAt(ClockFile(), patience);
}

Result<std::optional<MachineLease>> MachineLease::Share(std::chrono::milliseconds patience) {
  return ShareAt(ClockFile(), patience);
}

Result<std::optional<MachineLease>> MachineLease::AcquireAt(const std::filesystem::path& file,
                                                            std::chrono::milliseconds patience) {
  ASSAY_TRY(std::optional<UniqueFd> lock, Through(file, LOCK_EX, patience));
  if (!lock) return std::optional<MachineLease>();
  return std::optional<MachineLease>(MachineLease(file, *std::move(lock)));
}

Result<std::optional<MachineLease>> MachineLease::ShareAt(const std::filesystem::path& file,
                                                          std::chrono::milliseconds patience) {
  ASSAY_TRY(std::optional<UniqueFd> lock, Through(file, LOCK_SH, patience));
  if (!lock) return std::optional<MachineLease>();
  return std::optional<MachineLease>(MachineLease(file, *std::move(lock)));
}

Result<bool> MachineLease::GiveWay(std::chrono::milliseconds patience) {
  {
    // Who waits holds the turnstile.
    ASSAY_TRY(const std::optional<UniqueFd> turnstile,
              Lock(path_.string() + ".next", LOCK_EX, std::chrono::steady_clock::now()));
    if (turnstile) return true;
  }
  file_ = UniqueFd();
  ASSAY_TRY(std::optional<UniqueFd> lock, Through(path_, LOCK_EX, patience));
  if (!lock) return false;
  file_ = *std::move(lock);
  return true;
}

}  // namespace assay
