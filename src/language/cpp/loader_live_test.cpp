// SPDX-License-Identifier: Apache-2.0
//
// The policy against the loader of this machine: what it lets through is loaded, and nothing of it runs.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "language/cpp/loader_view.h"
#include "language/cpp/policy.h"
#include "language/testing/forgery.h"

namespace assay {
namespace {

constexpr int kForgeries = 20000;
constexpr unsigned char kTrap = 0xcc;
enum Fate { kLoaded, kDeclined, kElsewhere, kBroken };

struct Region {
  uint64_t start, size;
};

// Where the loader looks: headers, tables, and most often the dynamic segment.
std::vector<Region> LoaderRegions(const LoaderView& view) {
  std::vector<Region> regions{{0, sizeof(Elf64_Ehdr) + view.segments.size() * sizeof(Elf64_Phdr)}};
  for (const Elf64_Phdr& segment : view.segments) {
    if (segment.p_type == PT_LOAD && segment.p_flags == PF_R) regions.push_back({segment.p_offset, segment.p_filesz});
    if (segment.p_type == PT_DYNAMIC) regions.insert(regions.end(), 3, {segment.p_offset, segment.p_filesz});
  }
  return regions;
}

template <typename T>
void PutAligned(std::string& bytes, uint64_t at, T value) {
  at = at / sizeof(T) * sizeof(T);
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&bytes[at], &value, sizeof(T));
}

// One to four changes, by bits, by numbers that mean something here, or by what stands elsewhere.
std::string ForgedAtRandom(const std::string& good, const std::vector<Region>& regions, Stream& stream) {
  constexpr uint64_t kNumbers[] = {0,
                                   1,
                                   2,
                                   7,
                                   8,
                                   16,
                                   24,
                                   0x1000,
                                   0x2000,
                                   0x3000,
                                   0x4000,
                                   0xfff,
                                   DT_INIT,
                                   DT_RELR,
                                   DT_INIT_ARRAY,
                                   DT_JMPREL,
                                   DT_RELACOUNT,
                                   DT_GNU_HASH,
                                   ~uint64_t{0},
                                   R_X86_64_IRELATIVE,
                                   uint64_t{1} << 32};
  const auto place = [&] {
    const Region& region = regions[stream.Below(regions.size())];
    return region.start + stream.Below(region.size);
  };
  std::string bytes = good;
  for (uint64_t n = 1 + stream.Below(4); n > 0; --n) {
    const uint64_t at = place(), number = kNumbers[stream.Below(std::size(kNumbers))];
    switch (stream.Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << stream.Below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(stream.Below(256));
        break;
      case 2:
        PutAligned(bytes, at, number);
        break;
      case 3:
        PutAligned(bytes, at, static_cast<uint32_t>(number));
        break;
      default: {
        const uint64_t from = place() / 8 * 8, to = at / 8 * 8;
        const uint64_t size = std::min(8 * (1 + stream.Below(6)), good.size() - std::max(from, to));
        std::copy_n(good.begin() + static_cast<std::ptrdiff_t>(from), size,
                    bytes.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
  }
  return bytes;
}

// With a trap in place of every byte of code; in a process of its own.  The wait status.
int LoadTrapped(std::string bytes, const LoaderView& view) {
  uint64_t entry = 0;
  for (const ElfSymbol& symbol : view.symbols) entry = symbol.name == "toy" ? symbol.value : entry;
  for (const Elf64_Phdr& segment : view.segments) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(segment.p_offset), segment.p_filesz,
                  static_cast<char>(kTrap));
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const int fd = ::memfd_create("forgery", 0);
    if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) ::_exit(kBroken);
    void* library = ::dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    void* symbol = library != nullptr ? ::dlsym(library, "toy") : nullptr;
    if (symbol == nullptr) ::_exit(kDeclined);
    const uint64_t base = static_cast<link_map*>(library)->l_addr;
    ::_exit(reinterpret_cast<uint64_t>(symbol) - base == entry ? kLoaded : kElsewhere);
  }
  int status = kBroken << 8;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return kBroken << 8;
  return status;
}

TEST(LoaderLive, RunsNothingOfWhatThePolicyLetsThrough) {
  const std::string& good = testing::GoodObject();
  if (good.empty()) GTEST_SKIP() << "no compiler, or it made nothing";
  LoaderView view;
  ASSERT_FALSE(ReadAsLoader(good, view));
  const std::vector<Region> regions = LoaderRegions(view);
  Stream stream(Seed::FromNumber(1).Derive("forgeries"));
  int loaded = 0, refused = 0;
  for (int i = 0; i < kForgeries; ++i) {
    const std::string bytes = ForgedAtRandom(good, regions, stream);
    if (CheckSharedObject(bytes, testing::ObjectPolicy()) || FindMissingEntry(bytes, testing::ObjectPolicy())) {
      ++refused;
      continue;
    }
    ASSERT_FALSE(ReadAsLoader(bytes, view));
    const int status = LoadTrapped(bytes, view);
    ASSERT_TRUE(WIFEXITED(status)) << "forgery " << i << " ended by signal " << WTERMSIG(status)
                                   << (WTERMSIG(status) == SIGTRAP ? ": its code ran" : "");
    ASSERT_TRUE(WEXITSTATUS(status) == kLoaded || WEXITSTATUS(status) == kDeclined)
        << "forgery " << i << " gave another entry than the policy saw";
    loaded += WEXITSTATUS(status) == kLoaded ? 1 : 0;
  }
  EXPECT_GT(loaded, kForgeries / 50);
  EXPECT_GT(refused, kForgeries / 2);
}

}  // namespace
}  // namespace assay
