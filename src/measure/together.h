// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace assay {

// Pinned threads that do the same work at the same time, again and again.  Gives one row per work
// with the seconds of each try, from the first thread's start to the last one's end, by stamps that
// the threads take themselves: nobody has to watch from a core that is measured.
// A work gets the number of its thread; works take turns, so that all meet the same seconds.
std::vector<std::vector<double>> TriesTogether(int threads, int tries, std::span<const std::function<void(int)>> works);

// The calling thread on these processors until the end of the scope; none: it stays where it is.
class PinScope {
 public:
  explicit PinScope(const std::vector<int>& processors);
  PinScope(const PinScope&) = delete;
  PinScope& operator=(const PinScope&) = delete;
  ~PinScope();
};

}  // namespace assay
