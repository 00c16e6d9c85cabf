// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"

namespace assay {
namespace {

TEST(Hash, KnownDigestsAndUnambiguousRecords) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(RecordHash("r").Add("a", "bc").Finish(), RecordHash("r").Add("ab", "c").Finish());
  EXPECT_NE(RecordHash("r").Add("a", "x").Add("b", "").Finish(), RecordHash("r").Add("a", "").Add("b", "x").Finish());
  EXPECT_NE(RecordHash("r").Finish(), RecordHash("s").Finish());
}

TEST(Random, StreamsFollowTheirSeed) {
  Stream a(Seed::FromNumber(1)), b(Seed::FromNumber(1)), c(Seed::FromNumber(2));
  const uint64_t first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, c.Next());
  EXPECT_NE(Seed::FromNumber(1).Derive("x").Hex(), Seed::FromNumber(1).Derive("y").Hex());
  EXPECT_NE(Seed::FromNumber(1).Derive("x", 1).Hex(), Seed::FromNumber(1).Derive("x", 2).Hex());
  EXPECT_NE(Seed::Fresh().Hex(), Seed::Fresh().Hex());
}

TEST(Random, DrawsAreWhereTheyBelong) {
  Stream stream(Seed::FromNumber(3));
  std::set<uint64_t> seen;
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t below = stream.Below(7);
    ASSERT_LT(below, 7U);
    seen.insert(below);
    const double unit = stream.Unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    const double normal = stream.Normal();
    sum += normal;
    squares += normal * normal;
  }
  EXPECT_EQ(seen.size(), 7U);
  EXPECT_NEAR(sum / 20000, 0, 0.05);
  EXPECT_NEAR(squares / 20000, 1, 0.06);
}

TEST(Text, PrintableLeavesNothingThatSteersATerminal) {
  const struct {
    const char* name;
    std::string in, out;
  } cases[] = {
      {"plain", "abc\n\tdef", "abc\n\tdef"},       {"escape", "\x1b[31m", "\\x1b[31m"},
      {"bell and delete", "\a\x7f", "\\x07\\x7f"}, {"valid UTF-8", "\xc3\xa4", "\xc3\xa4"},
      {"C1 control", "\xc2\x9b", "\\xc2\\x9b"},    {"cut UTF-8", "\xc3", "\\xc3"},
      {"stray continuation", "\x80", "\\x80"},     {"carriage return", "a\rb", "a\\x0db"},
      {"NUL", std::string("a\0b", 3), "a\\x00b"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Printable(c.in), c.out);
  }
}

TEST(Text, SizesAndNames) {
  EXPECT_EQ(ParseByteSize("32 MiB"), 32LL << 20);
  EXPECT_EQ(ParseByteSize("0"), 0);
  for (const char* bad : {"-1", "1 MB", "x", "", "99999999999 GiB"}) EXPECT_EQ(ParseByteSize(bad), -1) << bad;
  const std::string known[] = {"template", "tensor", "scalar"};
  EXPECT_EQ(Nearest("tensr", known), "tensor");
  EXPECT_EQ(Nearest("zzzzzz", known), "");
  EXPECT_EQ(Cut("abcdef", 3), "abc [3 more bytes]");
  EXPECT_EQ(Seconds(0.0123), "12.3 ms");
}

TEST(File, ReadsOnlyRegularFilesWithinTheLimit) {
  auto folder = std::move(TemporaryFolder::Create("assay-base-")).value();
  const auto path = folder.path() / "f";
  ASSERT_TRUE(WriteFileAtomically(path, "12345").ok());
  EXPECT_EQ(ReadFile(path).value(), "12345");
  EXPECT_TRUE(ReadFile(path, 5).ok());
  EXPECT_EQ(ReadFile(path, 4).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(ReadFile(folder.path()).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(ReadFile("/dev/zero").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(ReadFile(folder.path() / "none").error().code, ErrorCode::kNotFound);
}

// A fork leaves its folder without clearing up, as a kill would.
std::filesystem::path FolderOfTheDead(bool dead) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto folder = TemporaryFolder::Create("assay-base-dead-");
    const std::string path = folder.ok() ? folder.value().path().string() : "";
    static_cast<void>(!::write(ends[1], path.data(), path.size()));
    if (!dead) ::pause();
    ::_exit(0);
  }
  char path[256] = {};
  EXPECT_GT(::read(ends[0], path, sizeof path - 1), 0);
  if (dead) ::waitpid(child, nullptr, 0);
  if (!dead) ::kill(child, SIGKILL);  // a zombie still has its number: its folder is not for others to clear
  ::close(ends[0]);
  ::close(ends[1]);
  return path;
}

TEST(File, AFolderOfADeadProcessIsClearedAndThatOfALivingOneIsNot) {
  const auto dead = FolderOfTheDead(true), unburied = FolderOfTheDead(false);
  EXPECT_TRUE(std::filesystem::exists(unburied));
  {
    const auto folder = std::move(TemporaryFolder::Create("assay-base-dead-")).value();
    EXPECT_FALSE(std::filesystem::exists(dead));
    EXPECT_TRUE(std::filesystem::exists(unburied));
  }
  while (::wait(nullptr) > 0) {
  }
  const auto folder = std::move(TemporaryFolder::Create("assay-base-dead-")).value();
  EXPECT_FALSE(std::filesystem::exists(unburied));
}

}  // namespace
}  // namespace assay
