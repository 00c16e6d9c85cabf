// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "record/seams.h"
#include "support/trust_for_test.h"

namespace assay {

// Services that answer from the candidate's own knobs, and write down what they were asked.
// SPEED: seconds a call; FATE: how the candidate ends ("good", "no_build", "screen", "verify", "exam", "audit").
struct FakeWorld {
  std::vector<std::string> asked;                 // "build 1a2b", "screen ...", in order
  std::map<Digest, Candidate> candidates;         // by artifact id
  double most_seconds = -1;                       // of the decision, as it was asked for

  const std::string& Knob(const Artifact& artifact, const char* name) {
    static const std::string kGood = "good";
    const auto at = candidates.find(artifact.id);
    if (at == candidates.end()) return kGood;
    const auto knob = at->second.knobs.find(name);
    return knob == at->second.knobs.end() ? kGood : knob->second;
  }
  double SecondsOf(const Artifact& artifact) {
    const auto at = candidates.find(artifact.id);
    if (at == candidates.end()) return 10;
    return std::stod(at->second.knobs.at("SPEED"));
  }
  static Rejected Refusal(Stage stage, Reason reason) { return {stage, reason, "fake check", "fake evidence", {}}; }
};

class FakeBuilder : public Builder {
 public:
  explicit FakeBuilder(FakeWorld& world) : world_(world) {}
  Result<BuildOutcome> Build(const Contract&, const Candidate& candidate, BuildVariant) override {
    world_.asked.push_back("build " + candidate.id);
    Artifact artifact;
    artifact.id = "artifact-" + candidate.id;
    artifact.candidate = candidate.id;
    // TWIN: candidates that compile to the same code.
    artifact.twin = candidate.knobs.contains("TWIN") ? candidate.knobs.at("TWIN") : candidate.id;
    artifact.name = candidate.template_name;
    world_.candidates[artifact.id] = candidate;
    if (world_.Knob(artifact, "FATE") == "no_build") return BuildOutcome(FakeWorld::Refusal(Stage::kBuild, Reason::kBuildFailed));
    return BuildOutcome(artifact);
  }
  Status Prepare(const Contract&, std::span<const Candidate>) override { return Ok(); }
  Result<BuildOutcome> BuildReference(const Contract&, const ReferenceKernel& reference) override {
    Artifact artifact;
    artifact.id = "reference-" + reference.name;
    artifact.twin = artifact.id;
    artifact.name = reference.name;
    artifact.trusted_code = true;
    return BuildOutcome(artifact);
  }

 private:
  FakeWorld& world_;
};

class FakeInspector : public Inspector {
 public:
  Inspection Inspect(const Artifact&) override { return {{{"fake", "yes"}}}; }
};

class FakeGate : public Gate {
 public:
  explicit FakeGate(FakeWorld& world) : world_(world) {}
  Result<ScreenOutcome> Screen(const Contract&, const Artifact& artifact) override {
    world_.asked.push_back("screen " + artifact.candidate);
    if (world_.Knob(artifact, "FATE") == "screen") return ScreenOutcome(FakeWorld::Refusal(Stage::kScreen, Reason::kWrongAnswer));
    return ScreenOutcome(TrustForTest::MakeScreened(artifact));
  }
  Result<VerifyOutcome> Verify(const Contract&, const Screened& screened) override {
    world_.asked.push_back("verify " + screened.artifact().candidate);
    if (world_.Knob(screened.artifact(), "FATE") == "verify") return VerifyOutcome(FakeWorld::Refusal(Stage::kVerify, Reason::kNondeterministic));
    return VerifyOutcome(TrustForTest::MakeVerified(screened.artifact()));
  }
  Result<ExamOutcome> Examine(const Contract&, const Candidate&, const Verified& verified) override {
    world_.asked.push_back("exam " + verified.artifact().candidate);
    if (world_.Knob(verified.artifact(), "FATE") == "exam") return ExamOutcome(FakeWorld::Refusal(Stage::kExam, Reason::kWrongAnswer));
    return ExamOutcome(TrustForTest::MakeExamined(verified.artifact()));
  }
  Result<VerifyOutcome> Control(const Contract& contract, const Artifact& artifact) override {
    Result<ScreenOutcome> screened = Screen(contract, artifact);
    if (const auto* refused = std::get_if<Rejected>(&screened.value())) return VerifyOutcome(*refused);
    return Verify(contract, std::get<Screened>(screened.value()));
  }
  Result<Admission> Admit(const Contract&) override { return Admission{true, {}, {}, 10, 0.1, 0, "fake"}; }

 private:
  FakeWorld& world_;
};

class FakeTimer : public Timer {
 public:
  explicit FakeTimer(FakeWorld& world) : world_(world) {}
  void SetWitness(Verified) override {}
  Result<EstimateOutcome> Estimate(const Contract&, const Screened& screened, const Verified* against) override {
    world_.asked.push_back("estimate " + screened.artifact().candidate);
    const double mine = world_.SecondsOf(screened.artifact());
    const double other = against != nullptr ? world_.SecondsOf(against->artifact()) : 10;
    Estimates estimates;
    estimates.workloads.push_back({"only", mine, other / mine, 1, 0.5 / mine, against != nullptr && other / mine < 0.7});
    estimates.units.push_back({0, "challenger", "only", 1, static_cast<int64_t>(mine * 1e9), 0, 0, false, false, false});
    return EstimateOutcome(estimates);
  }
  Result<Ranking> Rank(const Contract&, std::span<const Verified> verified) override {
    Ranking ranking;
    for (const Verified& one : verified) {
      world_.asked.push_back("rank " + one.artifact().candidate);
      if (world_.Knob(one.artifact(), "FATE") == "audit") {
        ranking.rejected.emplace_back(one.artifact().id, FakeWorld::Refusal(Stage::kMeasure, Reason::kAuditMismatch));
      } else {
        ranking.order.push_back({one.artifact().id, -std::log(world_.SecondsOf(one.artifact())), 2, false});
      }
    }
    std::stable_sort(ranking.order.begin(), ranking.order.end(), [](const Ranked& a, const Ranked& b) { return a.log_ratio > b.log_ratio; });
    return ranking;
  }
  Result<DecideOutcome> Decide(const Contract&, const Examined& winner, std::span<const Verified> references,
                               double most_seconds) override {
    world_.most_seconds = most_seconds;
    world_.asked.push_back("decide " + winner.artifact().candidate);
    DecisionReport report;
    for (const Verified& reference : references) {
      Decision decision;
      decision.against = reference.artifact().name;
      decision.workload = "only";
      decision.kind = DecisionKind::kFaster;
      decision.value = 10 / world_.SecondsOf(winner.artifact());
      decision.low = decision.high = *decision.value;
      decision.groups = 8;
      report.decisions.push_back(decision);
      report.workload_seconds["only"][reference.artifact().name] = 10;
    }
    report.seconds["winner"] = world_.SecondsOf(winner.artifact());
    report.floors.push_back({"only", "f32 peak", 0.5, 1e9, 5e8, 0});
    return DecideOutcome(report);
  }

 private:
  FakeWorld& world_;
};

class FakeClock : public Clock {
 public:
  bool busy_machine = false;  // all time goes by waiting for others
  std::chrono::nanoseconds Now() override { return now_ += std::chrono::milliseconds(1); }
  std::chrono::nanoseconds Waited() override { return busy_machine ? now_ : std::chrono::nanoseconds(0); }

 private:
  std::chrono::nanoseconds now_{0};
};

class QuietProgress : public Progress {
 public:
  void Entered(const Campaign&, const std::string&, const std::string&) override {}
  void Finished(const Campaign&, const Attempt&) override {}
};

}  // namespace assay
