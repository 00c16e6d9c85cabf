// SPDX-License-Identifier: Apache-2.0
// Small programs that try the runner's walls, each with an honest neighbour just inside, as
// root and as an ordinary user, with all walls and without those that some kernels refuse.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <iterator>

#include "sandbox/session.h"
#include "sandbox/test_support.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr size_t kCount = 1024;  // floats: a whole page, so that end and start both touch a guard

struct Row {
  const char* name;
  const char* body;               // of void entry(const float* in, float* out, long n, long round)
  const char* expected;           // what Judge says
  const char* trapped = nullptr;  // where pid 1 cannot be asked, if it differs
};

const Row kRows[] = {
    {"honest", "for (long i = 0; i < n; i++) out[i] = in[i];", "completed"},
    {"writes its output's last element", "out[n - 1] = 1;", "completed"},
    {"writes one past the end", "out[n] = 1;", "SIGSEGV store behind out"},
    {"writes one before the start", "out[-1] = 1;", "SIGSEGV store before out"},
    {"reads its input's last element", "out[0] = in[n - 1];", "completed"},
    {"reads one past the end", "out[0] = in[n];", "SIGSEGV load behind in"},
    {"reads one before the start", "out[0] = in[-1];", "SIGSEGV load before in"},
    {"writes its input", "((float*)in)[3] = 1;", "SIGSEGV store inside in"},
    {"makes its input writable", "if (mprotect((void*)((long)in & -4096), 4096, 3) != 0) out[0] = errno;", "completed"},
    {"follows a null pointer", "*(volatile int*)0 = 1;", "SIGSEGV"},
    {"divides by zero", "volatile int zero = 0; out[0] = (int)n / zero;", "SIGFPE"},
    {"runs no instruction", "__asm__(\"ud2\");", "SIGILL"},
    {"overflows its stack", "out[0] = deep(1);", "SIGSEGV"},
    {"aborts", "abort();", "SIGABRT"},
    {"exits with 0", "exit(0);", "exit 0"},
    {"prints PASS and exits", "printf(\"PASS\\n\"); exit(0);", "exit 0 printed PASS\n"},
    {"exits with 3", "_exit(3);", "exit 3"},
    {"allocates and frees",
     "for (int i = 0; i < 100; i++) { char* p = malloc(1 << 22); memset(p, 1, 1 << 22); free(p); }", "completed"},
    {"grows a block",
     "char* p = 0; for (int i = 1; i < 20; i++) { p = realloc(p, i << 18); p[(i << 18) - 1] = 1; } free(p);",
     "completed"},
    {"allocates without end", "for (;;) memset(malloc(1 << 24), 1, 4096);", "out of memory"},
    {"allocates without end and does not look", "for (;;) if (malloc(1 << 20) == out) break;", "out of memory"},
    {"ends its main thread", "syscall(SYS_exit, 0);", "exit 0"},
    {"never returns", "for (;;) __asm__ volatile(\"\");", "hung in the artifact"},
    {"sleeps for ever", "for (;;) usleep(1000);", "hung"},
    {"uses its team",
     "float s = 0;\n#pragma omp parallel for reduction(+:s)\nfor (long i = 0; i < n; i++) s += in[i]; out[0] = s;",
     "completed"},
    {"varies its team",
     "for (int t = 1; t <= 2; t++) {\n#pragma omp parallel num_threads(t)\nout[t] = t;\n}\n"
     "for (int k = 0; k < 20; k++) {\n#pragma omp parallel num_threads(1 + k % 2)\nout[k] = k;\n}",
     "completed"},
    {"asks for more threads than it has", "\n#pragma omp parallel num_threads(8)\nout[0] = 1;",
     "forbidden clone (a thread beyond the budget)",
     "exit 1 printed \nlibgomp: Thread creation failed: Resource temporarily unavailable\n"},
    {"makes a thread", "pthread_t t; if (pthread_create(&t, 0, idle, 0) == 0) pthread_join(t, 0);",
     "forbidden clone (a thread beyond the budget)", "completed"},
    {"forks without end", "for (;;) fork();", "forbidden clone"},
    {"forks by number", "syscall(SYS_fork);", "forbidden fork"},
    {"forks by vfork", "syscall(SYS_vfork);", "forbidden vfork"},
    {"forks by the 32-bit entry", "long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(2)); out[0] = r;",
     "forbidden i386 fork"},
    {"calls by the x32 entry", "syscall(0x40000000 | 39);", "forbidden x32 getpid"},
    {"executes a program", "execl(\"/bin/sh\", \"sh\", (char*)0);", "forbidden execve"},
    {"opens a socket", "socket(AF_INET, SOCK_STREAM, 0);", "forbidden socket"},
    {"opens a file", "open(\"/etc/passwd\", O_RDONLY);", "forbidden openat"},
    {"opens through stdio", "FILE* f = fopen(\"/tmp/x\", \"w\"); if (f) fputs(\"x\", f);", "forbidden openat"},
    {"prints a little", "printf(\"hello\\n\"); fflush(stdout);", "completed printed hello\n"},
    {"prints gigabytes", "static char b[1 << 20]; for (int i = 0; i < 4096; i++) write(1, b, sizeof b);", "completed"},
    {"floods by small pieces", "for (int i = 0; i < 100000; i++) write(2, \"0123456789\", 10);",
     "completed printed at the cap"},
    {"makes code", "mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);", "forbidden mmap"},
    {"maps data", "char* p = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); p[0] = 1; munmap(p, 4096);",
     "completed"},
    {"makes data executable", "static char page[8192]; mprotect((void*)(((long)page + 4095) & -4096), 4096, 5);",
     "forbidden mprotect"},
    {"advises huge pages", "madvise((void*)((long)out & -4096), 4096, 14);", "forbidden madvise"},
    {"punches a hole", "madvise((void*)((long)out & -4096), 4096, 9);", "forbidden madvise"},
    {"gives pages back", "char* p = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); madvise(p, 8192, 4);",
     "completed"},
    {"handles a signal", "signal(SIGSEGV, SIG_IGN);", "forbidden rt_sigaction"},
    {"asks for a signal's handler", "struct sigaction a; sigaction(SIGSEGV, 0, &a);", "completed"},
    {"kills itself", "kill(getpid(), SIGKILL);", "forbidden kill"},
    {"kills its parent", "kill(getppid(), SIGKILL);", "forbidden getppid"},
    {"kills pid 1", "kill(1, SIGKILL);", "forbidden kill"},
    {"stops itself", "syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP);", "forbidden tgkill"},
    {"traces", "ptrace(0, 0, 0, 0);", "forbidden ptrace"},
    {"writes into pid 1", "syscall(SYS_process_vm_writev, 1, 0, 0, 0, 0, 0);", "forbidden process_vm_writev"},
    {"handles page faults", "syscall(SYS_userfaultfd, 0);", "forbidden userfaultfd"},
    {"makes a ring", "syscall(SYS_io_uring_setup, 1, 0);", "forbidden io_uring_setup"},
    {"makes a memory file", "memfd_create(\"x\", 0);", "forbidden memfd_create"},
    {"changes its own rules", "prctl(PR_SET_DUMPABLE, 0);", "forbidden prctl"},
    {"moves to another core", "cpu_set_t s; CPU_ZERO(&s); CPU_SET(0, &s); sched_setaffinity(0, sizeof s, &s);",
     "forbidden sched_setaffinity"},
    {"raises a limit", "struct rlimit l = {1, 1}; setrlimit(RLIMIT_NOFILE, &l);", "forbidden prlimit64"},
    {"asks for a limit", "struct rlimit l; getrlimit(RLIMIT_STACK, &l); out[0] = l.rlim_cur;", "completed"},
    {"says loaded again", "syscall(SYS_getpgrp);", "forbidden getpgrp"},
    {"waits for an alarm", "alarm(1);", "forbidden alarm"},
    {"sends a message", "struct msghdr m = {0}; sendmsg(9, &m, 0);", "forbidden sendmsg"},
    {"sleeps a little", "usleep(10); out[0] = time(0);", "completed"},
    {"leaves flush-to-zero on", "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);", "completed mxcsr"},
    {"restores flush-to-zero",
     "unsigned m = __builtin_ia32_stmxcsr(); __builtin_ia32_ldmxcsr(m | 0x8040); out[0] = in[0] * 0.5f; "
     "__builtin_ia32_ldmxcsr(m);",
     "completed"},
    {"raises an exception flag", "volatile float z = 0; out[0] = 1 / z;", "completed"},
    {"leaves x87 in single precision", "unsigned short c = 0x007f; __asm__(\"fldcw %0\" : : \"m\"(c));",
     "completed x87"},
    {"leaves the direction flag set", "__asm__ volatile(\"std\");", "completed direction"},
    {"loses a register", "__asm__ volatile(\"xor %%r12d, %%r12d\" : : );", "completed registers"},
    {"keeps a register", "__asm__ volatile(\"xor %%r12d, %%r12d\" : : : \"r12\");", "completed"},
};

// All rows as functions entry0, entry1 ... of one object.
std::string Source() {
  std::string source = R"(
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void* idle(void* p) { return p; }
static int deep(volatile int x) { volatile char block[1 << 16]; block[0] = x; return deep(x + 1) + block[0]; }
)";
  for (size_t i = 0; i < std::size(kRows); ++i) {
    source += "void entry" + std::to_string(i) + "(const float* in, float* out, long n) {\n" + kRows[i].body + "\n}\n";
  }
  return source;
}

std::string Side(const Ended& ended, const SessionSpec& spec) {
  const auto* signaled = std::get_if<Signaled>(&ended.outcome);
  if (!ended.place || signaled == nullptr || !signaled->fault) return "";
  const char* side = ended.place->side == FaultSide::kAfter    ? "behind "
                     : ended.place->side == FaultSide::kBefore ? "before "
                                                               : "inside ";
  return (signaled->fault->write ? " store " : " load ") +
         (side + spec.buffers[static_cast<size_t>(ended.place->buffer)].name);
}

std::string Printed(const std::string& text) {
  if (text.empty() || text.size() > 100000) return "";
  return text.size() > 60000 ? " printed at the cap" : " printed " + text;
}

std::string Judge(const UnitOutcome& outcome, const Session& session) {
  if (const auto* hung = std::get_if<Hung>(&outcome)) {
    bool inside = !hung->samples.empty();
    for (const ThreadSample& sample : hung->samples)
      inside = inside && (sample.thread != 0 || sample.artifact_offset.has_value());
    return inside ? "hung in the artifact" : "hung";
  }
  if (const auto* completed = std::get_if<Completed>(&outcome)) {
    const MachineState& state = completed->state;
    return std::string("completed") + (state.mxcsr_changed ? " mxcsr" : "") + (state.x87_changed ? " x87" : "") +
           (state.direction_flag ? " direction" : "") + (state.callee_saved_changed ? " registers" : "") +
           Printed(session.Printed());
  }
  const Ended& ended = std::get<Ended>(outcome);
  if (const auto* exited = std::get_if<Exited>(&ended.outcome))
    return "exit " + std::to_string(exited->code) + Printed(ended.output);
  if (const auto* call = std::get_if<ForbiddenCall>(&ended.outcome)) return "forbidden " + call->name;
  if (std::holds_alternative<OutOfMemory>(ended.outcome)) return "out of memory";
  if (const auto* signaled = std::get_if<Signaled>(&ended.outcome)) {
    return std::string("SIG") + ::sigabbrev_np(signaled->signal) + Side(ended, session.spec());
  }
  return Describe(ended.outcome);
}

// Both buffers fill whole pages, so that at every placement both their ends touch a guard.
std::string RunOnce(const std::filesystem::path& artifact, size_t row, WallMode walls) {
  SessionSpec spec;
  spec.artifact = artifact;
  spec.symbols = {"entry" + std::to_string(row)};
  spec.buffers = {{"in", kCount * 4, Access::kInput}, {"out", kCount * 4, Access::kOutput}};
  spec.threads = 2;
  spec.walls = walls;
  spec.limits.address_space = uint64_t{1} << 30;
  auto started = Session::Start(spec);
  if (!started.ok()) return "error: " + started.error().message;
  if (const auto* ended = std::get_if<Ended>(&started.value())) return "did not start: " + ended->evidence;
  if (const auto* failed = std::get_if<LoadFailed>(&started.value())) return "did not load: " + failed->text;
  Session session = std::get<Session>(std::move(started).value());
  std::memset(session.Input(0, 0).data(), 0, kCount * 4);
  session.Poison(1, 0, PoisonPattern(7));
  const Call call{0, {PointerArgument{0, 0}, PointerArgument{1, 0}, IntegerArgument{kCount}}};
  const std::string body = kRows[row].body;
  const bool hangs = body.find("for (;;)") != std::string::npos || body.find("SYS_exit") != std::string::npos;
  const auto outcome = session.Run(std::vector<Call>{call}, hangs ? 500ms : 20s, WaitMode::kSleep);
  if (!outcome.ok()) return "error: " + outcome.error().message;
  return Judge(outcome.value(), session);
}

struct World {
  const char* name;
  bool ordinary;
  WallMode walls;
};

class Hostile : public ::testing::TestWithParam<World> {};

TEST_P(Hostile, EveryRowEndsAsItShould) {
  const World world = GetParam();
  if (world.ordinary && ::geteuid() != 0) GTEST_SKIP() << "already an ordinary user";
  static const std::filesystem::path object = testing::CompileShared(Source());
  ASSERT_FALSE(object.empty());
  for (size_t i = 0; i < std::size(kRows); ++i) {
    SCOPED_TRACE(kRows[i].name);
    const auto run = [&] { return RunOnce(object, i, world.walls); };
    const bool trapped = world.walls == WallMode::kWithoutNotification && kRows[i].trapped != nullptr;
    EXPECT_EQ(world.ordinary ? testing::AsOrdinaryUser(run) : run(), trapped ? kRows[i].trapped : kRows[i].expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, Hostile,
                         ::testing::Values(World{"SameUser", false, WallMode::kAll},
                                           World{"SameUserWithoutNamespaces", false, WallMode::kWithoutNamespaces},
                                           World{"SameUserWithoutNotification", false, WallMode::kWithoutNotification},
                                           World{"OrdinaryUser", true, WallMode::kAll},
                                           World{"OrdinaryUserWithoutNamespaces", true, WallMode::kWithoutNamespaces}),
                         [](const auto& world) { return std::string(world.param.name); });

}  // namespace
}  // namespace assay
