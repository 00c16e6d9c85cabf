// SPDX-License-Identifier: Apache-2.0
#include "sandbox/session.h"

#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "sandbox/session_state.h"

namespace assay {

uint64_t PoisonPattern(uint64_t draw) {
  // 0x7ffX or 0xfffX with X not zero in every 16 bits: a NaN of bf16, f16, f32 and f64, and its high
  // byte a NaN of e4m3.
  uint64_t pattern = 0;
  for (int word = 0; word < 4; ++word) {
    const uint64_t bits = draw >> (16 * word);
    pattern |= (uint64_t{0x7ff0} | (bits % 15 + 1) | (bits & 0x8000)) << (16 * word);
  }
  return pattern;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::span<std::byte> Session::Input(int buffer, int slot) {
  ASSAY_CHECK(stopped());
  const Buffer& chosen = state_->buffers.at(static_cast<size_t>(buffer));
  ASSAY_CHECK(chosen.spec().access == Access::kInput || chosen.spec().access == Access::kInOut);
  ASSAY_CHECK(!chosen.spec().borrowed);
  return chosen.Payload(slot);
}

std::span<const std::byte> Session::Output(int buffer, int slot) const {
  return state_->buffers.at(static_cast<size_t>(buffer)).Payload(slot);
}

Result<std::shared_ptr<const LentPages>> Session::Lend(int buffer) const {
  return state_->buffers.at(static_cast<size_t>(buffer)).Lend();
}

uint64_t Session::Address(int buffer, int slot) const { return state_->SlotAddress(buffer, slot); }

void Session::Poison(int buffer, int slot, uint64_t pattern) {
  ASSAY_CHECK(stopped());
  Buffer& chosen = state_->buffers.at(static_cast<size_t>(buffer));
  chosen.Poison(slot, pattern, chosen.writable_inside());
}

std::optional<GuardHit> Session::CheckGuards(int buffer, int slot) const {
  return state_->buffers.at(static_cast<size_t>(buffer)).CheckGuards(slot);
}

bool Session::StillPoison(int buffer, int slot, size_t offset, size_t bytes) const {
  return state_->buffers.at(static_cast<size_t>(buffer)).StillPoison(slot, offset, bytes);
}

bool Session::stopped() const { return state_->stopped; }
pid_t Session::pid() const { return state_->process->job(); }
const Walls& Session::walls() const { return state_->process->walls(); }
const SessionSpec& Session::spec() const { return state_->spec; }
std::string Session::Printed() const { return state_->Printed(); }

std::optional<Ended> Session::CheckAlive() {
  if (!state_->process->alive())
    return Ended{Signaled{SIGKILL, std::nullopt}, "ended before", std::nullopt, -1, Printed()};
  const auto ending = state_->process->Poll();
  if (!ending.ok() || !ending.value()) return std::nullopt;
  return state_->Explain(*ending.value());
}

long WakeFutex(const std::atomic<uint32_t>* word) {
  return ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

int64_t MonotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int64_t ProcessCpuNs(pid_t pid) {
  // The kernel's number of another process's clock: CPUCLOCK_SCHED of the whole process.
  const clockid_t clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2U);
  timespec used{};
  if (::clock_gettime(clock, &used) != 0) return 0;
  return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

uint64_t Session::State::SlotAddress(int buffer, int slot) const {
  const Buffer& chosen = buffers.at(static_cast<size_t>(buffer));
  ASSAY_CHECK(slot >= 0 && static_cast<size_t>(slot) < chosen.spec().slots);
  // One guard page between two slots.
  return addresses[static_cast<size_t>(buffer)] + static_cast<uint64_t>(slot) * (chosen.slot_bytes() + 4096) +
         chosen.payload_offset();
}

void Session::State::TakeMessages() {
  for (int i = 0; i < 16; ++i) {
    const auto message = process->TakeReport();
    if (!message) return;
    if (message->refusal == jail::Refusal::kNone) {
      process->walls().notification = true;
    } else if (!refusal) {
      refusal = message;
    }
  }
}

std::string Session::State::Printed() const {
  std::string text(static_cast<size_t>(std::max<uint64_t>(spec.limits.output, 1)), '\0');
  const ssize_t got = ::pread(output_fd.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  const size_t last = text.find_last_not_of('\0');
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

int Session::State::ThreadsNow() const {
  struct stat info {};
  // A task folder has a link per thread besides its own two.
  if (::fstat(tasks_fd.get(), &info) != 0 || info.st_nlink < 2) return 0;
  return static_cast<int>(info.st_nlink) - 2;
}

}  // namespace assay
