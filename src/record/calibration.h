// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

// Of several tries.  The best is what the machine can do, because others can only take time away; the
// median is what it did.
struct BestAndMedian {
  double best = 0, median = 0;
  bool operator==(const BestAndMedian&) const = default;
};

struct CacheLevel {
  int level = 0;
  int64_t bytes = 0;
  int sharers = 1;  // processors behind one instance
  bool operator==(const CacheLevel&) const = default;
};

// Multiply-adds in registers.
struct PeakFigure {
  std::string element;  // "f64", "f32", "bf16", "i8"
  std::string kernel;   // the fastest that this processor has, e.g. "512-bit FMA"
  int lanes = 0;        // values of one register
  int threads = 1;
  BestAndMedian per_second;  // operations, all threads together; an addition and a multiplication are two
  double clock_hz = 0;       // right behind the same kernel: wide registers may lower it
  bool operator==(const PeakFigure&) const = default;
};

// Arrays gone over in order.
struct StreamFigure {
  std::string level;    // "L1", "L2", "L3", "DRAM"
  std::string access;   // "read", "write", "copy", "triad"
  bool around = false;  // stores bypass the caches
  int threads = 1;
  int64_t bytes = 0;               // of all arrays and threads together
  BestAndMedian bytes_per_second;  // each array counts once; what a store reads first does not count
  bool operator==(const StreamFigure&) const = default;
};

// A load that waits for the one before, in random order.
struct LatencyFigure {
  std::string level;
  int64_t bytes = 0;  // over which the loads are spread
  BestAndMedian seconds;
  bool operator==(const LatencyFigure&) const = default;
};

// What one of something costs.
enum class Overhead {
  kFault4K,        // first touch of a page
  kFault2M,        // of a huge one
  kSystemCall,     // that does nothing
  kIndirectCall,   // of an empty function
  kForkJoinSpin,   // all threads begin and end an empty piece of work, waiting in a loop
  kForkJoinSleep,  // the same, waiting in the kernel
  kWakeUp,         // one thread wakes another and sleeps until that wakes it
  kClockRead,
  kClockStep,  // the least by which two readings differ
  kNullUnit,   // of the unit protocol, the supervisor sleeping
  kNullUnitSpin,
};
std::string_view Name(Overhead cost);
std::vector<Overhead> AllOverheads();

struct OverheadFigure {
  Overhead what = Overhead::kSystemCall;
  int threads = 1;
  BestAndMedian seconds;
  bool operator==(const OverheadFigure&) const = default;
};

// One kernel timed against itself, in two processes by turns: |ln(a / b)| of neighbouring units.
struct NoiseFigure {
  int pairs = 0;  // 0: not measured
  double median = 0, p90 = 0;
  bool operator==(const NoiseFigure&) const = default;
};

// What this machine can do, as it was measured at one time.
struct Calibration {
  std::string machine;  // Machine::id
  std::string processor, kernel;
  int cores = 0;
  int threads = 1;  // "all threads" of the figures
  std::vector<CacheLevel> caches;
  int64_t when = 0;  // seconds since 1970
  double seconds_spent = 0;
  double clock_hz = 0;  // the highest that was seen, of one thread without wide registers
  std::vector<PeakFigure> peaks;
  std::vector<StreamFigure> streams;
  std::vector<LatencyFigure> latencies;
  std::vector<OverheadFigure> overheads;
  NoiseFigure noise;
  std::vector<std::string> notes;  // what was capped or left out, and why
  bool operator==(const Calibration&) const = default;
};

// Stored form, and back.  kCorrupt: not what this version writes.
std::string CalibrationJson(const Calibration& calibration);
Result<Calibration> ParseCalibration(std::string_view json);
// The document of `assay calibrate --json`.
std::string CalibrationReportJson(const Calibration& calibration, bool from_cache, double age_seconds);
// The same where the figures were refused.
std::string CalibrationRefusedJson(std::string_view why);

}  // namespace assay
