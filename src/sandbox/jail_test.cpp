// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "sandbox/test_support.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

struct World {
  const char* name;
  bool ordinary;
  WallMode walls;
};

Result<JailedRun> RunShell(const std::string& script, const std::filesystem::path& folder, WallMode walls,
                           Limits limits = {}) {
  JailSpec spec;
  spec.argv = {"/bin/sh", "-c", script};
  spec.read_only = ToolchainPaths();
  spec.writable = folder;
  spec.walls = walls;
  return RunJailed(spec, limits);
}

// A new work folder that any user of the test may write.
std::filesystem::path NewFolder() {
  static int count = 0;
  const std::filesystem::path folder = testing::Workshop() / ("work" + std::to_string(count++));
  std::filesystem::create_directory(folder);
  ::chmod(folder.c_str(), 0777);
  return folder;
}

std::string Summary(const Result<JailedRun>& run) {
  if (!run.ok()) return "error: " + run.error().message;
  return Describe(run.value().outcome) + (run.value().output.empty() ? "" : ": " + run.value().output);
}

// No process on the machine has this mark in its command line any more.
bool Gone(const std::string& mark) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream file(entry.path() / "cmdline");
    std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (line.find(mark) != std::string::npos) return false;
  }
  return true;
}

class Jail : public ::testing::TestWithParam<World> {
 protected:
  void SetUp() override {
    testing::Workshop();
    if (GetParam().ordinary && ::geteuid() != 0) GTEST_SKIP() << "already an ordinary user";
  }
  std::string Run(const std::function<std::string()>& body) {
    return GetParam().ordinary ? testing::AsOrdinaryUser(body) : body();
  }
};

TEST_P(Jail, ProgramsEndAsTheyShould) {
  struct Case {
    const char* name;
    const char* script;
    const char* expected;
  };
  const Case cases[] = {
      {"clean exit", "exit 0", "exited with code 0"},
      {"exit code", "exit 7", "exited with code 7"},
      {"killed by a signal", "kill -SEGV $$", "killed by SIGSEGV"},
      {"leaves a child behind", "sleep 3141 & exit 3", "exited with code 3"},
      {"leaves a child that is its own leader", "setsid sleep 3141 >/dev/null 2>&1 & exit 4", "exited with code 4"},
      {"prints on both", "echo one; echo two >&2", "exited with code 0: one\ntwo\n"},
      {"writes into its folder", "echo x > file && cat file", "exited with code 0: x\n"},
      {"knows nothing of the caller", "echo $SECRET$HOME", "exited with code 0: \n"},
      {"reads the toolchain", "test -r /usr/bin/gcc && echo yes", "exited with code 0: yes\n"},
      {"reads a host file", "cat /etc/passwd >/dev/null 2>&1 || echo refused", "exited with code 0: refused\n"},
      {"writes a host folder", "echo x 2>/dev/null > /var/tmp/assay-escape || echo refused",
       "exited with code 0: refused\n"},
      {"writes the toolchain", "echo x 2>/dev/null > /usr/assay-escape || echo refused",
       "exited with code 0: refused\n"},
      {"looks at processes", "cat /proc/1/environ >/dev/null 2>&1 || echo refused", "exited with code 0: refused\n"},
      {"uses the null device", "echo x > /dev/null && echo yes", "exited with code 0: yes\n"},
      {"uses a pipe", "echo abc | tr a-c d-f", "exited with code 0: def\n"},
  };
  ::setenv("SECRET", "secret", 1);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::filesystem::path folder = NewFolder();
    EXPECT_EQ(Run([&] { return Summary(RunShell(c.script, folder, GetParam().walls)); }), c.expected);
  }
  ::unsetenv("SECRET");
  EXPECT_TRUE(Gone(std::string("sleep") + '\0' + "3141"));
}

TEST_P(Jail, LimitsHold) {
  struct Case {
    const char* name;
    const char* script;
    const char* expected;
    Limits limits;
  };
  Limits quick;
  quick.wall = 300ms;
  Limits small_files;
  small_files.file_size = 1 << 20;
  Limits small_memory;
  small_memory.address_space = 64 << 20;
  const Case cases[] = {
      {"never ends", "sleep 2718", "not finished within 300 ms", quick},
      {"spins with children", "while :; do :; done & while :; do :; done", "not finished within 300 ms", quick},
      {"a file within the limit",
       "head -c 1000000 /dev/zero > f 2>/dev/null || head -c 1000000 /usr/bin/gcc > f; echo done",
       "exited with code 0: done\n", small_files},
      {"a file beyond the limit",
       "cat /usr/lib/gcc/x86_64-linux-gnu/*/cc1plus > f 2>/dev/null; test $(wc -c < f) -le 1048576 && echo bounded",
       "exited with code 0: bounded\n", small_files},
      {"memory beyond the limit",
       "x=$(cat /usr/lib/gcc/x86_64-linux-gnu/*/cc1plus | tr '\\0' a | cat 2>/dev/null); echo never", "", small_memory},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::filesystem::path folder = NewFolder();
    const std::string found = Run([&] { return Summary(RunShell(c.script, folder, GetParam().walls, c.limits)); });
    if (c.expected[0] != '\0') {
      EXPECT_EQ(found, c.expected);
    } else {
      EXPECT_EQ(found.find("never"), std::string::npos) << found;
    }
  }
  EXPECT_TRUE(Gone(std::string("sleep") + '\0' + "2718"));
}

TEST_P(Jail, OutputIsCutAndDoesNotBlock) {
  const std::filesystem::path folder = NewFolder();
  const std::string found = Run([&]() -> std::string {
    const auto run = RunShell(
        "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789012345678; i=$((i+1)); done",
        folder, GetParam().walls);
    if (!run.ok()) return run.error().message;
    return std::to_string(run.value().output.size()) + (run.value().output_cut ? " cut " : " whole ") +
           Describe(run.value().outcome);
  });
  EXPECT_EQ(found, "65536 cut exited with code 0");
}

TEST_P(Jail, CompilesSeveralAtOnce) {
  std::vector<std::filesystem::path> folders;
  for (int i = 0; i < 3; ++i) {
    folders.push_back(NewFolder());
    std::ofstream(folders.back() / "x.cpp")
        << "#include <cmath>\nextern \"C\" float f(float x) { return std::exp(x) + " << i << "; }\n";
  }
  const std::string found = Run([&]() -> std::string {
    std::vector<std::string> results(folders.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < folders.size(); ++i) {
      threads.emplace_back([&, i] {
        JailSpec spec;
        spec.argv = {"/usr/bin/g++", "-O2", "-shared", "-fPIC", "-fopenmp", "-o", "x.so", "x.cpp"};
        spec.read_only = ToolchainPaths();
        spec.writable = folders[i];
        spec.walls = GetParam().walls;
        results[i] = Summary(RunJailed(spec, Limits{}));
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::string all;
    for (const std::string& result : results) all += result + ";";
    return all;
  });
  EXPECT_EQ(found, "exited with code 0;exited with code 0;exited with code 0;");
  for (const auto& folder : folders) EXPECT_TRUE(std::filesystem::exists(folder / "x.so"));
}

INSTANTIATE_TEST_SUITE_P(Worlds, Jail,
                         ::testing::Values(World{"SameUser", false, WallMode::kAll},
                                           World{"SameUserWithoutNamespaces", false, WallMode::kWithoutNamespaces},
                                           World{"OrdinaryUser", true, WallMode::kAll},
                                           World{"OrdinaryUserWithoutNamespaces", true, WallMode::kWithoutNamespaces}),
                         [](const auto& world) { return std::string(world.param.name); });

TEST(RunJailed, RefusesWhatIsNoProgram) {
  testing::Workshop();
  const struct {
    const char* name;
    std::vector<std::string> argv;
    bool ok;
  } cases[] = {{"absolute", {"/bin/true"}, true},
               {"relative", {"true"}, false},
               {"nothing", {}, false},
               {"absent", {"/bin/no-such-program"}, false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    JailSpec spec;
    spec.argv = c.argv;
    spec.read_only = ToolchainPaths();
    EXPECT_EQ(RunJailed(spec, Limits{}).ok(), c.ok);
  }
}

TEST(ProbeWalls, FindsWhatStandsHere) {
  testing::Workshop();
  const auto walls = ProbeWalls();
  ASSERT_TRUE(walls.ok()) << walls.error().message;
  EXPECT_TRUE(walls.value().seccomp);
  EXPECT_TRUE(walls.value().no_new_privileges);
  EXPECT_TRUE(walls.value().resource_limits);
  RecordProperty("walls", walls.value().Summary());
  const auto bare = ProbeWalls(WallMode::kWithoutNamespaces);
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_FALSE(bare.value().pid_namespace || bare.value().empty_root || bare.value().network_namespace);
  EXPECT_TRUE(bare.value().seccomp);
  EXPECT_GE(bare.value().Missing().size(), 5U);
}

}  // namespace
}  // namespace assay
