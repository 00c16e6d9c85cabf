// SPDX-License-Identifier: Apache-2.0
//
// A call that has to share its processor takes longer, and is no hang.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "sandbox/session.h"
#include "sandbox/test_support.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

// Processes that do nothing but use one processor, while they live.
class Hogs {
 public:
  Hogs(int count, int cpu) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<size_t>(cpu), &set);
        ::sched_setaffinity(0, sizeof set, &set);
        for (volatile uint64_t busy = 0;;) busy = busy + 1;
      }
      children_.push_back(child);
    }
  }
  ~Hogs() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> children_;
};

TEST(Patience, IsOfProcessorTimeWhereTheProcessorIsShared) {
  const auto object = testing::CompileShared("void turn(long n) { for (volatile long i = 0; i < n; i = i + 1) {} }");
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<size_t>(cpu), &allowed)) ++cpu;
  SessionSpec spec;
  spec.artifact = object;
  spec.symbols = {"turn"};
  spec.cpus = {cpu};
  const auto run = [&](int64_t loops, std::chrono::nanoseconds limit) -> std::optional<UnitOutcome> {
    auto started = Session::Start(spec);
    if (!started.ok() || !std::holds_alternative<Session>(started.value())) return std::nullopt;
    const std::vector<Call> calls = {{0, {IntegerArgument{static_cast<uint64_t>(loops)}}}};
    auto outcome = std::get<Session>(started.value()).Run(calls, limit, WaitMode::kSleep);
    if (!outcome.ok()) return std::nullopt;
    return std::move(outcome).value();
  };
  constexpr int64_t kLoops = 20'000'000;
  int64_t fastest = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const auto outcome = run(kLoops, 10s);
    ASSERT_TRUE(outcome && std::holds_alternative<Completed>(*outcome));
    fastest = std::min(fastest, std::get<Completed>(*outcome).timing.wall_ns);
  }
  // Half of the limit by itself; a quarter of the processor makes it twice the limit.
  const std::chrono::nanoseconds limit(2 * fastest);
  {
    const Hogs three(3, cpu);
    const auto shared = run(kLoops, limit);
    ASSERT_TRUE(shared.has_value());
    EXPECT_TRUE(std::holds_alternative<Completed>(*shared)) << "it had not had the time that the limit means";
  }
  const auto endless = run(1000 * kLoops, limit);
  ASSERT_TRUE(endless.has_value());
  EXPECT_TRUE(std::holds_alternative<Hung>(*endless));
}

}  // namespace
}  // namespace assay
