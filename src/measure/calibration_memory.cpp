// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "measure/calibration.h"
#include "measure/calibration_tries.h"
#include "measure/environment.h"
#include "measure/pages.h"
#include "measure/stream_kernels.h"
#include "measure/together.h"

namespace assay {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr size_t kLine = 64;

// What a core of a shared host gets of a last level that many use, whatever its size.
constexpr int64_t kMostOfLast = 8 * kMiB;
constexpr int64_t kLeastMemory = 256 * kMiB, kMostMemory = 512 * kMiB;
// A working set that is hardly larger than the nearer level would measure that one.
constexpr double kBeyondNearer = 1.5;

// Memory is gone over whole in each round, a sixteenth of it in a try: whoever comes next finds nothing of it in a
// cache.
constexpr size_t kPieces = 16;
constexpr int kRounds = 3;
constexpr int kCacheTries = 42, kMemoryTries = kRounds * kPieces, kLatencyTries = 15;
// Of one try: a fraction of a millisecond, but long against the threads' coming and going.
constexpr int64_t kBytesOfNearTry = 128 * kMiB, kBytesOfFarTry = 32 * kMiB;
constexpr int64_t kNearLoads = 100'000, kFarLoads = 50'000;

// Arrays begin at different places of a page: a load that has the lower address bits of an earlier
// store waits for it.
constexpr size_t kSkewValues = 22 * kLine / sizeof(float);
constexpr size_t kArrays = 3;

int64_t PerThread(const std::vector<WorkingSet>& sets) {
  int64_t most = 0;
  for (const WorkingSet& set : sets) most = std::max(most, set.bytes_per_thread);
  return most;
}

size_t RegionBytes(int64_t bytes_per_thread) {
  const size_t bytes = static_cast<size_t>(bytes_per_thread) + kArrays * kSkewValues * sizeof(float);
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

// One way over the arrays of each thread.  A try in a cache goes over them many times; one in memory
// over the next piece of them, so that it is shorter than a neighbour's time slice, and no piece is
// met again before all others were.
class StreamWork {
 public:
  StreamWork(const StreamKernel& kernel, const WorkingSet& set, int threads, float* memory, size_t region_bytes)
      : kernel_(kernel),
        memory_(memory),
        region_values_(region_bytes / sizeof(float)),
        pieces_(set.level == "DRAM" ? kPieces : 1),
        turns_(static_cast<size_t>(threads), 0) {
    const size_t of_array = static_cast<size_t>(set.bytes_per_thread) / sizeof(float) / arrays();
    values_ = of_array / pieces_ / kStreamStep * kStreamStep;
    const auto bytes = static_cast<int64_t>(values_ * arrays() * sizeof(float));
    if (bytes == 0) return;  // a level that is left out
    if (pieces_ == 1) passes_ = std::max<int64_t>(1, (bytes < 4 * kMiB ? kBytesOfNearTry : kBytesOfFarTry) / bytes);
    bytes_of_try_ = static_cast<double>(bytes) * static_cast<double>(passes_) * threads;
  }

  void Try(int thread) {
    const size_t piece = turns_[static_cast<size_t>(thread)]++ % pieces_;
    float* const begin = memory_ + region_values_ * static_cast<size_t>(thread) + piece * values_;
    const auto array = [&](size_t index) { return begin + index * (pieces_ * values_ + kSkewValues); };
    kernel_.run(array(arrays() - 1), array(0), array(1), values_, passes_);
  }
  double bytes_of_try() const { return bytes_of_try_; }

 private:
  size_t arrays() const { return static_cast<size_t>(kernel_.arrays); }

  const StreamKernel& kernel_;
  float* memory_;
  size_t region_values_, pieces_;
  size_t values_ = 0;  // of each array in one try
  int64_t passes_ = 1;
  double bytes_of_try_ = 0;    // all threads together
  std::vector<size_t> turns_;  // by thread
};

// One thread and all of them by turns: what a stranger on the host takes for a while is taken from both, and their
// ratio says something.
void AddStreams(Calibration& calibration, const StreamKernel& kernel, const std::vector<WorkingSet>& set_by_count,
                float* memory) {
  const std::vector<int> counts = ThreadCounts(calibration);
  std::vector<StreamWork> works;
  for (size_t i = 0; i < counts.size(); ++i)
    works.emplace_back(kernel, set_by_count[i], counts[i], memory, RegionBytes(set_by_count[i].bytes_per_thread));
  std::vector<std::vector<double>> seconds(works.size());
  const int tries = set_by_count[0].level == "DRAM" ? kMemoryTries : kCacheTries;
  // The round before the first does not count: it finds what the nearer levels and the first touch left in the caches.
  for (int round = -1; round < kRounds; ++round) {
    for (size_t i = 0; i < works.size(); ++i) {
      if (set_by_count[i].bytes_per_thread == 0) continue;
      const std::function<void(int)> work[] = {[&](int thread) { works[i].Try(thread); }};
      const auto more = TriesTogether(counts[i], tries / kRounds, work);
      if (round >= 0) seconds[i].insert(seconds[i].end(), more[0].begin(), more[0].end());
    }
  }
  for (size_t i = 0; i < works.size(); ++i) {
    const WorkingSet& set = set_by_count[i];
    if (seconds[i].empty()) continue;
    calibration.streams.push_back({set.level, std::string(kernel.access), kernel.around, counts[i],
                                   set.bytes_per_thread * counts[i], RateOf(works[i].bytes_of_try(), seconds[i])});
  }
}

// Lines of `bytes` as one cycle in random order (Sattolo's shuffle): no prefetcher sees a pattern, and
// no line is met again before all others were.
void* MakeCycle(std::byte* begin, int64_t bytes) {
  const size_t lines = static_cast<size_t>(bytes) / kLine;
  std::vector<uint32_t> next(lines);
  std::iota(next.begin(), next.end(), 0U);
  std::mt19937_64 random(lines);
  for (size_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  for (size_t i = 0; i < lines; ++i) *reinterpret_cast<void**>(begin + i * kLine) = begin + next[i] * kLine;
  return begin;
}

}  // namespace

std::vector<WorkingSet> WorkingSets(const std::vector<CacheLevel>& caches, int threads, int64_t available_bytes,
                                    std::vector<std::string>& notes) {
  std::vector<WorkingSet> sets;
  int64_t nearer = 0;
  for (const CacheLevel& cache : caches) {
    const std::string name = fmt::format("L{}", cache.level);
    int64_t bytes = cache.bytes / 2 / std::min(cache.sharers, threads);
    if (cache.level >= 3) bytes = std::min({bytes, cache.bytes / 4, kMostOfLast});
    if (!(static_cast<double>(bytes) >= kBeyondNearer * static_cast<double>(nearer))) {
      notes.push_back(
          fmt::format("{} with {} threads: a thread's share cannot be told from the nearer level", name, threads));
      bytes = 0;
    }
    nearer = std::max(nearer, cache.bytes);
    sets.push_back({name, bytes});
  }
  if (caches.empty()) notes.emplace_back("the kernel does not say how large the caches are; memory alone was measured");
  const int64_t last = nearer;
  int64_t memory = std::clamp(4 * last, kLeastMemory, kMostMemory);
  if (available_bytes > 0) memory = std::min(memory, available_bytes / 4);
  if (memory < 4 * last) {
    notes.push_back(fmt::format(
        "DRAM: over {} MiB in all, though the last level is said to have {} MiB; part of it may come from there",
        memory / kMiB, last / kMiB));
  }
  sets.push_back({"DRAM", memory / threads});
  return sets;
}

Status CalibrateStreams(Calibration& calibration) {
  calibration.streams.clear();
  const int64_t available = AvailableMemoryBytes();
  const std::vector<int> counts = ThreadCounts(calibration);
  std::vector<std::vector<WorkingSet>> sets;  // by number of threads, then by level
  size_t most = 0;
  for (const int threads : counts) {
    sets.push_back(WorkingSets(calibration.caches, threads, available, calibration.notes));
    most = std::max(most, RegionBytes(PerThread(sets.back())) * static_cast<size_t>(threads));
  }
  const Pages memory(most);
  if (memory.bytes() == nullptr) return SystemError("memory for the bandwidth", errno);
  // Touched by the thread that will use it.  Reading untouched memory would read one page of zeros.
  const size_t share = most / sizeof(float) / static_cast<size_t>(calibration.threads);
  const std::function<void(int)> touch[] = {[&](int number) {
    float* const begin = memory.values() + share * static_cast<size_t>(number);
    std::fill(begin, begin + share, 1.0F);
  }};
  TriesTogether(calibration.threads, 1, touch);
  for (size_t level = 0; level < sets[0].size(); ++level) {
    std::vector<WorkingSet> of_level;
    for (const std::vector<WorkingSet>& of_count : sets) of_level.push_back(of_count[level]);
    for (const StreamKernel& kernel : StreamKernels()) {
      // Bypassing the caches on the way to a cache says nothing.
      if (kernel.around && of_level[0].level != "DRAM") continue;
      AddStreams(calibration, kernel, of_level, memory.values());
    }
  }
  return Ok();
}

Status CalibrateLatencies(Calibration& calibration) {
  calibration.latencies.clear();
  const std::vector<WorkingSet> sets = WorkingSets(calibration.caches, 1, AvailableMemoryBytes(), calibration.notes);
  const Pages memory(static_cast<size_t>(PerThread(sets)));
  if (memory.bytes() == nullptr) return SystemError("memory for the latency", errno);
  for (const WorkingSet& set : sets) {
    if (set.bytes_per_thread == 0) continue;
    void* at = MakeCycle(memory.bytes(), set.bytes_per_thread);
    const int64_t lines = set.bytes_per_thread / static_cast<int64_t>(kLine);
    const bool in_memory = set.level == "DRAM";
    const int64_t loads = set.bytes_per_thread < 4 * kMiB ? kNearLoads : kFarLoads;
    const std::function<void(int)> warm[] = {[&](int) { at = ChasePointers(at, lines); }};
    // Of memory each line is met once; of a cache the first time does not count.
    if (!in_memory) TriesTogether(1, 1, warm);
    const std::function<void(int)> chase[] = {[&](int) { at = ChasePointers(at, loads); }};
    const auto seconds = TriesTogether(1, kLatencyTries, chase);
    calibration.latencies.push_back({set.level, set.bytes_per_thread, TimeOf(seconds[0], static_cast<double>(loads))});
  }
  return Ok();
}

}  // namespace assay
