// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "contract/load.h"
#include "contract/shape.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "verify/probe.h"
#include "verify/reference.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = ASSAY_SOURCE_DIR;
const fs::path kCache = fs::path(ASSAY_BUILD_DIR) / "test-cache";

std::vector<pid_t> Descendants(pid_t of) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const size_t after_name = text.rfind(')');
    if (after_name == std::string::npos) continue;
    std::istringstream rest(text.substr(after_name + 1));
    char state = 0;
    pid_t parent = 0;
    rest >> state >> parent;
    children.emplace(parent, std::stoi(name));
  }
  std::vector<pid_t> found{of};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

// Everything that a process could read of itself; none where the kernel does not let us look.
std::optional<std::string> MemoryOf(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream maps(folder + "/maps");
  const int memory = ::open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (!maps || memory < 0) {
    if (memory >= 0) ::close(memory);
    return std::nullopt;
  }
  std::string all, line;
  while (std::getline(maps, line)) {
    uint64_t begin = 0, end = 0;
    char readable = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &begin, &end, &readable) != 3 || readable != 'r') continue;
    if (line.find("[v") != std::string::npos) continue;  // the kernel's own pages
    const size_t at = all.size();
    all.resize(at + (end - begin));
    const ssize_t got = ::pread(memory, all.data() + at, end - begin, static_cast<off_t>(begin));
    all.resize(at + static_cast<size_t>(got > 0 ? got : 0));
  }
  ::close(memory);
  return all;
}

// A secret is looked for by thirty-two of its bytes.
template <class T>
std::string Bytes(const T* from, size_t count) {
  return {reinterpret_cast<const char*>(from), count * sizeof(T)};
}

// Secrets are planted where the supervisor keeps its own, and looked for in every process that a
// candidate could read: its seeds, what the reference says, what a kernel answered to the same call.
class Secrets : public testing::Test {
 protected:
  static constexpr int64_t kRows = 24, kColumns = 48;
  static constexpr int64_t kAsked = 11;  // this row's answer is the canary

  void SetUp() override {
    auto loaded = LoadContract(kSource / "contracts/softmax_rows");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
    CppBuilder builder(kCache);
    const auto family = ReadTemplate(kSource / "tests/hostile/honest_plain.cpp", contract_);
    ASSERT_TRUE(family.ok()) << family.error().message;
    const auto candidate = MakeCandidate(family.value(), {}, {});
    ASSERT_TRUE(candidate.ok()) << candidate.error().message;
    auto built = builder.Build(contract_, candidate.value(), BuildVariant::kPrimary);
    ASSERT_TRUE(built.ok() && std::holds_alternative<Artifact>(built.value()));
    artifact_ = std::get<Artifact>(built.value());
  }

  Result<Probe> StartProbe() {
    ProbeSpec spec;
    spec.contract = &contract_;
    spec.artifact = &artifact_;
    spec.shape = DenseShape(contract_, {{"R", kRows}, {"C", kColumns}}).value();
    ASSAY_TRY(ProbeOutcome started, Probe::Start(spec, Stream(seed_.Derive("poison"))));
    if (const auto* refused = std::get_if<Rejected>(&started)) return Error{ErrorCode::kUnavailable, refused->evidence};
    return std::move(std::get<Probe>(started));
  }

  // How often the bytes lie in memory of the candidate's processes; none: the kernel shows none.
  static std::optional<int> Seen(const std::string& secret) {
    int seen = 0;
    bool looked = false;
    for (const pid_t pid : Descendants(::getpid())) {
      const auto memory = MemoryOf(pid);
      if (!memory) continue;
      looked = true;
      const char* at = memory->data();
      const char* const end = at + memory->size();
      while ((at = static_cast<const char*>(
                  ::memmem(at, static_cast<size_t>(end - at), secret.data(), secret.size()))) != nullptr) {
        ++seen;
        ++at;
      }
    }
    return looked ? std::optional(seen) : std::nullopt;
  }

  const Seed seed_ = Seed::FromNumber(0xCA4A71);
  Contract contract_;
  Artifact artifact_;
};

TEST_F(Secrets, NoneReachesAProcessOfTheCandidate) {
  // What the reference says of the call, from a process that is gone when the candidate's begins.
  std::vector<double> wide;
  std::vector<float> narrow;
  {
    auto probe = StartProbe();
    ASSERT_TRUE(probe.ok()) << probe.error().message;
    ASSERT_TRUE(probe.value().Load(0, Values::kFirst, seed_).ok());
    auto reference = Reference::Start(contract_, kCache, 1);
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    const int64_t slices[] = {kAsked};
    const auto answers = reference.value()->Ask(probe.value().Call(0), slices, 0);
    ASSERT_TRUE(answers.ok()) << answers.error().message;
    for (const AnswerElement& element : answers.value().elements) {
      wide.push_back(element.expected.value);
      narrow.push_back(static_cast<float>(element.expected.value));
    }
    ASSERT_GE(wide.size(), 8U);
  }

  auto started = StartProbe();
  ASSERT_TRUE(started.ok()) << started.error().message;
  Probe& probe = started.value();
  ASSERT_TRUE(probe.Load(0, Values::kFirst, seed_).ok());
  const std::span<const std::byte> input = probe.Call(0).tensors[0];
  const auto there = Seen(Bytes(input.data() + input.size() / 2, 32));
  if (!there) GTEST_SKIP() << "the kernel does not show the memory of other processes here";
  ASSERT_GE(*there, 1) << "this search finds what is there";

  const std::pair<const char*, std::string> secrets[] = {
      {"the seed of the call", Bytes(seed_.bytes.data(), 32)},
      {"the seed as text", seed_.Hex().substr(0, 32)},
      {"the seed of its values", Bytes(seed_.Derive("tensor", 0).bytes.data(), 32)},
      {"the seed of its poison", Bytes(seed_.Derive("poison").bytes.data(), 32)},
      {"the answer in double", Bytes(wide.data(), 4)},
      {"the answer in single", Bytes(narrow.data(), 8)},
  };
  for (const auto& [what, bytes] : secrets) EXPECT_EQ(Seen(bytes), 0) << what;

  const auto refused = probe.Run(0);
  ASSERT_TRUE(refused.ok() && !refused.value());
  const std::vector<std::byte> output = probe.CopyOutputs(0);
  const std::string answered = Bytes(output.data() + output.size() / 2, 32);
  EXPECT_GE(*Seen(answered), 1) << "the kernel's own answer is there while it is asked for";
  // The same call again: what was answered before lies nowhere that a kernel could find it.
  ASSERT_TRUE(probe.Load(0, Values::kFirst, seed_).ok());
  EXPECT_EQ(Seen(answered), 0) << "the answer of the call before";
  EXPECT_EQ(Seen(Bytes(wide.data(), 4)), 0) << "the answer in double, after a call";
}

}  // namespace
}  // namespace assay
