// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "sandbox/report.h"
#include "sandbox/session_state.h"

namespace assay {
namespace {

// While asleep: how long at most until we look whether anything else has happened.
constexpr int64_t kSliceNs = 100'000'000;

Result<ring::Argument> Translate(const Session::State& state, const CallArgument& argument) {
  using ring::ArgumentKind;
  return std::visit(
      [&state](const auto& value) -> Result<ring::Argument> {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, PointerArgument>) {
          if (value.buffer < 0 || static_cast<size_t>(value.buffer) >= state.buffers.size() || value.slot < 0 ||
              static_cast<size_t>(value.slot) >= state.buffers[static_cast<size_t>(value.buffer)].spec().slots ||
              value.offset > state.buffers[static_cast<size_t>(value.buffer)].spec().bytes) {
            return Error{ErrorCode::kInvalidInput, "a call's pointer names no byte of a buffer"};
          }
          return ring::Argument{ArgumentKind::kInteger, 0, state.SlotAddress(value.buffer, value.slot) + value.offset};
        } else if constexpr (std::is_same_v<Value, NullArgument>) {
          return ring::Argument{ArgumentKind::kInteger, 0, 0};
        } else if constexpr (std::is_same_v<Value, IntegerArgument>) {
          return ring::Argument{ArgumentKind::kInteger, 0, value.bits};
        } else if constexpr (std::is_same_v<Value, FloatArgument>) {
          return ring::Argument{ArgumentKind::kFloat, 0, std::bit_cast<uint32_t>(value.value)};
        } else {
          return ring::Argument{ArgumentKind::kDouble, 0, std::bit_cast<uint64_t>(value.value)};
        }
      },
      argument);
}

Status WriteCalls(Session::State& state, std::span<const Call> calls) {
  if (calls.size() > ring::kCalls) return Error{ErrorCode::kInvalidInput, "too many calls in a unit"};
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (call.symbol < 0 || static_cast<size_t>(call.symbol) >= state.spec.symbols.size() ||
        call.arguments.size() > ring::kArguments) {
      return Error{ErrorCode::kInvalidInput, "a call's symbol or number of arguments"};
    }
    ring::CallPlan& plan = state.plan->calls[i];
    plan.symbol = static_cast<uint32_t>(call.symbol);
    plan.count = static_cast<uint32_t>(call.arguments.size());
    for (size_t k = 0; k < call.arguments.size(); ++k) {
      ASSAY_TRY(plan.arguments[k], Translate(state, call.arguments[k]));
    }
  }
  state.plan->call_count = static_cast<uint32_t>(calls.size());
  return Ok();
}

// What looks like a hang from outside may have a cause that has a name of its own.
std::optional<Ended> NameTheCause(Session::State& state) {
  const std::string folder = "/proc/" + std::to_string(state.process->job());
  const std::optional<Outcome> cause = [&]() -> std::optional<Outcome> {
    if (ReadProcFile(folder + "/stat").find(") Z ") != std::string::npos) return Exited{0};
    unsigned long long pages = 0;
    if (std::sscanf(ReadProcFile(folder + "/statm").c_str(), "%llu", &pages) != 1) return std::nullopt;
    const uint64_t limit = state.spec.limits.address_space + state.plan->start.reserve_bytes;
    if (pages * 4096 < limit / 20 * 19) return std::nullopt;
    return OutOfMemory{state.spec.limits.address_space};
  }();
  if (!cause) return std::nullopt;
  state.process->Bury();
  const bool left = std::holds_alternative<Exited>(*cause);
  return Ended{*cause, left ? "the main thread ended" : Describe(*cause), std::nullopt, -1, state.Printed()};
}

UnitOutcome ExplainHang(Session::State& state, std::chrono::nanoseconds limit) {
  Hung hung{limit, SampleThreads(state), ""};
  state.stopped = false;
  if (auto cause = NameTheCause(state)) return *std::move(cause);
  hung.evidence = "call " + std::to_string(std::max(CallUnderWay(*state.report), 0)) +
                  " of the unit did not return within " +
                  std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()) + " ms";
  state.process->Bury();
  return hung;
}

// On a machine that is shared a call may take several times as long, and that is no hang: it has not had the processor
// time that the limit means.  Who waits for ever uses next to none, and is not waited for.
constexpr int kSharedFactor = 5;
bool Starved(const Session::State& state, std::chrono::nanoseconds limit) {
  const int64_t used = ProcessCpuNs(state.process->job()) - state.cpu_ns;
  return used > limit.count() / 10 && used < limit.count() * std::max(state.spec.threads, 1);
}

}  // namespace

bool Session::State::AwaitDone(uint32_t before, std::chrono::nanoseconds limit, WaitMode mode, int& wakes) const {
  const int64_t deadline = MonotonicNs() + limit.count();
  for (uint32_t round = 0;; ++round) {
    // The one word that is believed, and only that somebody wrote it.
    if (report->done.load(std::memory_order_acquire) != before) {
      wakes = std::max(wakes, 1);
      return true;
    }
    if (mode == WaitMode::kSpin) {
      _mm_pause();
      if (round % 64 == 0 && MonotonicNs() >= deadline) return false;
      continue;
    }
    const int64_t left = deadline - MonotonicNs();
    if (left <= 0) return false;
    const int64_t slice = std::min(left, kSliceNs);
    const timespec wait{slice / 1'000'000'000, slice % 1'000'000'000};
    if (::syscall(SYS_futex, &report->done, FUTEX_WAIT, before, &wait, nullptr, 0) == 0) ++wakes;
  }
}

// Woken together after a stop, two threads often land on one core and share it for milliseconds
// before the scheduler moves one: then the same unit takes three times as long, at random.
void Session::State::PinTeam() {
  const std::vector<int>& cpus = spec.cpus;
  if (cpus.empty()) return;
  const std::vector<int> threads = ThreadsOf(process->job());
  if (threads == pinned) return;
  for (size_t i = 0; i < threads.size(); ++i) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const bool of_team = i < static_cast<size_t>(spec.threads);
    for (size_t k = 0; k < cpus.size(); ++k) {
      if (!of_team || k == i % cpus.size()) CPU_SET(static_cast<size_t>(cpus[k]), &set);
    }
    // A thread that has ended meanwhile needs no processor.
    static_cast<void>(::sched_setaffinity(threads[i], sizeof(set), &set));
  }
  pinned = threads;
}

Result<UnitOutcome> Session::Run(std::span<const Call> calls, std::chrono::nanoseconds limit, WaitMode mode) {
  State& state = *state_;
  if (!state.stopped) return Error{ErrorCode::kUnavailable, "the session has ended"};
  ASSAY_TRY_STATUS(WriteCalls(state, calls));
  const uint32_t before = state.report->done.load(std::memory_order_acquire);
  if (++state.sequence == ring::kDead) state.sequence = 1;
  state.plan->sequence.store(state.sequence, std::memory_order_release);
  state.PinTeam();
  state.stopped = false;
  UnitTiming timing;

  const int64_t begin = MonotonicNs();
  state.process->Continue();
  // A stopped thread has left the futex and looks at the word again by itself; this is for one that
  // was stopped on its way there and costs nothing else.
  WakeFutex(&state.plan->sequence);
  std::chrono::nanoseconds patience = limit;
  bool woken = state.AwaitDone(before, limit, mode, timing.wakes);
  while (!woken && patience < kSharedFactor * limit && Starved(state, limit)) {
    woken = state.AwaitDone(before, limit / 4, mode, timing.wakes);
    patience += limit / 4;
  }
  if (!woken) return ExplainHang(state, patience);
  ASSAY_TRY(const std::optional<Ending> ending, state.process->Stop(mode == WaitMode::kSpin));
  const int64_t end = MonotonicNs();

  if (ending) return UnitOutcome(state.Explain(*ending));
  state.stopped = true;
  const int64_t cpu = ProcessCpuNs(state.process->job());
  timing.wall_ns = end - begin;
  timing.cpu_ns = cpu - std::exchange(state.cpu_ns, cpu);
  Completed completed = ReadCompleted(*state.report, calls.size(), timing);
  completed.threads_seen = state.ThreadsNow();
  return UnitOutcome(std::move(completed));
}

Result<UnitOutcome> Session::Inspect(std::chrono::nanoseconds limit) {
  state_->plan->inspect = 1;
  auto outcome = Run({}, limit, WaitMode::kSleep);
  state_->plan->inspect = 0;
  if (!outcome.ok()) return outcome;
  if (auto* completed = std::get_if<Completed>(&outcome.value()))
    JudgeTeam(*state_->report, state_->spec.threads, completed->state);
  return outcome;
}

std::optional<std::vector<std::string>> Session::ChangesSinceStart() const {
  if (!state_->stopped) return std::nullopt;
  return ChangesBetween(state_->facts, ReadProcessFacts(state_->process->job()), !state_->spec.cpus.empty());
}

Result<int64_t> NullUnit(Session& session, int repeats, WaitMode mode) {
  std::vector<int64_t> times;
  for (int i = 0; i < std::max(repeats, 1); ++i) {
    ASSAY_TRY(const UnitOutcome outcome, session.Run({}, std::chrono::seconds(5), mode));
    const auto* completed = std::get_if<Completed>(&outcome);
    if (completed == nullptr) return Error{ErrorCode::kUnavailable, "the session ended in a null unit"};
    times.push_back(completed->timing.wall_ns);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace assay
