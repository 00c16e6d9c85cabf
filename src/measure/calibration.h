// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "record/calibration.h"

namespace assay {

struct CalibrationOptions {
  int threads = 1;  // "all threads" of the figures; at most AllowedProcessors()
  // "bandwidth", told before each part and again when it is tried once more; may be empty.
  std::function<void(const std::string&)> progress;
};

// The figures are not to be believed: impossible, or measured while others used the machine.
struct CalibrationRefused {
  std::string why;
};
using CalibrationOutcome = std::variant<Calibration, CalibrationRefused>;

// Measures this machine; the caller holds its lease.  About ten seconds when nobody else runs.  Each
// part is tried again, three times in all, when others used the processors meanwhile or a figure is
// impossible; what still stands then refuses the whole.  Error: no memory, no /proc.
Result<CalibrationOutcome> Calibrate(const CalibrationOptions& options);

// The parts, each into its own fields.  Peaks are first: the others are judged by their clock.
Status CalibratePeaks(Calibration& calibration);
Status CalibrateStreams(Calibration& calibration);
Status CalibrateLatencies(Calibration& calibration);
// `backwards`: how often a later reading of the clock was the smaller one.
Status CalibrateOverheads(Calibration& calibration, int& backwards);
// Costs of the unit protocol, and what one kernel against itself shows.  A machine without a compiler
// has neither, and a note says so.
Status CalibrateUnits(Calibration& calibration);

// Where arrays lie so that a level serves them.  Of one thread; 0: that level cannot be told from the
// nearer one with so many threads.
struct WorkingSet {
  std::string level;
  int64_t bytes_per_thread = 0;
};
// Half of a level, shared with whoever is behind the same instance; of the last level no more than
// what a core of a shared host can count on (8 MiB); memory four times the last level, at least 256
// MiB, at most 512 MiB and a quarter of `available_bytes`.  `notes` says what was capped or left out.
std::vector<WorkingSet> WorkingSets(const std::vector<CacheLevel>& caches, int threads, int64_t available_bytes,
                                    std::vector<std::string>& notes);

// One file a machine and number of threads below `folder`.
std::filesystem::path CalibrationFile(const std::filesystem::path& folder, const Calibration& like);
// What the file says, if it is of this machine and these threads, younger than `most_seconds` at `now`
// (seconds since 1970), not from the future, and passes every judgement; else nothing, whatever is
// wrong with it: measuring anew is the remedy for all of it.
std::optional<Calibration> ReadCalibration(const std::filesystem::path& file, const Calibration& like, int64_t now,
                                           double most_seconds);
// What `assay calibrate` keeps of this machine for so many threads, else for all processors, if it is not older than a
// day.
std::optional<Calibration> KeptCalibration(const std::filesystem::path& folder, int threads);
Status WriteCalibration(const std::filesystem::path& file, const Calibration& calibration);

// A calibration without figures: who this machine is, and the time.
Calibration CalibrationHead(int threads);
// Since 1970.
int64_t SecondsNow();

}  // namespace assay
