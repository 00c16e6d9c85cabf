// SPDX-License-Identifier: Apache-2.0
// All JSON of the nouns, but for the calibration's.  The library stays inside record/json_*: other headers and rooms
// see strings.
#include "record/json.h"

#include "record/json_library.h"
#include "record/json_value.h"

namespace assay {
namespace {

using json_library::As;
using json_library::Dump;
using json_library::FromList;
using json_library::Get;
using json_library::GetOr;
using json_library::Json;
using json_library::Known;
using json_library::List;
using json_library::Number;
using json_library::Ordered;
using json_library::Parsed;
using json_library::Real;
using json_library::Take;

Ordered ToJson(const CheckRecord& check) {
  return {{"name", check.name},
          {"cases", check.cases},
          {"seconds", Number(check.seconds)},
          {"not_checked", check.not_checked}};
}
CheckRecord CheckFrom(const Json& j) {
  // Rows of before it was kept have none.
  return {As(j.at("name")), As(j.at("cases")), Real(j.at("seconds")),
          GetOr(j, "not_checked", std::vector<std::string>())};
}

Ordered ToJson(const Rejected& r) {
  return {{"stage", Name(r.stage)}, {"reason", Name(r.reason)}, {"check", r.check}, {"evidence", r.evidence}};
}
Rejected RejectedFrom(const Json& j) {
  Rejected r;
  r.stage = Known(ParseStage(Get<std::string>(j.at("stage"))), j.at("stage"));
  r.reason = Known(ParseReason(Get<std::string>(j.at("reason"))), j.at("reason"));
  Take(r.check, j.at("check"));
  Take(r.evidence, j.at("evidence"));
  return r;
}

// What was not measured is null, never 0 or 1.
Json OrNull(const std::optional<double>& value) { return value ? Number(*value) : Json(nullptr); }
std::optional<double> Measured(const Json& j) {
  return j.is_null() ? std::nullopt : std::optional<double>(Get<double>(j));
}

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

// The shape that `assay run --json` promises: {NAME: {seconds, estimate {value, groups}, floor_fraction}}.
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
  Take(d.most_groups, j.at("most_groups"));
  Take(d.bad_share, j.at("bad_share"));
  // Designs of before they were kept have neither.
  d.comparisons = GetOr(j, "comparisons", 0);
  d.regimes = GetOr(j, "regimes", std::vector<std::string>());
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
GroupProbe ProbeFrom(const Json& j) { return {As(j.at(0)), As(j.at(1)), Real(j.at(2))}; }

Ordered ToJson(const Ranked& r) {
  return {{"artifact", r.artifact},
          {"log_ratio", Number(r.log_ratio)},
          {"groups", r.groups},
          {"stopped_early", r.stopped_early}};
}

Ordered ToJson(const DecisionReport& r) {
  Ordered seconds = Ordered::object();
  for (const auto& [arm, value] : r.seconds) seconds[arm] = Number(value);
  Ordered by_workload = Ordered::object();
  Ordered prepare = Ordered::object();
  for (const auto& [arm, value] : r.prepare_seconds) prepare[arm] = Number(value);
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
          {"winner", {{"arm", r.winner}, {"low", Number(r.winner_low)}, {"high", Number(r.winner_high)}}},
          {"aa", {{"low", Number(r.aa_low)}, {"high", Number(r.aa_high)}}},
          {"control_found", r.control_found},
          {"units", List(r.units, [](const RawUnit& u) { return ToJson(u); })},
          {"probes", List(r.probes, [](const GroupProbe& p) { return ToJson(p); })},
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
  r.seconds_spent = Real(j.at("seconds_spent"));
  return r;
}

Ordered ToJson(const StageSeconds& s) {
  return {{"build", Number(s.build)},
          {"screen", Number(s.screen)},
          {"verify", Number(s.verify)},
          {"measure", Number(s.measure)},
          {"exam", Number(s.exam)}};
}

Ordered ToJson(const Machine& m) {
  return {{"id", m.id},
          {"processor", m.processor},
          {"kernel", m.kernel},
          {"distribution", m.distribution},
          {"cores", m.cores},
          {"memory_gib", Number(m.memory_gib)},
          {"features", m.features},
          {"walls", m.walls},
          {"gaps", m.gaps}};
}
Machine MachineFrom(const Json& j) {
  return {As(j.at("id")),           As(j.at("processor")), As(j.at("kernel")),
          As(j.at("distribution")), As(j.at("cores")),     Real(j.at("memory_gib")),
          As(j.at("features")),     As(j.at("walls")),     As(j.at("gaps"))};
}

Ordered ToJson(const ReferenceRecord& r) {
  Ordered out = {{"name", r.name},
                 {"kind", r.kind},
                 {"flags", r.flags},
                 {"kernel_family", r.kernel_family},
                 {"workloads", WorkloadsJson(r.workloads)}};
  if (r.rejected) out["rejected"] = ToJson(*r.rejected);
  return out;
}

Ordered NotesJson(const Attempt& a) {
  Ordered notes = Ordered::array();
  for (const Note note : a.notes) notes.push_back(Name(note));
  return notes;
}

// What users see of an attempt.
Ordered PublicAttempt(const Attempt& a) {
  return {{"id", a.ordinal},
          {"candidate", a.proposal.candidate.id},
          {"template", a.proposal.candidate.template_name},
          {"knobs", a.proposal.candidate.knobs},
          {"flags", a.proposal.candidate.flags},
          {"parents", a.proposal.parents},
          {"proposer", a.proposal.proposer},
          {"outcome", Name(a.outcome)},
          {"stage", Name(a.stage)},
          {"trust", Name(a.trust)},
          {"reason", a.rejected ? Json(Name(a.rejected->reason)) : Json(nullptr)},
          {"notes", NotesJson(a)},
          {"checks", List(a.checks, [](const CheckRecord& c) { return ToJson(c); })},
          {"seconds", ToJson(a.seconds)},
          {"workloads", WorkloadsJson(a.estimates)},
          {"evidence", a.rejected ? Json(a.rejected->evidence) : Json(nullptr)},
          {"check", a.rejected ? Json(a.rejected->check) : Json(nullptr)},
          {"duplicate_of", a.duplicate_of ? Json(*a.duplicate_of) : Json(nullptr)},
          {"failure", a.failure}};
}

Ordered StoredArtifact(const Artifact& a) {
  return {{"id", a.id},
          {"candidate", a.candidate},
          {"file_hash", a.file_hash},
          {"twin", a.twin},
          {"path", a.path.string()},
          {"name", a.name},
          {"compiler", a.compiler},
          {"command", a.command},
          {"build_seconds", Number(a.build_seconds)}};
}
Artifact ArtifactFrom(const Json& j) {
  Artifact a;
  Take(a.id, j.at("id"));
  Take(a.candidate, j.at("candidate"));
  Take(a.file_hash, j.at("file_hash"));
  Take(a.twin, j.at("twin"));
  a.path = Get<std::string>(j.at("path"));
  Take(a.name, j.at("name"));
  Take(a.compiler, j.at("compiler"));
  a.command = Get<std::vector<std::string>>(j.at("command"));
  a.build_seconds = Real(j.at("build_seconds"));
  return a;
}

Ordered StoredAttempt(const Attempt& a) {
  const Candidate& c = a.proposal.candidate;
  Ordered out = {{"ordinal", a.ordinal},
                 {"language", c.language},
                 {"template", c.template_name},
                 {"source", c.source_hash},
                 {"knobs", c.knobs},
                 {"defaults", c.defaults},
                 {"flags", c.flags},
                 {"candidate", c.id},
                 {"parents", a.proposal.parents},
                 {"proposer", a.proposal.proposer},
                 {"hypothesis", a.proposal.hypothesis},
                 {"outcome", Name(a.outcome)},
                 {"stage", Name(a.stage)},
                 {"trust", Name(a.trust)},
                 {"notes", NotesJson(a)},
                 {"failure", a.failure},
                 {"checks", List(a.checks, [](const CheckRecord& x) { return ToJson(x); })},
                 {"estimates", List(a.estimates, [](const Estimate& x) { return ToJson(x); })},
                 {"inspection", a.inspection},
                 {"seconds", ToJson(a.seconds)}};
  if (a.rejected) out["rejected"] = ToJson(*a.rejected);
  if (a.artifact) out["artifact"] = StoredArtifact(*a.artifact);
  if (a.duplicate_of) out["duplicate_of"] = *a.duplicate_of;
  return out;
}

Attempt AttemptFrom(const Json& j) {
  Attempt a;
  Candidate& c = a.proposal.candidate;
  Take(a.ordinal, j.at("ordinal"));
  Take(c.language, j.at("language"));
  Take(c.template_name, j.at("template"));
  Take(c.source_hash, j.at("source"));
  c.knobs = Get<KnobValues>(j.at("knobs"));
  c.defaults = Get<KnobValues>(j.at("defaults"));
  c.flags = Get<std::vector<std::string>>(j.at("flags"));
  Take(c.id, j.at("candidate"));
  a.proposal.parents = FromList<int64_t>(j.at("parents"), Get<int64_t>);
  Take(a.proposal.proposer, j.at("proposer"));
  Take(a.proposal.hypothesis, j.at("hypothesis"));
  a.outcome = Known(ParseOutcome(Get<std::string>(j.at("outcome"))), j.at("outcome"));
  a.stage = Known(ParseStage(Get<std::string>(j.at("stage"))), j.at("stage"));
  a.trust = Known(ParseTrust(Get<std::string>(j.at("trust"))), j.at("trust"));
  for (const Json& note : j.at("notes")) a.notes.push_back(Known(ParseNote(Get<std::string>(note)), note));
  Take(a.failure, j.at("failure"));
  a.checks = FromList<CheckRecord>(j.at("checks"), CheckFrom);
  a.estimates = FromList<Estimate>(j.at("estimates"), EstimateFrom);
  a.inspection = Get<std::map<std::string, std::string>>(j.at("inspection"));
  const Json& s = j.at("seconds");
  a.seconds = {Real(s.at("build")), Real(s.at("screen")), Real(s.at("verify")), Real(s.at("measure")),
               Real(s.at("exam"))};
  if (j.contains("rejected")) a.rejected = RejectedFrom(j.at("rejected"));
  if (j.contains("artifact")) a.artifact = ArtifactFrom(j.at("artifact"));
  if (j.contains("duplicate_of")) a.duplicate_of = Get<int64_t>(j.at("duplicate_of"));
  return a;
}

ReferenceRecord ReferenceFrom(const Json& j) {
  ReferenceRecord r;
  Take(r.name, j.at("name"));
  Take(r.kind, j.at("kind"));
  r.flags = Get<std::vector<std::string>>(j.at("flags"));
  Take(r.kernel_family, j.at("kernel_family"));
  r.workloads = FromList<Estimate>(j.at("estimates"), EstimateFrom);
  if (j.contains("rejected")) r.rejected = RejectedFrom(j.at("rejected"));
  return r;
}

Ranking RankingFrom(const Json& j) {
  Ranking r;
  r.order = FromList<Ranked>(j.at("order"), [](const Json& x) {
    return Ranked{As(x.at("artifact")), Real(x.at("log_ratio")), As(x.at("groups")), As(x.at("stopped_early"))};
  });
  for (const Json& x : j.at("rejected"))
    r.rejected.emplace_back(Get<Digest>(x.at("artifact")), RejectedFrom(x.at("rejected")));
  r.seconds_spent = Real(j.at("seconds_spent"));
  return r;
}

Admission AdmissionFrom(const Json& j) {
  Admission a;
  Take(a.admitted, j.at("admitted"));
  a.cases = FromList<AdmissionCase>(j.at("cases"), [](const Json& x) {
    return AdmissionCase{As(x.at("name")), As(x.at("must_pass")), Real(x.at("worst_over_limit")),
                         As(x.at("worst_regime")), As(x.at("as_expected"))};
  });
  a.complaints = Get<std::vector<std::string>>(j.at("complaints"));
  a.smallest_mutant = Real(j.at("smallest_mutant"));
  a.largest_honest = Real(j.at("largest_honest"));
  a.seconds = Real(j.at("seconds"));
  Take(a.gate_version, j.at("gate_version"));
  return a;
}

Ordered ToJson(const ControlRecord& c) {
  return {{"name", c.name},
          {"must_pass", c.must_pass},
          {"as_expected", c.AsExpected()},
          {"rejected", c.rejected ? Ordered(ToJson(*c.rejected)) : Ordered(nullptr)},
          {"seconds", Number(c.seconds)}};
}
ControlRecord ControlFrom(const Json& j) {
  ControlRecord c;
  Take(c.name, j.at("name"));
  Take(c.must_pass, j.at("must_pass"));
  if (!j.at("rejected").is_null()) c.rejected = RejectedFrom(j.at("rejected"));
  c.seconds = Real(j.at("seconds"));
  return c;
}

Campaign HeadFrom(const Json& j) {
  Campaign c;
  Take(c.id, j.at("id"));
  Take(c.contract, j.at("contract"));
  Take(c.contract_hash, j.at("contract_hash"));
  c.machine = MachineFrom(j.at("machine"));
  c.versions = Get<Versions>(j.at("versions"));
  Take(c.strategy, j.at("strategy"));
  Take(c.seed, j.at("seed"));
  Take(c.seed_hash, j.at("seed_hash"));
  Take(c.threads, j.at("threads"));
  c.budget = {As(j.at("budget").at("attempts")), As(j.at("budget").at("spent")), Real(j.at("budget").at("seconds"))};
  Take(c.command, j.at("command"));
  c.wall_seconds = Real(j.at("wall_seconds"));
  Take(c.stopped.why, j.at("stopped").at("why"));
  c.stopped.untried = Get<std::vector<std::string>>(j.at("stopped").at("untried"));
  c.rates = RatesFrom(j.at("rates"));
  for (const auto& [stage, seconds] : j.at("seconds_by_stage").items()) c.seconds_by_stage[stage] = Real(seconds);
  // A ledger of before has none.
  if (j.contains("controls")) c.controls = FromList<ControlRecord>(j.at("controls"), ControlFrom);
  if (j.contains("incumbent")) {
    const Json& i = j.at("incumbent");
    Incumbent incumbent;
    Take(incumbent.attempt, i.at("attempt"));
    Take(incumbent.examined, i.at("examined"));
    incumbent.floor_fraction = Measured(i.at("floor_fraction"));
    incumbent.floor_low = Real(i.at("floor_interval").at("low"));
    incumbent.floor_high = Real(i.at("floor_interval").at("high"));
    incumbent.floor = FloorFrom(i.at("floor"));
    incumbent.decisions = FromList<Decision>(i.at("decisions"), DecisionFrom);
    c.incumbent = incumbent;
  }
  return c;
}

Ordered IncumbentJson(const Incumbent& i) {
  Ordered speedup = Ordered::object();
  // One entry a reference: the headline workload, which the decision lists first.
  for (const Decision& d : i.decisions) {
    if (!speedup.contains(d.against)) speedup[d.against] = ToJson(d);
  }
  return {{"attempt", i.attempt},
          {"examined", i.examined},
          {"floor_fraction", OrNull(i.floor_fraction)},
          {"floor_interval", {{"low", Number(i.floor_low)}, {"high", Number(i.floor_high)}}},
          {"floor", ToJson(i.floor)},
          {"speedup", speedup},
          {"decisions", List(i.decisions, [](const Decision& d) { return ToJson(d); })}};
}

Ordered ToJson(const Recheck& r) {
  Ordered out = {{"campaign", r.campaign},
                 {"attempt", r.attempt},
                 {"outcome", r.rejected ? "retracted" : "stands"},
                 {"versions", r.versions},
                 {"checks", List(r.checks, [](const CheckRecord& c) { return ToJson(c); })},
                 {"seconds", Number(r.seconds)},
                 {"when", r.when}};
  if (r.rejected) out["rejected"] = ToJson(*r.rejected);
  return out;
}
Recheck RecheckFrom(const Json& j) {
  Recheck r;
  Take(r.campaign, j.at("campaign"));
  Take(r.attempt, j.at("attempt"));
  r.versions = Get<Versions>(j.at("versions"));
  if (j.contains("rejected")) r.rejected = RejectedFrom(j.at("rejected"));
  r.checks = FromList<CheckRecord>(j.at("checks"), CheckFrom);
  r.seconds = Real(j.at("seconds"));
  Take(r.when, j.at("when"));
  return r;
}

Ordered HeadJson(const Campaign& c) {
  Ordered by_stage = Ordered::object();
  for (const auto& [stage, seconds] : c.seconds_by_stage) by_stage[stage] = Number(seconds);
  Ordered out = {
      {"format", "assay.run.1"},
      {"id", c.id},
      {"contract", c.contract},
      {"contract_hash", c.contract_hash},
      {"machine", ToJson(c.machine)},
      {"versions", c.versions},
      {"strategy", c.strategy},
      {"seed", c.seed},
      {"seed_hash", c.seed_hash},
      {"threads", c.threads},
      {"budget", {{"attempts", c.budget.attempts}, {"spent", c.budget.spent}, {"seconds", Number(c.budget.seconds)}}},
      {"rates", ToJson(c.rates)},
      {"stopped", {{"why", c.stopped.why}, {"untried", c.stopped.untried}}},
      {"wall_seconds", Number(c.wall_seconds)},
      {"seconds_by_stage", by_stage},
      {"controls", List(c.controls, [](const ControlRecord& control) { return ToJson(control); })},
      {"command", c.command}};
  if (c.incumbent) out["incumbent"] = IncumbentJson(*c.incumbent);
  return out;
}

}  // namespace

namespace json_value {
std::string CandidateCore(const Candidate& candidate) {
  const Json core = {{"language", candidate.language},
                     {"source", candidate.source_hash},
                     {"knobs", candidate.knobs},
                     {"flags", candidate.flags}};
  return core.dump();
}
}  // namespace json_value

std::string CampaignJson(const Campaign& campaign) {
  Ordered out = HeadJson(campaign);
  out["references"] = List(campaign.references, [](const ReferenceRecord& r) { return ToJson(r); });
  out["attempts"] = List(campaign.attempts, [](const Attempt& a) { return PublicAttempt(a); });
  if (!campaign.incumbent) out["incumbent"] = nullptr;
  return Dump(out, 2) + "\n";
}

std::string AttemptJson(const Attempt& attempt) { return Dump(StoredAttempt(attempt)); }
Result<Attempt> ParseAttempt(std::string_view json) { return Parsed<Attempt>(json, "attempt", AttemptFrom); }

std::string ReferenceJson(const ReferenceRecord& reference) {
  Ordered out = ToJson(reference);
  out["estimates"] = List(reference.workloads, [](const Estimate& e) { return ToJson(e); });
  return Dump(out);
}
Result<ReferenceRecord> ParseReference(std::string_view json) {
  return Parsed<ReferenceRecord>(json, "reference", ReferenceFrom);
}

std::string RankingJson(const Ranking& ranking) {
  Ordered rejected = Ordered::array();
  for (const auto& [artifact, why] : ranking.rejected)
    rejected.push_back({{"artifact", artifact}, {"rejected", ToJson(why)}});
  return Dump({{"order", List(ranking.order, [](const Ranked& r) { return ToJson(r); })},
               {"rejected", rejected},
               {"seconds_spent", Number(ranking.seconds_spent)}});
}
Result<Ranking> ParseRanking(std::string_view json) { return Parsed<Ranking>(json, "ranking", RankingFrom); }

std::string DecisionReportJson(const DecisionReport& report) { return Dump(ToJson(report)); }
Result<DecisionReport> ParseDecisionReport(std::string_view json) {
  return Parsed<DecisionReport>(json, "decision", ReportFrom);
}

std::string AdmissionJson(const Admission& a) {
  const auto cases = List(a.cases, [](const AdmissionCase& c) {
    return Ordered{{"name", c.name},
                   {"must_pass", c.must_pass},
                   {"worst_over_limit", Number(c.worst_over_limit)},
                   {"worst_regime", c.worst_regime},
                   {"as_expected", c.as_expected}};
  });
  return Dump({{"admitted", a.admitted},
               {"cases", cases},
               {"complaints", a.complaints},
               {"smallest_mutant", Number(a.smallest_mutant)},
               {"largest_honest", Number(a.largest_honest)},
               {"seconds", Number(a.seconds)},
               {"gate_version", a.gate_version}});
}
Result<Admission> ParseAdmission(std::string_view json) { return Parsed<Admission>(json, "admission", AdmissionFrom); }

std::string RecheckJson(const Recheck& recheck) { return Dump(ToJson(recheck)); }
Result<Recheck> ParseRecheck(std::string_view json) { return Parsed<Recheck>(json, "recheck", RecheckFrom); }
std::string RechecksJson(std::span<const Recheck> rechecks) {
  Ordered list = Ordered::array();
  for (const Recheck& recheck : rechecks) list.push_back(ToJson(recheck));
  return Dump({{"format", "assay.recheck.1"}, {"rechecks", list}}, 2) + "\n";
}

std::string UnitsJson(std::span<const RawUnit> units) {
  Ordered list = Ordered::array();
  for (const RawUnit& unit : units) list.push_back(ToJson(unit));
  return Dump(list);
}
Result<std::vector<RawUnit>> ParseUnits(std::string_view json) {
  return Parsed<std::vector<RawUnit>>(json, "units", [](const Json& j) { return FromList<RawUnit>(j, UnitFrom); });
}

std::string CampaignHeadJson(const Campaign& campaign) { return Dump(HeadJson(campaign)); }
Result<Campaign> ParseCampaignHead(std::string_view json) { return Parsed<Campaign>(json, "campaign", HeadFrom); }

std::string VerdictJson(const Attempt& attempt, const std::string& contract, const Machine& machine,
                        const Versions& versions) {
  Ordered out = {
      {"format", "assay.verdict.1"}, {"contract", contract}, {"machine", ToJson(machine)}, {"versions", versions}};
  out.update(PublicAttempt(attempt));
  return Dump(out, 2) + "\n";
}

std::string BenchJson(const DecisionReport& last, std::span<const Comparison> comparisons,
                      std::span<const Artifact> arms, const std::string& contract, const Machine& machine,
                      const Versions& versions) {
  const auto brief = [](const Decision& d) {
    return Ordered{
        {"decision", Name(d.kind)}, {"value", OrNull(d.value)}, {"low", Number(d.low)}, {"high", Number(d.high)},
        {"groups", d.groups},       {"workload", d.workload},   {"note", d.note}};
  };
  Ordered list = Ordered::array();
  for (const Comparison& one : comparisons) {
    Ordered row = brief(one.Telling());
    row["seconds"] = Number(one.seconds);
    row["workloads"] = Ordered::array();
    for (const Decision& decision : one.decisions) row["workloads"].push_back(brief(decision));
    list.push_back(row);
  }
  Ordered compared = Ordered::array();
  for (const Artifact& arm : arms) compared.push_back({{"name", arm.name}, {"file_hash", arm.file_hash}});
  Ordered out = {{"format", "assay.bench.1"}, {"contract", contract}, {"machine", ToJson(machine)},
                 {"versions", versions},      {"arms", compared},     {"comparisons", list}};
  out.update(ToJson(last));
  return Dump(out, 2) + "\n";
}

std::string RedteamJson(const RedteamRun& run) {
  const auto one = [](const RedteamCase& c) {
    const std::string expected =
        c.expected.verdict + (c.expected.reason ? " " + std::string(Name(*c.expected.reason)) : "");
    return Ordered{{"class", c.class_name},
                   {"file", c.file},
                   {"contract", c.contract},
                   {"knobs", c.knobs},
                   {"seed", c.seed},
                   {"expected", expected},
                   {"outcome", Name(c.outcome)},
                   {"stage", Name(c.stage)},
                   {"reason", c.reason ? Json(Name(*c.reason)) : Json(nullptr)},
                   {"check", c.check},
                   {"evidence", c.evidence},
                   {"failure", c.failure},
                   {"astray", Astray(c)},
                   {"as_stated", AsStated(c)},
                   {"seconds", Number(c.seconds)}};
  };
  const Ordered out = {{"format", "assay.redteam.1"},  {"seeds", run.seeds}, {"without", run.without},
                       {"walls", run.walls},           {"gaps", run.gaps},   {"seconds", Number(run.seconds)},
                       {"cases", List(run.cases, one)}};
  return Dump(out, 2) + "\n";
}

}  // namespace assay
