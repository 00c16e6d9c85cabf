// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/calibration.h"
#include "record/timing.h"

namespace assay {

// How fast one kernel was when it was tried next to the multiply chain.
struct FmaSample {
  int lanes = 0;
  double per_second = 0;  // operations, all threads together
};

// What one calibration saw, before anybody judges it.
struct PeakSample {
  double clock_hz = 0;                // one thread, best try of the chain
  double clock_all_hz = 0;            // all threads at once
  std::vector<FmaSample> one_thread;  // one per width
  std::vector<FmaSample> all_threads;
};

struct Bandwidth {
  double copy_bytes = 0;  // a second; each array counted once, reads and writes named
  double triad_bytes = 0;
  double read_bytes = 0;
};

// Judges a sample.  For each width, pipes = measured / (2 x lanes x clock), rounded *up* unless it
// exceeds a whole number by less than 5 %: a machine that gave a kernel only part of a pipe then
// stands below 0.95 of the whole one, and the figures are refused.  Rounding to the nearest would
// explain half a machine away.  The peak is that of the width with the most lanes x pipes (Zen 4
// has one 512-bit or two 256-bit pipes: both 16 lanes; then the faster figure counts).
MachineRates JudgePeak(const PeakSample& sample, int threads);

// Tries of about a millisecond, the best of which counts: a neighbour can only take time away, and
// a time slice is longer than a try, so a few undisturbed tries are all that is needed.
PeakSample SamplePeak(int threads, int tries);

// Best of `tries` passes over 256 MiB in all (eight times a last-level cache of 32 MiB): copy moves
// two arrays, triad three, with stores that bypass the caches; reading goes over what copy reads.
Result<Bandwidth> SampleBandwidth(int threads, int tries);

// Whether a width's kernel kept its promise: its pipes, or nothing when it stands below 0.95.
std::optional<int> WholePipes(const FmaSample& sample, double clock_hz, int threads);

// The most of the kernels that this processor has for an element type, in at most 0.04 s; zeros where it has none.
ElementPeak SampleElement(const std::string& element, int threads, int tries);

// Peaks of f32 and of `element`, and bandwidth, 0.4 s or so.  `refused` says when the figures are not to be believed.
Result<MachineRates> MeasureRates(int threads, const std::string& element = "f32");

// Rates of one run, probed between its groups: the clock moves from second to second, so a peak
// from another minute says nothing about a time of this one.
class RunRates {
 public:
  // `first` is what MeasureRates gave at the start.
  RunRates(MachineRates first, int threads);

  // What `assay calibrate` kept of this machine: the bandwidths of its caches are taken over, for no probe of a run
  // asks for them; peaks and the bandwidth of memory only raise the best ever seen.
  void TakeCalibrated(const Calibration& calibration);

  // 3 ms, with another element type twice that: the widest kernels beside the chain.  Returns the peak's share of what
  // the clock of the same moment promises, over what that share usually is in this stretch; far below 1 the cores were
  // shared with somebody who usually is not there.  A guest cannot tell a stranger on the other half of its cores from
  // a slow machine; both are the same for all arms of a group.
  double ProbePeak();
  // About 20 ms once the memory is there (which it is only during the probe).
  Status ProbeBandwidth();

  // The run's rates: medians over the probes, each of which is the best of its tries.  The median,
  // because a kernel's time is a median over the same stretch; the best of each probe, because
  // what a neighbour took away is no property of the machine.
  MachineRates Median() const;
  // The best that was ever seen here: what bounds the impossible.
  const MachineRates& Best() const { return best_; }

  // For the next stretch: no probes yet, the same best.
  RunRates Anew() const;
  // Takes over what another stretch has seen as best.
  void Raise(const RunRates& other);

 private:
  void Add(const MachineRates& rates);
  void RaiseTo(const MachineRates& rates);

  MachineRates first_, best_;
  int threads_;
  std::vector<double> peaks_1t_, peaks_, clocks_, copies_, triads_, reads_;
  std::vector<double> elements_1t_, elements_;  // of the element type in `first_`
  std::vector<double> shares_;                  // of every probe, kept or left out
};

}  // namespace assay
