// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "measure/calibration.h"
#include "measure/calibration_tries.h"
#include "measure/environment.h"
#include "measure/pages.h"
#include "measure/together.h"

namespace assay {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kTries = 20;
constexpr size_t kSmallPages = 2048, kHugePages = 16;
constexpr int kCalls = 2'000;
constexpr int kRounds = 50;
constexpr int kReadings = 20'000;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

long MinorFaults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// Writes one byte in each page; fresh memory for each try.
Result<std::vector<double>> FirstTouches(size_t pages, size_t page_bytes, Pages::Size size, bool& huge) {
  std::vector<double> seconds;
  for (int i = 0; i < kTries; ++i) {
    const Pages memory(pages * page_bytes, size);
    if (memory.bytes() == nullptr) return SystemError("memory for page faults", errno);
    auto* const bytes = reinterpret_cast<volatile char*>(memory.bytes());
    const auto start = SteadyClock::now();
    for (size_t page = 0; page < pages; ++page) bytes[page * page_bytes] = 1;
    seconds.push_back(SecondsSince(start));
    if (size == Pages::Size::kSmall) continue;
    // A neighbour in the same huge page is there already; where it is not, the pages are small ones.
    const long before = MinorFaults();
    for (size_t page = 0; page < pages; ++page) bytes[page * page_bytes + kSmallPage] = 1;
    huge = huge && MinorFaults() - before < static_cast<long>(pages) / 2;
  }
  return seconds;
}

Status AddFaults(Calibration& calibration) {
  const PinScope place({AllowedProcessors()[0]});
  bool huge = true;
  ASSAY_TRY(const std::vector<double> small, FirstTouches(kSmallPages, kSmallPage, Pages::Size::kSmall, huge));
  calibration.overheads.push_back({Overhead::kFault4K, 1, TimeOf(small, kSmallPages)});
  ASSAY_TRY(const std::vector<double> large, FirstTouches(kHugePages, kHugePage, Pages::Size::kHuge, huge));
  if (huge) {
    calibration.overheads.push_back({Overhead::kFault2M, 1, TimeOf(large, kHugePages)});
  } else {
    calibration.notes.emplace_back("no 2 MiB pages here: latency and bandwidth hold page walks too");
  }
  return Ok();
}

[[gnu::noinline]] void Nothing() { asm volatile(""); }

void AddCalls(Calibration& calibration) {
  void (*volatile target)() = Nothing;
  const std::function<void(int)> works[] = {
      [](int) {
        for (int i = 0; i < kCalls; ++i) ::syscall(SYS_getppid);
      },
      [&](int) {
        for (int i = 0; i < 10 * kCalls; ++i) target();
      },
      [](int) {
        for (int i = 0; i < kCalls; ++i) static_cast<void>(SteadyClock::now());
      },
  };
  const auto seconds = TriesTogether(1, kTries, works);
  calibration.overheads.push_back({Overhead::kSystemCall, 1, TimeOf(seconds[0], kCalls)});
  calibration.overheads.push_back({Overhead::kIndirectCall, 1, TimeOf(seconds[1], 10 * kCalls)});
  calibration.overheads.push_back({Overhead::kClockRead, 1, TimeOf(seconds[2], kCalls)});
}

// Steps between readings that differ, and readings that went back.
void AddSteps(Calibration& calibration, int& backwards) {
  std::vector<double> steps;
  auto last = SteadyClock::now();
  for (int i = 0; i < kReadings; ++i) {
    const auto now = SteadyClock::now();
    if (now < last) ++backwards;
    if (now > last) steps.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
  }
  if (!steps.empty()) calibration.overheads.push_back({Overhead::kClockStep, 1, TimeOf(steps, 1)});
}

using Word = std::atomic<uint32_t>;
static_assert(sizeof(Word) == sizeof(uint32_t) && Word::is_always_lock_free);

void SleepWhile(Word& word, uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void WakeAll(Word& word) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

enum class Wait { kSpin, kSleep };

// A team as a parallel region has one, each on a processor of its own; the caller is its first.
class Team {
 public:
  Team(int threads, Wait wait) : wait_(wait), place_({AllowedProcessors()[0]}) {
    for (int number = 1; number < threads; ++number) helpers_.emplace_back([this, number] { Help(number); });
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    ended_.store(true);
    Begin();
    for (std::thread& helper : helpers_) helper.join();
  }

  // One piece of work of everybody, begun and ended.
  void Round(const std::function<void(int)>& work) {
    work_ = &work;
    unfinished_.store(static_cast<uint32_t>(helpers_.size()));
    Begin();
    work(0);
    for (uint32_t left = unfinished_.load(); left != 0; left = unfinished_.load()) Await(unfinished_, left);
  }

 private:
  void Begin() {
    begun_.fetch_add(1);
    if (wait_ == Wait::kSleep) WakeAll(begun_);
  }
  void Await(Word& word, uint32_t value) const {
    if (wait_ == Wait::kSleep) SleepWhile(word, value);
  }
  void Help(int number) {
    const PinScope place({AllowedProcessors()[static_cast<size_t>(number)]});
    for (uint32_t seen = 0;; ++seen) {
      while (begun_.load() == seen) Await(begun_, seen);
      if (ended_.load()) return;
      (*work_)(number);
      if (unfinished_.fetch_sub(1) == 1 && wait_ == Wait::kSleep) WakeAll(unfinished_);
    }
  }

  Wait wait_;
  PinScope place_;
  alignas(64) Word begun_{0};
  alignas(64) Word unfinished_{0};
  std::atomic<bool> ended_{false};
  const std::function<void(int)>* work_ = nullptr;
  std::vector<std::thread> helpers_;
};

BestAndMedian ForkJoin(int threads, Wait wait) {
  Team team(threads, wait);
  const std::function<void(int)> nothing = [](int) { asm volatile(""); };
  for (int i = 0; i < kRounds; ++i) team.Round(nothing);
  std::vector<double> seconds;
  for (int i = 0; i < kTries; ++i) {
    const auto start = SteadyClock::now();
    for (int round = 0; round < kRounds; ++round) team.Round(nothing);
    seconds.push_back(SecondsSince(start));
  }
  return TimeOf(seconds, kRounds);
}

// Readings on other processors lie between those before and after their round.
int BackwardsBetween(int threads) {
  Team team(threads, Wait::kSpin);
  std::vector<SteadyClock::time_point> readings(static_cast<size_t>(threads));
  const std::function<void(int)> read = [&](int number) { readings[static_cast<size_t>(number)] = SteadyClock::now(); };
  int backwards = 0;
  for (int round = 0; round < kRounds * kTries; ++round) {
    const auto before = SteadyClock::now();
    team.Round(read);
    const auto after = SteadyClock::now();
    for (const auto& reading : readings) backwards += reading < before || reading > after ? 1 : 0;
  }
  return backwards;
}

}  // namespace

Status CalibrateOverheads(Calibration& calibration, int& backwards) {
  calibration.overheads.clear();
  backwards = 0;
  ASSAY_TRY_STATUS(AddFaults(calibration));
  AddCalls(calibration);
  AddSteps(calibration, backwards);
  const int threads = calibration.threads;
  if (threads == 1) {
    calibration.notes.emplace_back("one thread: no fork-join and no wake-up");
    return Ok();
  }
  calibration.overheads.push_back({Overhead::kForkJoinSpin, threads, ForkJoin(threads, Wait::kSpin)});
  calibration.overheads.push_back({Overhead::kForkJoinSleep, threads, ForkJoin(threads, Wait::kSleep)});
  calibration.overheads.push_back({Overhead::kWakeUp, 2, ForkJoin(2, Wait::kSleep)});
  backwards += BackwardsBetween(threads);
  return Ok();
}

}  // namespace assay
