// SPDX-License-Identifier: Apache-2.0
#include "measure/caches.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "measure/environment.h"
#include "measure/peak_kernels.h"
#include "measure/together.h"

namespace assay {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;
// More than the second-level caches (2 MiB) and their translation buffers (4096 entries) of today's cores, four times.
constexpr size_t kPrivateBytes = size_t{8} << 20;
constexpr size_t kPagesBytes = 16384 * kPage;

#if defined(__x86_64__)
bool HasFlushOpt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 23 & 1) != 0;
}

// By physical line, in all caches of all processors.
bool FlushLines(std::span<const std::byte> bytes) {
  static const bool opt = HasFlushOpt();
  const auto first = reinterpret_cast<uintptr_t>(bytes.data()) & ~uintptr_t{kLine - 1};
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size());
  for (uintptr_t line = first; line < end; line += kLine) {
    if (opt) {
      asm volatile("clflushopt (%0)" : : "r"(line) : "memory");
    } else {
      asm volatile("clflush (%0)" : : "r"(line) : "memory");
    }
  }
  asm volatile("mfence" : : : "memory");
  return true;
}
#else
bool FlushLines(std::span<const std::byte>) { return false; }
#endif

// Small pages, so that each takes an entry of a translation buffer, and none of them the page of zeros.
const std::byte* Ballast(size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  static_cast<void>(::madvise(mapped, bytes, MADV_NOHUGEPAGE));
  std::memset(mapped, 1, bytes);
  return static_cast<const std::byte*>(mapped);
}

Status ReplacePrivate(const std::vector<int>& cpus) {
  static const std::byte* const ballast = Ballast(kPagesBytes);
  if (ballast == nullptr) return SystemError("64 MiB to empty the caches with", errno);
  std::vector<std::thread> readers;
  for (const int cpu : cpus) {
    readers.emplace_back([cpu] {
      const PinScope place({cpu});
      const OwnTime own(cpu);
      ReadLines(ballast, kPrivateBytes);
      unsigned sum = 0;
      for (size_t page = 0; page < kPagesBytes; page += kPage) sum += std::to_integer<unsigned>(ballast[page]);
      asm volatile("" : : "r"(sum));
    });
  }
  for (std::thread& reader : readers) reader.join();
  return Ok();
}

Status ReadPastEverything() {
  static const size_t bytes = 2 * static_cast<size_t>(LastLevelCacheBytes());
  static const std::byte* const ballast = Ballast(bytes);
  if (ballast == nullptr) return SystemError("memory to empty the caches with", errno);
  const std::function<void(int)> read[] = {[](int) { ReadLines(ballast, bytes); }};
  TriesTogether(static_cast<int>(AllowedProcessors().size()), 1, read);
  return Ok();
}

}  // namespace

Status EmptyCaches(std::span<const std::span<const std::byte>> memory, const std::vector<int>& cpus) {
  bool flushed = true;
  for (const std::span<const std::byte> bytes : memory) {
    if (!bytes.empty()) flushed = FlushLines(bytes) && flushed;
  }
  if (!flushed) return ReadPastEverything();
  return ReplacePrivate(cpus);
}

}  // namespace assay
