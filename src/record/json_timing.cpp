// SPDX-License-Identifier: Apache-2.0
#include "record/json_timing.h"

namespace assay::json_timing {

using json_library::As;
using json_library::FromList;
using json_library::Get;
using json_library::GetOr;
using json_library::Known;
using json_library::List;
using json_library::Number;
using json_library::Real;
using json_library::Take;

Json OrNull(const std::optional<double>& value) { return value ? Number(*value) : Json(nullptr); }
std::optional<double> Measured(const Json& j) {
  return j.is_null() ? std::nullopt : std::optional<double>(Get<double>(j));
}

namespace {

Ordered ToJson(const ElementPeak& p) {
  return {{"element", p.element}, {"one_thread", Number(p.one_thread)}, {"all_threads", Number(p.all_threads)}};
}
ElementPeak ElementPeakFrom(const Json& j) {
  return {As(j.at("element")), Real(j.at("one_thread")), Real(j.at("all_threads"))};
}

Ordered ToJson(const CacheRate& c) {
  return {{"level", c.level},
          {"bytes", c.bytes},
          {"sharers", c.sharers},
          {"one_thread", Number(c.one_thread)},
          {"all_threads", Number(c.all_threads)}};
}
CacheRate CacheRateFrom(const Json& j) {
  return {As(j.at("level")), As(j.at("bytes")), As(j.at("sharers")), Real(j.at("one_thread")),
          Real(j.at("all_threads"))};
}

Ordered ToJson(const RegimeFigure& r) {
  return {{"values", r.values}, {"times", OrNull(r.times)}, {"restarts", r.restarts}, {"bad_restarts", r.bad_restarts}};
}
RegimeFigure RegimeFrom(const Json& j) {
  RegimeFigure r;
  Take(r.values, j.at("values"));
  r.times = Measured(j.at("times"));
  Take(r.restarts, j.at("restarts"));
  Take(r.bad_restarts, j.at("bad_restarts"));
  return r;
}

Ordered ToJson(const DecisionDesign& d) {
  return {{"winner", d.winner},
          {"copy", d.copy},
          {"references", d.references},
          {"workloads", d.workloads},
          {"witness", d.witness},
          {"witness_copy", d.witness_copy},
          {"planted", d.planted},
          {"plant", d.plant},
          {"control_found_before", d.control_found_before},
          {"alpha", d.alpha},
          {"asked_margin", d.asked_margin},
          {"between_runs", d.between_runs},
          {"second_run", d.second_run},
          {"most_groups", d.most_groups},
          {"bad_share", d.bad_share},
          {"comparisons", d.comparisons},
          {"regimes", d.regimes}};
}
DecisionDesign DesignFrom(const Json& j) {
  DecisionDesign d;
  Take(d.winner, j.at("winner"));
  Take(d.copy, j.at("copy"));
  d.references = Get<std::vector<std::string>>(j.at("references"));
  d.workloads = Get<std::vector<std::string>>(j.at("workloads"));
  if (d.workloads.empty() && !d.references.empty()) throw std::runtime_error("a design without workloads");
  Take(d.witness, j.at("witness"));
  Take(d.witness_copy, j.at("witness_copy"));
  Take(d.planted, j.at("planted"));
  Take(d.plant, j.at("plant"));
  Take(d.control_found_before, j.at("control_found_before"));
  Take(d.alpha, j.at("alpha"));
  Take(d.asked_margin, j.at("asked_margin"));
  Take(d.between_runs, j.at("between_runs"));
  d.second_run = GetOr(j, "second_run", false);  // decisions of before knew only their own spread
  Take(d.most_groups, j.at("most_groups"));
  Take(d.bad_share, j.at("bad_share"));
  // Designs of before they were kept have neither.
  d.comparisons = GetOr(j, "comparisons", 0);
  d.regimes = GetOr(j, "regimes", std::vector<std::string>());
  return d;
}

}  // namespace

Ordered ToJson(const Estimate& e) {
  return {{"workload", e.workload},
          {"seconds", Number(e.seconds)},
          {"ratio", OrNull(e.ratio)},
          {"groups", e.groups},
          {"floor_fraction", OrNull(e.floor_fraction)},
          {"dropped", e.dropped}};
}
Estimate EstimateFrom(const Json& j) {
  return {As(j.at("workload")),
          Real(j.at("seconds")),
          Measured(j.at("ratio")),
          As(j.at("groups")),
          Measured(j.at("floor_fraction")),
          As(j.at("dropped"))};
}

Ordered WorkloadsJson(const std::vector<Estimate>& estimates) {
  Ordered out = Ordered::object();
  for (const Estimate& e : estimates) {
    out[e.workload] = {{"seconds", Number(e.seconds)},
                       {"estimate", {{"value", OrNull(e.ratio)}, {"groups", e.groups}}},
                       {"floor_fraction", OrNull(e.floor_fraction)}};
  }
  return out;
}

Ordered ToJson(const Floor& f) {
  return {{"workload", f.workload},
          {"bound_by", f.bound_by},
          {"seconds", Number(f.seconds)},
          {"peak_in_run", Number(f.peak_in_run)},
          {"operations", Number(f.operations)},
          {"bytes", Number(f.bytes)},
          {"source", f.calibrated ? "calibrated" : "this run"}};
}
Floor FloorFrom(const Json& j) {
  // Rows of before there were calibrated floors have no source.
  return {As(j.at("workload")),
          As(j.at("bound_by")),
          Real(j.at("seconds")),
          Real(j.at("peak_in_run")),
          Real(j.at("operations")),
          Real(j.at("bytes")),
          GetOr(j, "source", std::string()) == "calibrated"};
}

Ordered ToJson(const MachineRates& r) {
  return {{"f32_peak_1t", Number(r.f32_peak_1t)},
          {"f32_peak", Number(r.f32_peak)},
          {"copy_bytes", Number(r.copy_bytes)},
          {"triad_bytes", Number(r.triad_bytes)},
          {"read_bytes", Number(r.read_bytes)},
          {"clock_hz", Number(r.clock_hz)},
          {"lanes", r.lanes},
          {"pipes", r.pipes},
          {"threads", r.threads},
          {"peaks", List(r.peaks, [](const ElementPeak& p) { return ToJson(p); })},
          {"caches", List(r.caches, [](const CacheRate& c) { return ToJson(c); })},
          {"refused", r.refused}};
}
MachineRates RatesFrom(const Json& j) {
  MachineRates r;
  r.f32_peak_1t = Real(j.at("f32_peak_1t"));
  r.f32_peak = Real(j.at("f32_peak"));
  r.copy_bytes = Real(j.at("copy_bytes"));
  r.triad_bytes = Real(j.at("triad_bytes"));
  r.clock_hz = Real(j.at("clock_hz"));
  Take(r.lanes, j.at("lanes"));
  Take(r.pipes, j.at("pipes"));
  Take(r.refused, j.at("refused"));
  // Rows of before other types and caches were asked have only those above.
  if (j.contains("read_bytes")) r.read_bytes = Real(j.at("read_bytes"));
  r.threads = GetOr(j, "threads", 0);
  if (j.contains("peaks")) r.peaks = FromList<ElementPeak>(j.at("peaks"), ElementPeakFrom);
  if (j.contains("caches")) r.caches = FromList<CacheRate>(j.at("caches"), CacheRateFrom);
  return r;
}

Ordered ToJson(const Decision& d) {
  Ordered logs = Ordered::array();
  for (const double value : d.group_log_ratios) logs.emplace_back(Number(value));
  Ordered regimes = Ordered::array();
  for (const RegimeFigure& regime : d.regimes) regimes.push_back(ToJson(regime));
  return {{"against", d.against},
          {"workload", d.workload},
          {"decision", Name(d.kind)},
          {"value", OrNull(d.value)},
          {"low", Number(d.low)},
          {"high", Number(d.high)},
          {"reproduction", {{"low", Number(d.reproduction_low)}, {"high", Number(d.reproduction_high)}}},
          {"groups", d.groups},
          {"redrawn", d.redrawn},
          {"margin", Number(d.margin)},
          {"alpha", Number(d.alpha)},
          {"group_log_ratios", logs},
          {"restarts", d.restarts},
          {"bad_restarts", d.bad_restarts},
          {"regimes", regimes},
          {"note", d.note}};
}
Decision DecisionFrom(const Json& j) {
  Decision d;
  Take(d.against, j.at("against"));
  Take(d.workload, j.at("workload"));
  d.kind = Known(ParseDecision(Get<std::string>(j.at("decision"))), j.at("decision"));
  d.value = Measured(j.at("value"));
  d.low = Real(j.at("low"));
  d.high = Real(j.at("high"));
  d.reproduction_low = Real(j.at("reproduction").at("low"));
  d.reproduction_high = Real(j.at("reproduction").at("high"));
  Take(d.groups, j.at("groups"));
  Take(d.redrawn, j.at("redrawn"));
  d.margin = Real(j.at("margin"));
  d.alpha = Real(j.at("alpha"));
  for (const Json& value : j.at("group_log_ratios")) d.group_log_ratios.push_back(Real(value));
  // Rows of before they were counted have none.
  d.restarts = GetOr(j, "restarts", 0);
  d.bad_restarts = GetOr(j, "bad_restarts", 0);
  if (j.contains("regimes")) d.regimes = FromList<RegimeFigure>(j.at("regimes"), RegimeFrom);
  Take(d.note, j.at("note"));
  return d;
}

Ordered ToJson(const RawUnit& u) {
  Ordered row = {u.group,  u.arm,   u.workload, u.calls,  u.wall_ns, u.null_ns,
                 u.cpu_ns, u.gated, u.redrawn,  u.census, u.regime};
  if (u.own_ns != 0 || u.prepare_ns != 0) row.push_back(u.own_ns);
  if (u.prepare_ns != 0) row.push_back(u.prepare_ns);
  return row;
}
RawUnit UnitFrom(const Json& j) {
  // Rows of before there was a census have nine fields, those of before values of one kind were timed have ten; the
  // twelfth is there in situ, the thirteenth where weights are packed.
  return {As(j.at(0)),
          As(j.at(1)),
          As(j.at(2)),
          As(j.at(3)),
          As(j.at(4)),
          As(j.at(5)),
          As(j.at(6)),
          As(j.at(7)),
          As(j.at(8)),
          j.size() > 9 && Get<bool>(j.at(9)),
          j.size() > 10 ? Get<int>(j.at(10)) : -1,
          j.size() > 11 ? Get<int64_t>(j.at(11)) : 0,
          j.size() > 12 ? Get<int64_t>(j.at(12)) : 0};
}

Ordered ToJson(const GroupProbe& p) { return {p.group, p.workload, Number(p.slowed)}; }
Ordered ToJson(const GroupRedraw& g) { return {g.group, g.why}; }
GroupRedraw RedrawFrom(const Json& j) { return {As(j.at(0)), As(j.at(1))}; }
GroupProbe ProbeFrom(const Json& j) { return {As(j.at(0)), As(j.at(1)), Real(j.at(2))}; }

Ordered ToJson(const Ranked& r) {
  return {{"artifact", r.artifact},
          {"log_ratio", Number(r.log_ratio)},
          {"groups", r.groups},
          {"stopped_early", r.stopped_early}};
}

Ranked RankedFrom(const Json& j) {
  return {As(j.at("artifact")), Real(j.at("log_ratio")), As(j.at("groups")), As(j.at("stopped_early"))};
}

Ordered ToJson(const DecisionReport& r) {
  Ordered seconds = Ordered::object();
  for (const auto& [arm, value] : r.seconds) seconds[arm] = Number(value);
  Ordered by_workload = Ordered::object();
  Ordered prepare = Ordered::object(), own = Ordered::object();
  for (const auto& [arm, value] : r.prepare_seconds) prepare[arm] = Number(value);
  for (const auto& [arm, value] : r.own_seconds) own[arm] = Number(value);
  for (const auto& [workload, arms] : r.workload_seconds) {
    Ordered row = Ordered::object();
    for (const auto& [arm, value] : arms) row[arm] = Number(value);
    by_workload[workload] = row;
  }
  return {{"design", ToJson(r.design)},
          {"power",
           {{"sigma", Number(r.power.sigma)},
            {"resolves", Number(r.power.resolves)},
            {"groups", Number(r.power.groups)},
            {"seconds", Number(r.power.seconds)},
            {"threads", r.power.threads}}},
          {"decisions", List(r.decisions, [](const Decision& d) { return ToJson(d); })},
          {"floors", List(r.floors, [](const Floor& f) { return ToJson(f); })},
          {"rates", ToJson(r.rates)},
          {"seconds", seconds},
          {"workload_seconds", by_workload},
          {"prepare_seconds", prepare},
          {"own_seconds", own},
          {"winner", {{"arm", r.winner}, {"low", Number(r.winner_low)}, {"high", Number(r.winner_high)}}},
          {"aa", {{"low", Number(r.aa_low)}, {"high", Number(r.aa_high)}}},
          {"control_found", r.control_found},
          {"units", List(r.units, [](const RawUnit& u) { return ToJson(u); })},
          {"probes", List(r.probes, [](const GroupProbe& p) { return ToJson(p); })},
          {"redraws", List(r.redraws, [](const GroupRedraw& g) { return ToJson(g); })},
          {"seconds_spent", Number(r.seconds_spent)}};
}
DecisionReport ReportFrom(const Json& j) {
  DecisionReport r;
  if (j.contains("design")) r.design = DesignFrom(j.at("design"));
  if (j.contains("power")) {
    const Json& p = j.at("power");
    r.power = {Real(p.at("sigma")), Real(p.at("resolves")), Real(p.at("groups")), Real(p.at("seconds")),
               As(p.at("threads"))};
  }
  r.decisions = FromList<Decision>(j.at("decisions"), DecisionFrom);
  r.floors = FromList<Floor>(j.at("floors"), FloorFrom);
  r.rates = RatesFrom(j.at("rates"));
  for (const auto& [arm, value] : j.at("seconds").items()) r.seconds[arm] = Real(value);
  if (j.contains("own_seconds")) {
    for (const auto& [arm, value] : j.at("own_seconds").items()) r.own_seconds[arm] = Real(value);
  }
  if (j.contains("prepare_seconds")) {
    for (const auto& [arm, value] : j.at("prepare_seconds").items()) r.prepare_seconds[arm] = Real(value);
  }
  for (const auto& [workload, arms] : j.at("workload_seconds").items()) {
    for (const auto& [arm, value] : arms.items()) r.workload_seconds[workload][arm] = Real(value);
  }
  Take(r.winner, j.at("winner").at("arm"));
  r.winner_low = Real(j.at("winner").at("low"));
  r.winner_high = Real(j.at("winner").at("high"));
  r.aa_low = Real(j.at("aa").at("low"));
  r.aa_high = Real(j.at("aa").at("high"));
  Take(r.control_found, j.at("control_found"));
  r.units = FromList<RawUnit>(j.at("units"), UnitFrom);
  // Rows of before anything was probed between units have none.
  if (j.contains("probes")) r.probes = FromList<GroupProbe>(j.at("probes"), ProbeFrom);
  if (j.contains("redraws")) r.redraws = FromList<GroupRedraw>(j.at("redraws"), RedrawFrom);
  r.seconds_spent = Real(j.at("seconds_spent"));
  return r;
}

}  // namespace assay::json_timing
