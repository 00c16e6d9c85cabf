// SPDX-License-Identifier: Apache-2.0
#include "measure/together.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "measure/environment.h"

namespace assay {
namespace {

// Not being pinned costs quality, not truth: a refusal is no error.
void Pin(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<size_t>(processor), &set);
  if (!processors.empty()) static_cast<void>(::sched_setaffinity(0, sizeof(set), &set));
}

struct Stamps {
  std::chrono::steady_clock::time_point start, end;
};

}  // namespace

std::vector<std::vector<double>> TriesTogether(int threads, int tries,
                                               std::span<const std::function<void(int)>> works) {
  const std::vector<int>& processors = AllowedProcessors();
  const size_t rounds = works.size() * static_cast<size_t>(tries);
  std::vector<std::vector<Stamps>> stamps(static_cast<size_t>(threads), std::vector<Stamps>(rounds));
  std::atomic<size_t> arrived{0};
  const auto play = [&](int number) {
    const int processor = processors[static_cast<size_t>(number) % processors.size()];
    Pin({processor});
    const OwnTime own(processor);
    for (size_t round = 0; round < rounds; ++round) {
      arrived.fetch_add(1);
      // Spins, but yields: with fewer cores than threads the others could never arrive.
      while (arrived.load() < static_cast<size_t>(threads) * (round + 1)) std::this_thread::yield();
      Stamps& mine = stamps[static_cast<size_t>(number)][round];
      mine.start = std::chrono::steady_clock::now();
      works[round % works.size()](number);
      mine.end = std::chrono::steady_clock::now();
    }
  };
  std::vector<std::thread> helpers;
  for (int number = 0; number < threads; ++number) helpers.emplace_back(play, number);
  for (std::thread& helper : helpers) helper.join();

  std::vector<std::vector<double>> seconds(works.size());
  for (size_t round = 0; round < rounds; ++round) {
    Stamps all = stamps[0][round];
    for (const auto& of_thread : stamps) {
      all.start = std::min(all.start, of_thread[round].start);
      all.end = std::max(all.end, of_thread[round].end);
    }
    seconds[round % works.size()].push_back(std::chrono::duration<double>(all.end - all.start).count());
  }
  return seconds;
}

PinScope::PinScope(const std::vector<int>& processors) {
  static_cast<void>(AllowedProcessors());  // asked before anything is narrowed
  Pin(processors);
}

PinScope::~PinScope() { Pin(AllowedProcessors()); }

}  // namespace assay
