// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "record/calibration.h"

namespace assay {

// What no machine can do.  Each function is pure and gives the reason with both figures, or nothing.
// All ask "does it lie within", so that a figure that is no number is refused too.

// Two pipes of 512 bits or four of less is the most that any core has.
inline constexpr int MostPipes(int register_bits) { return register_bits >= 512 ? 2 : 4; }
// What runs may meet a clock that is by so much above the highest that the chain met.
inline constexpr double kClockMoves = 0.05;
// All threads together do at least so much of what one does, and at most so much more than each alone.
inline constexpr double kLeastOfOne = 0.9, kMostOfAll = 1.1;
// A farther level may seem faster than a nearer one by so much, and its loads nearer.
inline constexpr double kOrderSlack = 0.1;
// Two loads and a store of 512 bits a cycle are the most that any core moves; one load takes at
// least this many cycles.
inline constexpr double kMostBytesPerCycle = 192, kLeastLoadCycles = 2;

std::optional<std::string> RefuseClock(double clock_hz);
// `clock_hz`: the highest that was seen.  What stands beside a peak was measured next to it, not with
// it, and clocks move.
std::optional<std::string> RefusePeaks(std::span<const PeakFigure> peaks, int threads, double clock_hz);
std::optional<std::string> RefuseStreams(std::span<const StreamFigure> streams, int threads, double clock_hz);
std::optional<std::string> RefuseLatencies(std::span<const LatencyFigure> latencies, double clock_hz);
// `backwards`: how often a later reading of the clock was the smaller one.
std::optional<std::string> RefuseOverheads(std::span<const OverheadFigure> overheads, int backwards);
std::optional<std::string> RefuseNoise(const NoiseFigure& noise);

// All of the above but the clock's steps; for what comes from a file.
std::optional<std::string> RefuseAll(const Calibration& calibration);

}  // namespace assay
