// SPDX-License-Identifier: Apache-2.0
#include "sandbox/session.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <iterator>
#include <set>

#include "sandbox/test_support.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::CompileShared;

// A session or a failed test.
std::optional<Session> StartOrFail(const SessionSpec& spec) {
  auto started = Session::Start(spec);
  if (!started.ok()) {
    ADD_FAILURE() << started.error().message;
    return std::nullopt;
  }
  if (const auto* failed = std::get_if<LoadFailed>(&started.value())) {
    ADD_FAILURE() << failed->text;
    return std::nullopt;
  }
  if (const auto* ended = std::get_if<Ended>(&started.value())) {
    ADD_FAILURE() << ended->evidence;
    return std::nullopt;
  }
  return std::get<Session>(std::move(started).value());
}

Completed RunOrFail(Session& session, const std::vector<Call>& calls, WaitMode mode = WaitMode::kSleep) {
  const auto outcome = session.Run(calls, 10s, mode);
  if (!outcome.ok()) {
    ADD_FAILURE() << outcome.error().message;
    return {};
  }
  if (const auto* ended = std::get_if<Ended>(&outcome.value())) ADD_FAILURE() << ended->evidence;
  if (const auto* hung = std::get_if<Hung>(&outcome.value())) ADD_FAILURE() << hung->evidence;
  const auto* completed = std::get_if<Completed>(&outcome.value());
  return completed == nullptr ? Completed{} : *completed;
}

SessionSpec SpecOf(const std::filesystem::path& artifact, std::vector<std::string> symbols,
                   std::vector<BufferSpec> buffers) {
  SessionSpec spec;
  spec.artifact = artifact;
  spec.symbols = std::move(symbols);
  spec.buffers = std::move(buffers);
  return spec;
}

template <typename T>
T At(std::span<const std::byte> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

TEST(Session, CallsByTheSystemVConvention) {
  testing::Workshop();
  const auto object = CompileShared(R"(
    void ten_integers(double* out, long a, long b, long c, long d, long e, long f, long g, long h, long i) {
      long v[] = {a, b, c, d, e, f, g, h, i};
      for (int k = 0; k < 9; k++) out[k] = v[k];
    }
    void ten_floats(double* out, float a, float b, float c, float d, float e, float f, float g, float h, float i, float j) {
      float v[] = {a, b, c, d, e, f, g, h, i, j};
      for (int k = 0; k < 10; k++) out[k] = v[k];
    }
    void mixed(double* out, double a, int b, float c, long d, double e, short f, float g, long h, double i, long j, float k,
               double l, double m, unsigned char n, float o, double p) {
      double v[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p};
      for (int q = 0; q < 16; q++) out[q] = v[q];
    }
    long answer(void) { return -42; })");
  auto session = StartOrFail(
      SpecOf(object, {"ten_integers", "ten_floats", "mixed", "answer"}, {{"out", 16 * 8, Access::kOutput, 64, 3}}));
  ASSERT_TRUE(session);
  const auto integer = [](int64_t value) { return CallArgument(IntegerArgument{static_cast<uint64_t>(value)}); };
  const auto single = [](float value) { return CallArgument(FloatArgument{value}); };
  const auto real = [](double value) { return CallArgument(DoubleArgument{value}); };
  Call integers{0, {PointerArgument{0, 0}}};
  for (int i = 0; i < 9; ++i) integers.arguments.push_back(integer(-i - 1));
  Call floats{1, {PointerArgument{0, 1}}};
  for (int i = 0; i < 10; ++i) floats.arguments.push_back(single(static_cast<float>(i) + 0.5F));
  const Call mixed{
      2,
      {PointerArgument{0, 2}, real(0), integer(1), single(2), integer(3), real(4), integer(5), single(6), integer(7),
       real(8), integer(9), single(10), real(11), real(12), integer(13), single(14), real(15)}};
  const Completed completed = RunOrFail(*session, {integers, floats, mixed, Call{3, {}}});
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(At<double>(session->Output(0, 0), i), -static_cast<double>(i) - 1);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(At<double>(session->Output(0, 1), i), static_cast<double>(i) + 0.5);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(At<double>(session->Output(0, 2), i), static_cast<double>(i));
  ASSERT_EQ(completed.integer_results.size(), 4U);
  EXPECT_EQ(static_cast<int64_t>(completed.integer_results[3]), -42);
  EXPECT_TRUE(completed.state.clean());
}

TEST(Session, RenewsInputsAndKeepsSlotsApart) {
  const auto object = CompileShared(R"(
    void twice(const float* in, float* out, long n) {
      #pragma omp parallel for
      for (long i = 0; i < n; i++) out[i] = 2 * in[i];
    })");
  SessionSpec spec =
      SpecOf(object, {"twice"}, {{"in", 400, Access::kInput, 64, 2}, {"out", 400, Access::kOutput, 64, 3}});
  spec.threads = 2;
  auto session = StartOrFail(spec);
  ASSERT_TRUE(session);
  for (int round = 1; round <= 3; ++round) {
    for (int slot = 0; slot < 2; ++slot) {
      for (size_t i = 0; i < 100; ++i) {
        const float value = static_cast<float>(round * 1000 + slot * 100) + static_cast<float>(i);
        std::memcpy(session->Input(0, slot).data() + i * 4, &value, 4);
      }
    }
    for (int slot = 0; slot < 3; ++slot)
      session->Poison(1, slot, PoisonPattern(static_cast<uint64_t>(round * 10 + slot)));
    std::vector<Call> calls;
    for (int slot = 0; slot < 2; ++slot)
      calls.push_back({0, {PointerArgument{0, slot}, PointerArgument{1, slot}, IntegerArgument{99}}});
    const Completed completed = RunOrFail(*session, calls, round == 3 ? WaitMode::kSpin : WaitMode::kSleep);
    EXPECT_GT(completed.timing.wall_ns, 0);
    EXPECT_GT(completed.timing.cpu_ns, 0);
    EXPECT_EQ(completed.threads_seen, 2);
    for (int slot = 0; slot < 2; ++slot) {
      EXPECT_EQ(At<float>(session->Output(1, slot), 98), 2 * (static_cast<float>(round * 1000 + slot * 100) + 98));
      EXPECT_TRUE(session->StillPoison(1, slot, 396, 4)) << "the element that was not asked for";
      EXPECT_FALSE(session->StillPoison(1, slot, 392, 4));
      EXPECT_FALSE(session->CheckGuards(1, slot));
      EXPECT_FALSE(session->CheckGuards(0, slot));
    }
    EXPECT_TRUE(session->StillPoison(1, 2, 0, 400)) << "the decoy";
    EXPECT_TRUE(session->stopped());
  }
}

TEST(Session, GivesEachThreadOfTheTeamAProcessorOfItsOwn) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::vector<int> cpus;
  for (int i = 0; i < CPU_SETSIZE && cpus.size() < 2; ++i) {
    if (CPU_ISSET(static_cast<size_t>(i), &allowed)) cpus.push_back(i);
  }
  if (cpus.size() < 2) GTEST_SKIP() << "one processor";
  const auto object = CompileShared(R"(
    #define _GNU_SOURCE
    #include <sched.h>
    void place(int* at, long rounds) {
      #pragma omp parallel num_threads(2)
      {
        extern int omp_get_thread_num(void);
        at[omp_get_thread_num()] = sched_getcpu();
        for (volatile long i = 0; i < rounds; i++) {}
      }
    })");
  SessionSpec spec = SpecOf(object, {"place"}, {{"at", 8, Access::kOutput}});
  spec.threads = 2;
  spec.cpus = {cpus[1], cpus[0]};
  auto session = StartOrFail(spec);
  ASSERT_TRUE(session);
  for (int unit = 0; unit < 50; ++unit) {
    RunOrFail(*session, {Call{0, {PointerArgument{0, 0}, IntegerArgument{1000}}}});
    ASSERT_EQ(At<int32_t>(session->Output(0, 0), 0), cpus[1]) << unit;
    ASSERT_EQ(At<int32_t>(session->Output(0, 0), 1), cpus[0]) << unit;
  }
}

TEST(Session, PlacesPayloadsAsTheDrawSays) {
  const auto object = CompileShared("void nothing(void) {}");
  SessionSpec spec = SpecOf(object, {"nothing"},
                            {{"a", 100, Access::kInput},
                             {"b", 4096, Access::kOutput, 4, 2, 3},
                             {"c", 0, Access::kScratch},
                             {"d", 5, Access::kInOut, 1}});
  int at_end = 0;
  for (uint64_t draw = 0; draw < 8; ++draw) {
    spec.placement_draw = draw;
    auto session = StartOrFail(spec);
    auto again = StartOrFail(spec);
    ASSERT_TRUE(session && again);
    for (int buffer = 0; buffer < 4; ++buffer)
      EXPECT_EQ(session->Address(buffer, 0), again->Address(buffer, 0)) << "one draw, one placement";
    EXPECT_EQ(session->Address(0, 0) % 64, 0U);
    EXPECT_EQ(session->Address(1, 1) % 4, 0U);
    const uint64_t start = session->Address(3, 0) % 4096;
    EXPECT_TRUE(start == 0 || start == 4091) << "with alignment 1 one end touches the guard";
    at_end += start == 0 ? 0 : 1;
    EXPECT_FALSE(session->CheckGuards(0, 0));
  }
  EXPECT_GT(at_end, 0);
  EXPECT_LT(at_end, 8);
}

TEST(Session, SaysWhyAnArtifactDoesNotLoad) {
  const auto good = CompileShared("void entry(void) {}");
  const auto needs = CompileShared("void nowhere_to_be_found(void); void entry(void) { nowhere_to_be_found(); }");
  const auto constructor = CompileShared(
      "#include <stdlib.h>\n__attribute__((constructor)) void early(void) { _exit(0); } void entry(void) {}");
  const auto forever =
      CompileShared("__attribute__((constructor)) void early(void) { for (;;) __asm__(\"\"); } void entry(void) {}");
  const auto huge = CompileShared("char block[100L << 30]; void entry(void) { block[0] = 1; }", {"-mcmodel=large"});
  std::ofstream(testing::Workshop() / "noise.so") << "this is no shared object";
  struct Case {
    const char* name;
    std::filesystem::path artifact;
    const char* symbol;
    const char* expected;
  };
  const Case cases[] = {
      {"loads", good, "entry", "session"},
      {"no such symbol", good, "entri", "symbol"},
      {"a symbol of what it needs", good, "malloc", "symbol"},
      {"a symbol that nobody has", needs, "entry", "open"},
      {"not a shared object", testing::Workshop() / "noise.so", "entry", "open"},
      {"wants 100 GiB", huge, "entry", "open"},
      {"ends in its constructor", constructor, "entry", "exited with code 0"},
      {"never leaves its constructor", forever, "entry", "not finished within 300 ms"},
      {"no such file", testing::Workshop() / "absent.so", "entry", "error"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SessionSpec spec = SpecOf(c.artifact, {c.symbol}, {});
    if (c.artifact == forever) spec.limits.wall = 300ms;
    const auto started = Session::Start(spec);
    std::string found = "error";
    if (started.ok() && std::holds_alternative<Session>(started.value())) found = "session";
    if (started.ok() && std::holds_alternative<Ended>(started.value()))
      found = Describe(std::get<Ended>(started.value()).outcome);
    if (started.ok() && std::holds_alternative<LoadFailed>(started.value())) {
      const auto& failed = std::get<LoadFailed>(started.value());
      found = failed.stage == LoadStage::kOpen ? "open" : "symbol";
      EXPECT_FALSE(failed.text.empty());
    }
    EXPECT_EQ(found, c.expected);
  }
  SessionSpec changed = SpecOf(good, {"entry"}, {});
  changed.artifact_hash = std::string(64, '0');  // of what was checked
  EXPECT_FALSE(Session::Start(changed).ok());
}

TEST(Session, NullUnitsAndSeveralSessionsAtOnce) {
  const auto object = CompileShared("void entry(long* out) { *out += 1; }");
  std::vector<Session> sessions;
  for (int i = 0; i < 6; ++i) {
    auto session = StartOrFail(SpecOf(object, {"entry"}, {{"out", 8, Access::kInOut}}));
    ASSERT_TRUE(session);
    std::memset(session->Input(0, 0).data(), 0, 8);
    sessions.push_back(std::move(*session));
  }
  for (int round = 0; round < 5; ++round) {
    for (Session& session : sessions) {
      RunOrFail(session, {{0, {PointerArgument{0, 0}}}});
      EXPECT_FALSE(session.CheckAlive());
    }
  }
  for (Session& session : sessions) EXPECT_EQ(At<int64_t>(session.Output(0, 0), 0), 5);
  const auto null_unit = NullUnit(sessions[0], 5);
  ASSERT_TRUE(null_unit.ok());
  EXPECT_GT(null_unit.value(), 0);
  const auto refused = sessions[0].Run(std::vector<Call>{{0, {PointerArgument{0, 1}}}}, 1s, WaitMode::kSleep);
  EXPECT_FALSE(refused.ok()) << "a slot that does not exist is our own mistake";
}

TEST(Session, NothingMovesAfterAUnit) {
  // One thread returns early while the other goes on writing; it must stand still once Run is back,
  // go on in the next unit, and find its input renewed only then.
  const auto object = CompileShared(R"(
    #include <omp.h>
    void late(volatile long* counter, long unused) {
      static int begun;
      if (begun) return;
      begun = 1;
      #pragma omp parallel
      {
        if (omp_get_thread_num() == 1) for (;;) counter[0]++;
        else { while (counter[0] < 1000) {} counter[1] = 1; for (;;) if (counter[1] == 2) break; }
      }
    })");
  SessionSpec spec = SpecOf(object, {"late"}, {{"counter", 16, Access::kInOut}});
  spec.threads = 2;
  auto session = StartOrFail(spec);
  ASSERT_TRUE(session);
  std::memset(session->Input(0, 0).data(), 0, 16);
  const std::vector<Call> calls = {{0, {PointerArgument{0, 0}, IntegerArgument{0}}}};
  const auto outcome = session->Run(calls, 300ms, WaitMode::kSleep);
  ASSERT_TRUE(outcome.ok());
  const auto* hung = std::get_if<Hung>(&outcome.value());
  ASSERT_NE(hung, nullptr) << "the main thread waits for a release that does not come";
  const int64_t seen = At<int64_t>(session->Output(0, 0), 0);
  EXPECT_GE(seen, 1000);
  EXPECT_EQ(At<int64_t>(session->Output(0, 0), 0), seen);
  std::set<int> threads;
  for (const ThreadSample& sample : hung->samples) threads.insert(sample.thread);
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_FALSE(session->stopped());
  EXPECT_FALSE(session->Run(calls, 1s, WaitMode::kSleep).ok()) << "a session that ended stays ended";
  EXPECT_TRUE(session->CheckAlive());
}

TEST(Session, AnUnfinishedThreadStandsStillBetweenUnits) {
  const auto object = CompileShared(R"(
    #include <pthread.h>
    static volatile long* counter;
    static void* count(void* unused) { for (;;) counter[0]++; }
    void begin(volatile long* c) { pthread_t t; counter = c; pthread_create(&t, 0, count, 0); while (c[0] < 1000) {} })");
  // A trusted object may make threads; the stop is the same.
  SessionSpec spec = SpecOf(object, {"begin"}, {{"counter", 8, Access::kInOut}});
  spec.trusted = true;
  auto session = StartOrFail(spec);
  ASSERT_TRUE(session);
  std::memset(session->Input(0, 0).data(), 0, 8);
  const Completed completed = RunOrFail(*session, {{0, {PointerArgument{0, 0}}}});
  EXPECT_EQ(completed.threads_seen, 2);
  const int64_t first = At<int64_t>(session->Output(0, 0), 0);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(At<int64_t>(session->Output(0, 0), 0), first);
  EXPECT_GE(first, 1000);
}

TEST(Session, RemakesThreadsWithinTheBudget) {
  const auto object = CompileShared(R"(
    void vary(long* out) {
      for (int k = 0; k < 60; k++) {
        long sum = 0;
        #pragma omp parallel num_threads(k % 3 + 1) reduction(+:sum)
        sum += 1;
        out[0] += sum;
      }
    })");
  SessionSpec spec = SpecOf(object, {"vary"}, {{"out", 8, Access::kInOut}});
  spec.threads = 3;
  auto session = StartOrFail(spec);
  ASSERT_TRUE(session);
  std::memset(session->Input(0, 0).data(), 0, 8);
  RunOrFail(*session, {{0, {PointerArgument{0, 0}}}});
  EXPECT_EQ(At<int64_t>(session->Output(0, 0), 0), 120);
}

TEST(Session, RunsATrustedLibrary) {
  std::filesystem::path library;
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / "libopenblas.so.0";
    if (library.empty() && std::filesystem::exists(path)) library = path;
  }
  if (library.empty()) GTEST_SKIP() << "OpenBLAS is not installed";
  const auto object = CompileShared(R"(
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    void product(const float* a, const float* b, float* c, long n) { cblas_sgemm(101, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n); })",
                                    {library.string()});
  for (const WallMode walls : {WallMode::kAll, WallMode::kWithoutNamespaces}) {
    for (const int threads : {1, 2}) {
      constexpr size_t kSide = 256;
      SessionSpec spec = SpecOf(object, {"product"},
                                {{"a", kSide * kSide * 4, Access::kInput},
                                 {"b", kSide * kSide * 4, Access::kInput},
                                 {"c", kSide * kSide * 4, Access::kOutput}});
      spec.threads = threads;
      spec.libraries = {library};
      spec.trusted = true;
      spec.walls = walls;
      auto session = StartOrFail(spec);
      ASSERT_TRUE(session);
      const float one = 1;
      for (size_t i = 0; i < kSide * kSide; ++i) {
        std::memcpy(session->Input(0, 0).data() + i * 4, &one, 4);
        std::memcpy(session->Input(1, 0).data() + i * 4, &one, 4);
      }
      RunOrFail(*session,
                {{0, {PointerArgument{0, 0}, PointerArgument{1, 0}, PointerArgument{2, 0}, IntegerArgument{kSide}}}});
      EXPECT_EQ(At<float>(session->Output(2, 0), kSide * kSide - 1), static_cast<float>(kSide));
    }
  }
}

TEST(Session, DiesWithItsSupervisor) {
  const auto object = CompileShared("void entry(void) {}");
  for (const WallMode walls : {WallMode::kAll, WallMode::kWithoutNamespaces}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t supervisor = ::fork();
    if (supervisor == 0) {
      SessionSpec spec = SpecOf(object, {"entry"}, {});
      spec.walls = walls;
      auto session = StartOrFail(spec);
      const pid_t runner = session ? session->pid() : -1;
      (void)!::write(ends[1], &runner, sizeof(runner));
      for (;;) ::pause();
    }
    pid_t runner = -1;
    ASSERT_EQ(::read(ends[0], &runner, sizeof(runner)), static_cast<ssize_t>(sizeof(runner)));
    ASSERT_GT(runner, 0);
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, runner, 0)));
    ASSERT_TRUE(pidfd.valid());
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    pollfd ended{pidfd.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, 20'000), 1) << "the runner outlived its supervisor";
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST(Session, SurvivesARunnerThatWritesAnything) {
  // Looks on its caller's stack for the report (a page that holds the object's own base address),
  // fills it with noise, wakes everybody, and then ends in one of several ways.
  const auto object = CompileShared(R"(
    #include <dlfcn.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    extern char __ehdr_start;
    long attack(long seed, long ending) {
      long* stack = (long*)__builtin_frame_address(0);
      long found = 0;
      for (int i = 0; i < 2000; i++) {
        long* page = (long*)stack[i];
        if (((long)page & 4095) || (long)page < 0x10000 || (long)page > 0x7fffffffffff) continue;
        if (write(1, page, 8) != 8 || page[1] != (long)&__ehdr_start) continue;
        found = 1;
        srand(seed);
        for (int k = 0; k < 6000; k++) ((char*)page)[k] = seed == 1 ? 0xff : seed == 2 ? 0 : rand();
        for (int k = 0; k < 100; k++) syscall(SYS_futex, page, 1, 1000, 0, 0, 0);
        break;
      }
      if (ending == 1) abort();
      if (ending == 2) for (;;) __asm__ volatile("");
      if (ending == 3) _exit(0);
      return found;
    })");
  bool found = false;
  for (int64_t seed = 1; seed <= 4; ++seed) {
    for (int64_t ending = 0; ending <= 3; ++ending) {
      auto session = StartOrFail(SpecOf(object, {"attack"}, {{"b", 64, Access::kOutput}}));
      ASSERT_TRUE(session);
      const Call call{0,
                      {IntegerArgument{static_cast<uint64_t>(seed)}, IntegerArgument{static_cast<uint64_t>(ending)}}};
      const auto outcome = session->Run(std::vector<Call>{call, call}, 100ms, WaitMode::kSleep);
      ASSERT_TRUE(outcome.ok());
      if (const auto* completed = std::get_if<Completed>(&outcome.value())) {
        EXPECT_EQ(completed->integer_results.size(), 2U);
        EXPECT_LE(completed->state.first_call, 2);
        found = found || completed->integer_results[0] != 0;
      }
      if (const auto* ended = std::get_if<Ended>(&outcome.value())) {
        EXPECT_LT(ended->call, 256);
        EXPECT_FALSE(ended->evidence.empty());
      }
    }
  }
  EXPECT_TRUE(found) << "the attack did not find its target";
}

TEST(Session, LeavesNothingBehind) {
  const auto object = CompileShared("#include <stdlib.h>\nvoid good(void) {} void bad(void) { abort(); }");
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int i = 0; i < 10; ++i) {
    auto session = StartOrFail(SpecOf(object, {"good", "bad"}, {{"b", 100, Access::kOutput}}));
    ASSERT_TRUE(session);
    const pid_t runner = session->pid();
    (void)session->Run(std::vector<Call>{{i % 2, {}}}, 10s, WaitMode::kSleep);
    session.reset();
    EXPECT_NE(::kill(runner, 0), 0);
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no zombie";
}

TEST(PoisonPattern, IsANumberInNoFloatFormat) {
  for (uint64_t draw = 0; draw < 1000; ++draw) {
    const uint64_t pattern = PoisonPattern(draw * 0x9e3779b97f4a7c15);
    EXPECT_NE(std::bit_cast<double>(pattern), std::bit_cast<double>(pattern));
    for (int word = 0; word < 4; ++word) {
      const uint32_t bits = pattern >> (16 * word) & 0xffff;
      EXPECT_EQ(bits & 0x7f80, 0x7f80U) << "bf16";
      EXPECT_NE(bits & 0x7f, 0U);
      EXPECT_EQ(bits & 0x7c00, 0x7c00U) << "f16";
      EXPECT_EQ(bits >> 8 & 0x7f, 0x7fU) << "e4m3";
    }
  }
  EXPECT_NE(PoisonPattern(1), PoisonPattern(2));
}

}  // namespace
}  // namespace assay
