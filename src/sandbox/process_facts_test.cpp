// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>

#include "sandbox/session.h"
#include "sandbox/test_support.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::CompileShared;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What one body changes in a process of its own, as the parent sees it.
std::vector<std::string> Changes(const std::function<void()>& body) {
  int go[2], done[2];
  if (::pipe(go) != 0 || ::pipe(done) != 0) return {"pipe"};
  const pid_t pid = ::fork();
  char byte = 0;
  if (pid == 0) {
    (void)!::read(go[0], &byte, 1);
    body();
    (void)!::write(done[1], &byte, 1);
    for (;;) ::pause();
  }
  const ProcessFacts before = ReadProcessFacts(pid);
  (void)!::write(go[1], &byte, 1);
  (void)!::read(done[0], &byte, 1);
  const auto changes = ChangesBetween(before, ReadProcessFacts(pid), false);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  for (const int fd : {go[0], go[1], done[0], done[1]}) ::close(fd);
  return changes.value_or(std::vector<std::string>{"unreadable"});
}

TEST(ProcessFacts, TellWhatChanged) {
  EXPECT_THAT(Changes([] {}), IsEmpty());
  EXPECT_THAT(Changes([] {
                void* more = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                *static_cast<volatile char*>(more) = 1;
              }),
              IsEmpty());
  EXPECT_THAT(Changes([] { ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }),
              ElementsAre(HasSubstr("a new executable mapping")));
  EXPECT_THAT(Changes([] { ::signal(SIGUSR1, SIG_IGN); }), ElementsAre(HasSubstr("ignored signals")));
  EXPECT_THAT(Changes([] { ::signal(SIGUSR1, [](int) {}); }), ElementsAre(HasSubstr("signal handlers")));
  EXPECT_THAT(Changes([] {
                sigset_t all;
                ::sigfillset(&all);
                ::sigprocmask(SIG_BLOCK, &all, nullptr);
              }),
              ElementsAre(HasSubstr("a thread's blocked signals")));
  EXPECT_THAT(Changes([] { ::pthread_setname_np(::pthread_self(), "other"); }),
              ElementsAre("a thread was renamed to other"));
  // The library also installs handlers of its own with the first thread of a process; the runner has them by then.
  EXPECT_THAT(Changes([] {
                pthread_t thread;
                ::pthread_create(
                    &thread, nullptr, [](void*) -> void* { return (::pause(), nullptr); }, nullptr);
              }),
              Contains("1 threads became 2"));
  EXPECT_FALSE(ChangesBetween({}, ReadProcessFacts(::getpid()), false).has_value());
}

std::optional<Session> Start(const std::string& source, int threads) {
  testing::Workshop();
  SessionSpec spec;
  spec.artifact = CompileShared(source);
  spec.symbols = {"entry"};
  spec.threads = threads;
  auto started = Session::Start(spec);
  if (!started.ok() || !std::holds_alternative<Session>(started.value())) {
    ADD_FAILURE() << "no session";
    return std::nullopt;
  }
  return std::get<Session>(std::move(started).value());
}

// After one call of `body` by the threads that `who` names.
MachineState StateAfter(const std::string& body, int threads) {
  auto session = Start("#include <omp.h>\n#include <stdint.h>\nvoid entry(void) { " + body + " }", threads);
  if (!session) return {};
  const Call call{0, {}};
  const auto ran = session->Run(std::span(&call, 1), 10s, WaitMode::kSleep);
  EXPECT_TRUE(ran.ok() && std::holds_alternative<Completed>(ran.value()));
  EXPECT_TRUE(std::get<Completed>(ran.value()).state.clean());
  EXPECT_THAT(session->ChangesSinceStart().value_or(std::vector<std::string>{"unreadable"}), IsEmpty());
  const auto looked = session->Inspect(10s);
  EXPECT_TRUE(looked.ok() && std::holds_alternative<Completed>(looked.value()));
  return std::get<Completed>(looked.value()).state;
}

constexpr const char* kInWorkers = R"(
  #pragma omp parallel
  if (omp_get_thread_num() == 1) )";

TEST(Inspect, SeesEveryThreadOfTheTeam) {
  EXPECT_TRUE(StateAfter("", 2).clean());
  const MachineState flush =
      StateAfter(std::string(kInWorkers) + "{ uint32_t v = 0x9fc0; asm volatile(\"ldmxcsr %0\" : : \"m\"(v)); }", 2);
  EXPECT_TRUE(flush.mxcsr_changed);
  EXPECT_EQ(flush.thread, 1);
  EXPECT_EQ(flush.mxcsr & 0xffc0U, 0x9fc0U);
  const MachineState control =
      StateAfter(std::string(kInWorkers) + "{ uint16_t v = 0x27f; asm volatile(\"fldcw %0\" : : \"m\"(v)); }", 2);
  EXPECT_TRUE(control.x87_changed);
  EXPECT_EQ(control.thread, 1);
  const MachineState direction = StateAfter(std::string(kInWorkers) + "asm volatile(\"std\");", 2);
  EXPECT_EQ(direction.thread, direction.direction_flag ? 1 : -1);
  // On the caller's own thread: what the trampoline does not look at.
  const MachineState stack = StateAfter("asm volatile(\"fld1\");", 1);
  EXPECT_TRUE(stack.x87_stack);
  EXPECT_EQ(stack.thread, 0);
  EXPECT_TRUE(StateAfter("asm volatile(\"fld1\\n\\tfstp %st(0)\");", 1).clean());
  EXPECT_TRUE(StateAfter("asm volatile(\"movd %%eax, %%mm0\" : : );", 1).x87_stack);
  EXPECT_TRUE(StateAfter("asm volatile(\"movd %%eax, %%mm0\\n\\temms\" : : );", 1).clean());
}

TEST(Inspect, LeavesThingsAsTheConventionSays) {
  auto session = Start("void entry(void) { asm volatile(\"fld1\"); }", 1);
  ASSERT_TRUE(session);
  const Call call{0, {}};
  ASSERT_TRUE(session->Run(std::span(&call, 1), 10s, WaitMode::kSleep).ok());
  const auto first = session->Inspect(10s);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(std::get<Completed>(first.value()).state.clean());
  const auto second = session->Inspect(10s);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(std::get<Completed>(second.value()).state.clean());
}

TEST(Trampoline, NotesTheThreadPointerAndTakesItBack) {
  if ((::getauxval(AT_HWCAP2) & 2) == 0)
    GTEST_SKIP() << "here only the kernel moves it, and the call filter refuses that";
  auto session = Start("void entry(void) { asm volatile(\"wrfsbase %0\" : : \"r\"(0UL) : \"memory\"); }", 1);
  ASSERT_TRUE(session);
  const Call call{0, {}};
  for (int i = 0; i < 2; ++i) {
    const auto ran = session->Run(std::span(&call, 1), 10s, WaitMode::kSleep);
    ASSERT_TRUE(ran.ok());
    ASSERT_TRUE(std::holds_alternative<Completed>(ran.value()));
    EXPECT_TRUE(std::get<Completed>(ran.value()).state.thread_pointer);
    EXPECT_FALSE(std::get<Completed>(ran.value()).state.clean());
  }
}

TEST(Trampoline, NotesTheAlignmentFlagAndTakesItBack) {
  auto session = Start(R"(void entry(void) {
    asm volatile("pushfq\n\torq $0x40000, (%%rsp)\n\tpopfq" : : : "memory", "cc"); })",
                       1);
  ASSERT_TRUE(session);
  const Call call{0, {}};
  for (int i = 0; i < 2; ++i) {
    const auto ran = session->Run(std::span(&call, 1), 10s, WaitMode::kSleep);
    ASSERT_TRUE(ran.ok());
    ASSERT_TRUE(std::holds_alternative<Completed>(ran.value()));
    EXPECT_TRUE(std::get<Completed>(ran.value()).state.alignment_check);
  }
  EXPECT_THAT(session->ChangesSinceStart().value_or(std::vector<std::string>{"unreadable"}), IsEmpty());
}

}  // namespace
}  // namespace assay
