// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "record/attempt.h"

namespace assay {

// A finished campaign with every kind of row, for tests of what is shown.
inline Campaign SampleCampaign() {
  Campaign c;
  c.id = "0123456789ab";
  c.contract = "gqa_attention";
  c.contract_hash = Sha256("contract");
  c.machine = {"m", "AMD EPYC 9B14", "6.1.0", "Debian 12", 2, 24, {"avx512f"}, {"user", "pid", "seccomp"}, {"landlock"}};
  c.versions = {{"assay", "0.1.0"}, {"g++", "g++ 12.2.0"}};
  c.strategy = "three-explorers-seven-refiners";
  c.seed = 7;
  c.seed_hash = Sha256("secret");
  c.threads = 2;
  c.budget = {6, 6, 0};
  c.command = "assay run gqa_attention --budget 6 --seed 7";
  c.wall_seconds = 181.4;
  c.seconds_by_stage = {{"build", 22.5}, {"crown", 41}};
  c.rates = {.f32_peak_1t = 116e9,
             .f32_peak = 231e9,
             .copy_bytes = 38e9,
             .triad_bytes = 41e9,
             .read_bytes = 43e9,
             .clock_hz = 3.6e9,
             .lanes = 16,
             .pipes = 1,
             .threads = 2,
             .peaks = {{"i8", 464e9, 924e9}},
             .caches = {{2, 1 << 20, 1, 180e9, 350e9}},
             .refused = ""};
  c.stopped = {"budget", {"random"}};
  c.references.push_back({"strict", "baseline", {"-O3", "-march=native"}, "", {}, {{"prefill-1k", 0.41, 1, 0, 0.045, false}}});
  c.references.push_back({"openblas128", "peer", {}, "SkylakeX", {}, {{"prefill-1k", 0.033, 1, 0, 0.56, false}}});
  for (int i = 1; i <= 6; ++i) {
    Attempt a;
    a.ordinal = i;
    a.proposal.proposer = i < 3 ? "default" : i == 4 ? "refiner" : "explorer";
    if (i == 4) a.proposal.parents = {1};
    a.proposal.candidate.template_name = i % 2 == 0 ? "panels" : "<b>online</b>";
    a.proposal.candidate.knobs = {{"KB", "256"}, {"MR", std::to_string(4 * i)}};
    a.proposal.candidate.flags = {"-O3", "-march=native"};
    a.checks = {{"smoke", 1, 0.01}, {"hidden shapes", 12, 0.4}};
    if (i == 3) {
      a.outcome = OutcomeKind::kRejected;
      a.rejected = Rejected{Stage::kScreen, Reason::kWrongAnswer, "hidden shapes", "T=7: o[3]: got <script>alert(1)</script>\x1b[31m, expected 0.5", {}};
    } else if (i == 5) {
      a.duplicate_of = 2;
      a.notes = {Note::kDuplicate};
    } else {
      a.outcome = i == 6 ? OutcomeKind::kUndecided : OutcomeKind::kVerified;
      a.trust = i == 6 ? Trust::kScreened : i == 4 ? Trust::kExamined : Trust::kVerified;
      a.estimates = {{"prefill-1k", 0.03 - 0.002 * i, 1.1, 1, 0.6 + 0.05 * i, false}};
      if (i == 6) a.notes = {Note::kDropped};
    }
    c.attempts.push_back(a);
  }
  Incumbent incumbent{4, true, 0.82, 0.8, 0.84, {"prefill-1k", "f32 peak", 0.0186, 231e9, 4.3e9, 25e6}, {}};
  const struct {
    const char* against;
    double value;
  } decided[] = {{"openblas128", 1.46}, {"relaxed", 6.5}, {"strict", 18.2}};
  for (const auto& d : decided) {
    Decision decision{d.against, "prefill-1k", DecisionKind::kFaster, d.value, d.value * 0.99, d.value * 1.01, d.value * 0.95, d.value * 1.05, 10, 1, 0.01, 0.0033, {}, 63, 0, {{"q: normal(0, 1)", d.value, 20, 0}, {"q: ladder(1e-4, 1e4)", 0.98 * d.value, 20, 0}}, ""};
    for (int g = 0; g < 10; ++g) decision.group_log_ratios.push_back(std::log(d.value) + 0.004 * (g % 5 - 2));
    incumbent.decisions.push_back(decision);
  }
  c.incumbent = incumbent;
  DecisionReport report;
  report.decisions = incumbent.decisions;
  report.aa_low = -0.002;
  report.aa_high = 0.003;
  report.control_found = true;
  report.winner = "blocked MR=6 NV=2";
  report.winner_low = 0.0222;
  report.winner_high = 0.0228;
  report.floors = {incumbent.floor};
  for (int i = 0; i < 120; ++i) {
    RawUnit unit;
    unit.group = i / 12;
    unit.workload = "prefill-1k";
    unit.wall_ns = 22'500'000 + 60'000 * (i * 7 % 11) + (i % 29 == 0 ? 9'000'000 : 0);
    unit.arm = report.winner;
    report.units.push_back(unit);
    unit.wall_ns = 32'800'000 + 90'000 * (i * 5 % 13);
    unit.arm = decided[0].against;
    report.units.push_back(unit);
  }
  c.decision = report;
  return c;
}

}  // namespace assay
