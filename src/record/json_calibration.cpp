// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "record/calibration.h"
#include "record/json_library.h"

namespace assay {
namespace {

using json_library::As;
using json_library::Dump;
using json_library::FromList;
using json_library::Get;
using json_library::Json;
using json_library::List;
using json_library::Number;
using json_library::Ordered;
using json_library::Parsed;
using json_library::Real;
using json_library::Take;

// A file of another form is measured anew.
constexpr const char* kFormat = "assay.calibration.1";

Ordered ToJson(const BestAndMedian& tries) { return {{"best", Number(tries.best)}, {"median", Number(tries.median)}}; }
BestAndMedian TriesFrom(const Json& j) { return {Real(j.at("best")), Real(j.at("median"))}; }

Ordered ToJson(const CacheLevel& c) { return {{"level", c.level}, {"bytes", c.bytes}, {"sharers", c.sharers}}; }
CacheLevel CacheFrom(const Json& j) { return {As(j.at("level")), As(j.at("bytes")), As(j.at("sharers"))}; }

Ordered ToJson(const PeakFigure& p) {
  return {{"element", p.element},
          {"kernel", p.kernel},
          {"lanes", p.lanes},
          {"threads", p.threads},
          {"per_second", ToJson(p.per_second)},
          {"clock_hz", Number(p.clock_hz)}};
}
PeakFigure PeakFrom(const Json& j) {
  return {As(j.at("element")),           As(j.at("kernel")),    As(j.at("lanes")), As(j.at("threads")),
          TriesFrom(j.at("per_second")), Real(j.at("clock_hz"))};
}

Ordered ToJson(const StreamFigure& s) {
  return {{"level", s.level},     {"access", s.access}, {"around", s.around},
          {"threads", s.threads}, {"bytes", s.bytes},   {"bytes_per_second", ToJson(s.bytes_per_second)}};
}
StreamFigure StreamFrom(const Json& j) {
  return {As(j.at("level")),   As(j.at("access")), As(j.at("around")),
          As(j.at("threads")), As(j.at("bytes")),  TriesFrom(j.at("bytes_per_second"))};
}

Ordered ToJson(const LatencyFigure& l) {
  return {{"level", l.level}, {"bytes", l.bytes}, {"seconds", ToJson(l.seconds)}};
}
LatencyFigure LatencyFrom(const Json& j) { return {As(j.at("level")), As(j.at("bytes")), TriesFrom(j.at("seconds"))}; }

Ordered ToJson(const OverheadFigure& c) {
  return {{"what", Name(c.what)}, {"threads", c.threads}, {"seconds", ToJson(c.seconds)}};
}
OverheadFigure CostFrom(const Json& j) {
  for (const Overhead cost : AllOverheads()) {
    if (Name(cost) == Get<std::string>(j.at("what"))) return {cost, As(j.at("threads")), TriesFrom(j.at("seconds"))};
  }
  throw std::runtime_error("unknown cost " + j.at("what").dump());
}

Ordered ToJson(const Calibration& c) {
  const auto each = [](const auto& item) { return ToJson(item); };
  return {{"format", kFormat},
          {"machine", c.machine},
          {"processor", c.processor},
          {"kernel", c.kernel},
          {"cores", c.cores},
          {"threads", c.threads},
          {"caches", List(c.caches, each)},
          {"when", c.when},
          {"seconds_spent", Number(c.seconds_spent)},
          {"clock_hz", Number(c.clock_hz)},
          {"peaks", List(c.peaks, each)},
          {"streams", List(c.streams, each)},
          {"latencies", List(c.latencies, each)},
          {"overheads", List(c.overheads, each)},
          {"noise", {{"pairs", c.noise.pairs}, {"median", Number(c.noise.median)}, {"p90", Number(c.noise.p90)}}},
          {"notes", c.notes}};
}
Calibration CalibrationFrom(const Json& j) {
  if (j.at("format") != kFormat) throw std::runtime_error("unknown format " + j.at("format").dump());
  Calibration c;
  Take(c.machine, j.at("machine"));
  Take(c.processor, j.at("processor"));
  Take(c.kernel, j.at("kernel"));
  Take(c.cores, j.at("cores"));
  Take(c.threads, j.at("threads"));
  c.caches = FromList<CacheLevel>(j.at("caches"), CacheFrom);
  Take(c.when, j.at("when"));
  c.seconds_spent = Real(j.at("seconds_spent"));
  c.clock_hz = Real(j.at("clock_hz"));
  c.peaks = FromList<PeakFigure>(j.at("peaks"), PeakFrom);
  c.streams = FromList<StreamFigure>(j.at("streams"), StreamFrom);
  c.latencies = FromList<LatencyFigure>(j.at("latencies"), LatencyFrom);
  c.overheads = FromList<OverheadFigure>(j.at("overheads"), CostFrom);
  const Json& noise = j.at("noise");
  c.noise = {As(noise.at("pairs")), Real(noise.at("median")), Real(noise.at("p90"))};
  c.notes = Get<std::vector<std::string>>(j.at("notes"));
  return c;
}

}  // namespace

std::string_view Name(Overhead cost) {
  switch (cost) {
    case Overhead::kFault4K:
      return "page_fault_4k";
    case Overhead::kFault2M:
      return "page_fault_2m";
    case Overhead::kSystemCall:
      return "system_call";
    case Overhead::kIndirectCall:
      return "indirect_call";
    case Overhead::kForkJoinSpin:
      return "fork_join_spin";
    case Overhead::kForkJoinSleep:
      return "fork_join_sleep";
    case Overhead::kWakeUp:
      return "wake_up";
    case Overhead::kClockRead:
      return "clock_read";
    case Overhead::kClockStep:
      return "clock_step";
    case Overhead::kNullUnit:
      return "null_unit";
    case Overhead::kNullUnitSpin:
      return "null_unit_spin";
  }
  ASSAY_CHECK(false);
}

std::vector<Overhead> AllOverheads() {
  return {Overhead::kFault4K,      Overhead::kFault2M,       Overhead::kSystemCall,  Overhead::kIndirectCall,
          Overhead::kForkJoinSpin, Overhead::kForkJoinSleep, Overhead::kWakeUp,      Overhead::kClockRead,
          Overhead::kClockStep,    Overhead::kNullUnit,      Overhead::kNullUnitSpin};
}

std::string CalibrationJson(const Calibration& calibration) { return Dump(ToJson(calibration), 2) + "\n"; }

Result<Calibration> ParseCalibration(std::string_view json) {
  return Parsed<Calibration>(json, "calibration", CalibrationFrom);
}

std::string CalibrationReportJson(const Calibration& calibration, bool from_cache, double age_seconds) {
  Ordered out = ToJson(calibration);
  out["from_cache"] = from_cache;
  out["age_seconds"] = Number(age_seconds);
  return Dump(out, 2) + "\n";
}

std::string CalibrationRefusedJson(std::string_view why) {
  return Dump({{"format", kFormat}, {"refused", std::string(why)}}, 2) + "\n";
}

}  // namespace assay
