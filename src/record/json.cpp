// SPDX-License-Identifier: Apache-2.0
// All JSON of the nouns, but for the clock's and the calibration's.  The library stays inside record/json_*: other
// headers and rooms see strings.
#include "record/json.h"

#include "record/json_library.h"
#include "record/json_timing.h"
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
using json_timing::DecisionFrom;
using json_timing::EstimateFrom;
using json_timing::FloorFrom;
using json_timing::Measured;
using json_timing::OrNull;
using json_timing::RankedFrom;
using json_timing::RatesFrom;
using json_timing::ReportFrom;
using json_timing::ToJson;
using json_timing::UnitFrom;
using json_timing::WorkloadsJson;

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
  r.order = FromList<Ranked>(j.at("order"), RankedFrom);
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
    incumbent.floor_low = Measured(i.at("floor_interval").at("low"));
    incumbent.floor_high = Measured(i.at("floor_interval").at("high"));
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
          {"floor_interval", {{"low", OrNull(i.floor_low)}, {"high", OrNull(i.floor_high)}}},
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
