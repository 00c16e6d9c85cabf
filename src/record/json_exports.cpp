// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "numerics/statistics.h"
#include "record/exports.h"
#include "record/json_library.h"

namespace assay {
namespace {

using json_library::Dump;
using json_library::Number;
using json_library::Ordered;

// Workload, arm, gated or not: what is one benchmark elsewhere.
using Series = std::map<std::tuple<std::string, std::string, bool>, std::vector<const RawUnit*>>;
Series SeriesOf(const DecisionReport& report) {
  Series series;
  for (const RawUnit& unit : report.units) {
    if (!unit.redrawn && !unit.census) series[{unit.workload, unit.arm, unit.gated}].push_back(&unit);
  }
  return series;
}

// Quotes where a comma, a quote or an end of line would be read as one.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string UnitsCsv(const DecisionReport& report) {
  std::string out =
      "group,arm,workload,calls,wall_ns,null_ns,cpu_ns,gated,redrawn,census,regime,ns_per_call,own_ns,prepare_ns\n";
  for (const RawUnit& unit : report.units) {
    out += fmt::format("{},{},{},{},{},{},{},{:d},{:d},{:d},{},{:.3f},{},{}\n", unit.group, CsvField(unit.arm),
                       CsvField(unit.workload), unit.calls, unit.wall_ns, unit.null_ns, unit.cpu_ns, unit.gated,
                       unit.redrawn, unit.census, unit.regime, unit.NanosecondsACall(), unit.own_ns, unit.prepare_ns);
  }
  return out;
}

std::string GoogleBenchmarkJson(const DecisionReport& report, const std::string& contract, const Machine& machine) {
  Ordered benchmarks = Ordered::array();
  int family = 0;
  for (const auto& [key, units] : SeriesOf(report)) {
    const auto& [workload, arm, gated] = key;
    const std::string name = fmt::format("{}/{}/{}{}", contract, workload, arm, gated ? "/gated" : "");
    for (size_t i = 0; i < units.size(); ++i) {
      const RawUnit& unit = *units[i];
      benchmarks.push_back({{"name", name},
                            {"family_index", family},
                            {"per_family_instance_index", 0},
                            {"run_name", name},
                            {"run_type", "iteration"},
                            {"repetitions", units.size()},
                            {"repetition_index", i},
                            {"threads", std::max(report.power.threads, 1)},
                            {"iterations", unit.calls},
                            {"real_time", unit.NanosecondsACall()},
                            {"cpu_time", static_cast<double>(unit.cpu_ns) / std::max(unit.calls, 1)},
                            {"time_unit", "ns"}});
    }
    ++family;
  }
  const Ordered out = {{"context",
                        {{"executable", "assay"},
                         {"num_cpus", machine.cores},
                         {"mhz_per_cpu", Number(std::round(report.rates.clock_hz / 1e6))},
                         {"cpu_scaling_enabled", false},
                         {"caches", Ordered::array()},
                         {"host_name", machine.processor},
                         {"library_build_type", "release"}}},
                       {"benchmarks", benchmarks}};
  return Dump(out, 2) + "\n";
}

std::string HyperfineJson(const DecisionReport& report) {
  Ordered results = Ordered::array();
  for (const auto& [key, units] : SeriesOf(report)) {
    const auto& [workload, arm, gated] = key;
    std::vector<double> times;
    double cpu = 0;
    for (const RawUnit* unit : units) {
      times.push_back(1e-9 * unit->NanosecondsACall());
      cpu += 1e-9 * static_cast<double>(unit->cpu_ns) / std::max(unit->calls, 1) / static_cast<double>(units.size());
    }
    const double count = static_cast<double>(times.size());
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / count;
    double squares = 0;
    for (const double time : times) squares += (time - mean) * (time - mean);
    results.push_back({{"command", fmt::format("{} on {}{}", arm, workload, gated ? ", gated" : "")},
                       {"mean", mean},
                       {"stddev", times.size() > 1 ? Number(std::sqrt(squares / (count - 1))) : Number(NAN)},
                       {"median", Median(times)},
                       {"user", cpu},
                       {"system", 0.0},
                       {"min", *std::min_element(times.begin(), times.end())},
                       {"max", *std::max_element(times.begin(), times.end())},
                       {"times", times},
                       {"exit_codes", std::vector<int>(times.size(), 0)}});
  }
  return Dump({{"results", results}}, 2) + "\n";
}

}  // namespace assay
