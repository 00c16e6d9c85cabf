// SPDX-License-Identifier: Apache-2.0
#include "report/calibration.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "report/table.h"

namespace assay {
namespace {

std::string Bytes(int64_t bytes) {
  if (bytes >= int64_t{1} << 20) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

std::string Giga(const BestAndMedian& rate) {
  return fmt::format("{:.1f} ({:.1f})", rate.best / 1e9, rate.median / 1e9);
}

std::string Duration(double seconds) {
  return seconds < 1e-6 ? fmt::format("{:.3g} ns", seconds * 1e9) : Seconds(seconds);
}
std::vector<std::string> Durations(const BestAndMedian& time) { return {Duration(time.best), Duration(time.median)}; }

std::string Threads(int threads) { return threads == 1 ? "1 thread" : fmt::format("{} threads", threads); }

// Figures that differ in nothing but their threads, in the order in which they were measured.
template <typename T, typename Label>
std::vector<std::pair<std::string, std::map<int, const T*>>> Rows(const std::vector<T>& figures, Label&& label) {
  std::vector<std::pair<std::string, std::map<int, const T*>>> rows;
  for (const T& figure : figures) {
    const std::string name = label(figure);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == name; });
    if (row == rows.end()) row = rows.insert(rows.end(), {name, {}});
    row->second[figure.threads] = &figure;
  }
  return rows;
}

std::vector<int> Counts(const Calibration& calibration) {
  return calibration.threads == 1 ? std::vector<int>{1} : std::vector<int>{1, calibration.threads};
}

std::string PeakTable(const Calibration& calibration, size_t width) {
  std::vector<std::string> header{"peak, Gop/s"};
  for (const int threads : Counts(calibration)) header.push_back(Threads(threads));
  header.insert(header.end(), {"GHz then", "a cycle and core"});
  TextTable table(header);
  for (const auto& [name, row] : Rows(calibration.peaks, [](const PeakFigure& peak) { return peak.element; })) {
    std::vector<std::string> cells{name};
    std::string clocks, kernel;
    for (const int threads : Counts(calibration)) {
      const auto found = row.find(threads);
      if (found == row.end()) {
        cells.emplace_back("-");
        continue;
      }
      cells.push_back(Giga(found->second->per_second));
      clocks += fmt::format("{}{:.2f}", clocks.empty() ? "" : ", ", found->second->clock_hz / 1e9);
      const PeakFigure& peak = *found->second;
      const double a_cycle = peak.per_second.best / (2.0 * peak.lanes * peak.clock_hz * peak.threads);
      if (kernel.empty()) kernel = fmt::format("{:.2f} x {}", a_cycle, peak.kernel);
    }
    cells.insert(cells.end(), {clocks, kernel});
    table.Add(cells);
  }
  return table.Render(width);
}

std::string StreamTable(const Calibration& calibration, size_t width) {
  std::vector<std::string> header{"bandwidth, GB/s"};
  for (const int threads : Counts(calibration)) header.push_back(Threads(threads));
  header.emplace_back("over, a thread");
  TextTable table(header);
  const auto label = [](const StreamFigure& s) {
    return fmt::format("{} {}{}", s.level, s.access, s.around ? ", around caches" : "");
  };
  for (const auto& [name, row] : Rows(calibration.streams, label)) {
    std::vector<std::string> cells{name};
    std::string over;
    for (const int threads : Counts(calibration)) {
      const auto found = row.find(threads);
      cells.push_back(found == row.end() ? "-" : Giga(found->second->bytes_per_second));
      if (found == row.end()) continue;
      const std::string bytes = Bytes(found->second->bytes / threads);
      if (over != bytes) over += (over.empty() ? "" : ", ") + bytes;
    }
    cells.push_back(over);
    table.Add(cells);
  }
  return table.Render(width);
}

std::string LatencyTable(const Calibration& calibration, size_t width) {
  TextTable table({"load latency", "best", "median", "over"});
  for (const LatencyFigure& latency : calibration.latencies) {
    std::vector<std::string> cells{latency.level};
    for (std::string& cell : Durations(latency.seconds)) cells.push_back(std::move(cell));
    cells.push_back(Bytes(latency.bytes));
    table.Add(cells);
  }
  return table.Render(width);
}

const char* Words(Overhead what) {
  switch (what) {
    case Overhead::kFault4K:
      return "first touch of 4 KiB";
    case Overhead::kFault2M:
      return "first touch of 2 MiB";
    case Overhead::kSystemCall:
      return "system call";
    case Overhead::kIndirectCall:
      return "indirect call";
    case Overhead::kForkJoinSpin:
      return "fork and join, spinning";
    case Overhead::kForkJoinSleep:
      return "fork and join, sleeping";
    case Overhead::kWakeUp:
      return "wake-up, there and back";
    case Overhead::kClockRead:
      return "reading the clock";
    case Overhead::kClockStep:
      return "step of the clock";
    case Overhead::kNullUnit:
      return "null unit, sleeping";
    case Overhead::kNullUnitSpin:
      return "null unit, spinning";
  }
  return "";
}

std::string CostTable(const Calibration& calibration, size_t width) {
  TextTable table({"cost", "best", "median", "threads"});
  for (const OverheadFigure& cost : calibration.overheads) {
    std::vector<std::string> cells{Words(cost.what)};
    for (std::string& cell : Durations(cost.seconds)) cells.push_back(std::move(cell));
    cells.push_back(fmt::format("{}", cost.threads));
    table.Add(cells);
  }
  return table.Render(width);
}

}  // namespace

std::string Span(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

std::string CalibrationText(const Calibration& calibration, double age_seconds, size_t width) {
  std::string caches;
  for (const CacheLevel& cache : calibration.caches) caches += fmt::format(", L{} {}", cache.level, Bytes(cache.bytes));
  std::string out = Wrap(fmt::format("{}, {} core{}{}, {}", calibration.processor, calibration.cores,
                                     calibration.cores == 1 ? "" : "s", caches, calibration.kernel),
                         width, "", "  ");
  out += Wrap(fmt::format("Measured {}, in {:.1f} s; the highest clock was {:.2f} GHz. Of each figure the best of the "
                          "tries, then the median.",
                          age_seconds < 1 ? "just now" : Span(age_seconds) + " ago", calibration.seconds_spent,
                          calibration.clock_hz / 1e9),
              width, "", "  ");
  out += "\n" + PeakTable(calibration, width) + "\n" + StreamTable(calibration, width) + "\n" +
         LatencyTable(calibration, width) + "\n" + CostTable(calibration, width) + "\n";
  if (calibration.noise.pairs > 0) {
    out += Wrap(fmt::format("Noise: a unit of 1 ms against itself differs by {:.2f} % (median of {} pairs), nine of "
                            "ten by less than {:.2f} %.",
                            100 * calibration.noise.median, calibration.noise.pairs, 100 * calibration.noise.p90),
                width, "", "  ");
  }
  for (const std::string& note : calibration.notes) out += Wrap("Note: " + Printable(note) + ".", width, "", "  ");
  return out;
}

}  // namespace assay
