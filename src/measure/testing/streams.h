// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "measure/decide.h"
#include "record/timing.h"

namespace assay::testing {

// A machine and its kernels as a hand-cranked clock sees them.
struct StreamArm {
  std::string name;
  // Seconds a call in this group, before noise; a two-faced kernel has its own mind here.
  std::function<double(int group, Stream&)> seconds;
  int units = 6;
  double delay = 0;  // planted, as a share
  int calls = 1;
  double gated_extra = -1;        // >= 0: as many gated units, this much slower each
  std::vector<double> by_regime;  // factor of its time where all values are of one kind; empty: 1
};

struct StreamNoise {
  double between = 0.01;  // of an arm between groups (layout luck)
  double within = 0.01;   // of a unit
  double tails = 0.1;     // share of units that take `tail_factor` times as long
  double tail_factor = 5;
  double group_tails = 0;  // share of an arm's groups whose luck is five times as large
  std::function<double(int group, int unit)> drift = [](int, int) { return 0.0; };  // common to all arms, ln
};

inline std::function<double(int, Stream&)> Constant(double seconds) {
  return [seconds](int, Stream&) { return seconds; };
}

// One group, unit by unit, arms in turns; a short one of the census has five units of each.
inline void PlayGroup(int group, const std::vector<StreamArm>& arms, const StreamNoise& noise, Stream& stream,
                      const std::string& workload, std::vector<RawUnit>& units, bool census = false, int regime = -1) {
  for (const StreamArm& arm : arms) {
    const double luck = noise.between * stream.Normal() * (stream.Unit() < noise.group_tails ? 5 : 1);
    const double of_values = regime < 0 || arm.by_regime.empty() ? 1 : arm.by_regime[static_cast<size_t>(regime)];
    const double base = arm.seconds(group, stream) * of_values * std::exp(luck) * (1 + arm.delay);
    const auto unit = [&](int number, int calls, bool gated, double factor) {
      double value = base * factor * std::exp(noise.within * stream.Normal() + noise.drift(group, number));
      if (stream.Unit() < noise.tails) value *= noise.tail_factor;
      constexpr int64_t kNull = 50'000;
      units.push_back({.group = group,
                       .arm = arm.name,
                       .workload = workload,
                       .calls = calls,
                       .wall_ns = static_cast<int64_t>(value * 1e9 * calls) + kNull,
                       .null_ns = kNull,
                       .cpu_ns = 0,
                       .gated = gated,
                       .redrawn = false,
                       .census = census,
                       .regime = regime});
    };
    for (int i = 0; i < (census ? 5 : arm.units); ++i) unit(i, arm.calls, false, 1);
    for (int i = 0; !census && arm.gated_extra >= 0 && i < 12; ++i) unit(i, 1, true, 1 + arm.gated_extra);
  }
}

// Groups of both kinds on all workloads until the evidence is settled, exactly as a live decision asks for them.  A
// share `disturbed` of them is drawn again: their units are a hundred times as long and count nowhere.
inline Evidence PlayDecision(const DecisionDesign& design, const std::vector<StreamArm>& arms, const StreamNoise& noise,
                             Stream& stream, std::vector<RawUnit>* kept = nullptr, double disturbed = 0) {
  std::vector<RawUnit> units;
  Evidence evidence = DecideFromUnits(units, design);
  int group = 0, full = 0;
  std::map<std::string, std::vector<StreamArm>> beside;  // by workload, whom short groups hold: the winner and another
  const auto play = [&](bool short_one, int regime) {
    const bool quiet = stream.Unit() >= disturbed;
    const size_t first = units.size();
    for (const std::string& workload : design.workloads) {
      PlayGroup(group, short_one ? beside.at(workload) : arms, noise, stream, workload, units, short_one, regime);
    }
    for (size_t i = first; i < units.size() && !quiet; ++i) units[i].redrawn = true, units[i].wall_ns *= 100;
    ++group;
    return quiet;
  };
  while (!evidence.settled) {
    std::vector<int> wanted(static_cast<size_t>(evidence.census_due), -1);
    wanted.insert(wanted.end(), evidence.regimes_due.begin(), evidence.regimes_due.end());
    if (!wanted.empty()) {
      const Figures figures(units);
      for (const std::string& workload : design.workloads) {
        const std::string fastest = FastestReference(figures, design, workload);
        beside[workload].clear();
        for (const StreamArm& arm : arms) {
          if (arm.name == design.winner || arm.name == fastest) beside[workload].push_back(arm);
        }
      }
    }
    for (size_t next = 0; next < wanted.size();) next += play(true, wanted[next]) ? 1 : 0;
    while (wanted.empty() && full < evidence.next_look) full += play(false, -1) ? 1 : 0;
    evidence = DecideFromUnits(units, design);
  }
  if (kept != nullptr) *kept = std::move(units);
  return evidence;
}

// "candidate" against "reference", with the candidate's copy, the reference's copy and a planted 3 %.
inline DecisionDesign PlainDesign() {
  DecisionDesign design;
  design.winner = "candidate";
  design.copy = "copy of candidate";
  design.references = {"reference"};
  design.workloads = {"w"};
  design.witness = "reference";
  design.witness_copy = "copy of reference";
  design.planted = "reference + 3 %";
  return design;
}

inline std::vector<StreamArm> PlainArms(std::function<double(int, Stream&)> candidate, double reference = 10e-3) {
  return {{"candidate", candidate},
          {"copy of candidate", candidate},
          {"reference", Constant(reference)},
          {"copy of reference", Constant(reference)},
          {"reference + 3 %", Constant(reference), 6, 0.03}};
}

}  // namespace assay::testing
