// SPDX-License-Identifier: Apache-2.0
//
// Estimates, and what the three strengths of evidence share.  rank.cpp orders, crown.cpp claims.
#include "measure/clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "measure/calibration.h"
#include "measure/clock_state.h"
#include "measure/figures.h"

namespace assay {
namespace {

// One group may be wrong by a few percent, never by this much.
constexpr double kDropBelow = 0.7;
constexpr double kLongCall = 10e-3;  // several times what makes a call a unit of its own

Error OthersAreBusy(std::chrono::milliseconds patience) {
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("others have been timing, building or checking on this machine for {}; wait for them or stop them",
                  Seconds(std::chrono::duration<double>(patience).count()))};
}

const Rejected* RejectionOf(const GroupResult& group, const std::string& arm) {
  for (const auto& [name, why] : group.rejected) {
    if (name == arm) return &why;
  }
  return nullptr;
}

struct EstimateArms {
  std::vector<Arm> arms;
  std::string candidate, incumbent, witness;  // names; "" = not there
};

EstimateArms ArmsOf(const Artifact& candidate, const Verified* against, const Verified* witness) {
  std::vector<const Artifact*> artifacts = {&candidate};
  if (against != nullptr) artifacts.push_back(&against->artifact());
  // The first candidate of a campaign may meet the witness as its incumbent.
  const bool apart = witness != nullptr && (against == nullptr || witness->artifact().id != against->artifact().id);
  if (apart) artifacts.push_back(&witness->artifact());
  const std::vector<std::string> names = ArmNames(artifacts);
  EstimateArms all;
  for (size_t i = 0; i < artifacts.size(); ++i) {
    all.arms.push_back(Arm::Of(names[i], *artifacts[i]));
  }
  all.candidate = names[0];
  if (against != nullptr) all.incumbent = names[1];
  if (apart) all.witness = names.back();
  if (witness != nullptr && !apart) all.witness = all.incumbent;
  return all;
}

}  // namespace

Rejected RefusedWhileTimed(Reason reason, std::string check, std::string evidence) {
  return Rejected{.stage = Stage::kMeasure,
                  .reason = reason,
                  .check = std::move(check),
                  .evidence = std::move(evidence),
                  .checks = {}};
}

Status KernelTimer::State::Prepare(const Contract& asked) {
  if (contract == &asked && contract_hash == asked.hash && !courses.empty()) return Ok();
  ASSAY_TRY(courses, CoursesOf(asked, options.workloads, options.threads, auditor, options.seed, options.builder));
  for (const Course& course : courses) {
    if (!course.beside.empty()) Tell(fmt::format("in situ: {}: {}", course.workload->name, course.beside));
  }
  contract = &asked;
  contract_hash = asked.hash;
  return Ok();
}

Result<MachineLease> KernelTimer::State::Lease() {
  auto lease = options.lease_file ? MachineLease::AcquireAt(*options.lease_file, options.lease_patience)
                                  : MachineLease::Acquire(options.lease_patience);
  if (!lease.ok()) return std::move(lease).error();
  if (!lease.value()) return OthersAreBusy(options.lease_patience);
  return *std::move(lease).value();
}

Status KernelTimer::State::GiveWay(MachineLease& lease) const {
  ASSAY_TRY(const bool back, lease.GiveWay(options.lease_patience));
  if (!back) return OthersAreBusy(options.lease_patience);
  return Ok();
}

Result<RunRates*> KernelTimer::State::RatesFor(int threads) {
  if (!options.calibrate) return static_cast<RunRates*>(nullptr);
  const std::pair<int, std::string> key(threads, courses.front().work.unit);
  auto found = rates.find(key);
  if (found == rates.end()) {
    ASSAY_TRY(RunRates measured, MeasuredRates(threads, key.second));
    found = rates.emplace(key, std::move(measured)).first;
  } else if (!found->second.Best().refused.empty()) {
    // Refused once is not refused for the campaign: whoever shared the cores may have left.
    ASSAY_TRY(RunRates measured, MeasuredRates(threads, key.second));
    if (measured.Best().refused.empty()) found->second = std::move(measured);
  }
  return &found->second;
}

Result<RunRates> KernelTimer::State::MeasuredRates(int threads, const std::string& unit) const {
  ASSAY_TRY(MachineRates measured, MeasureRates(threads, unit));
  RunRates made(std::move(measured), threads);
  if (!options.calibrations.empty()) {
    if (const auto kept = KeptCalibration(options.calibrations, threads)) made.TakeCalibrated(*kept);
  }
  return made;
}

Result<GroupResult> KernelTimer::State::QuietGroup(Course& course, std::span<const Arm> arms, Depth depth,
                                                   std::vector<RawUnit>& units) {
  const GroupOptions group = OptionsOf(course, depth);
  for (int attempt = 0;; ++attempt) {
    ASSAY_TRY(GroupResult result, course.runner->Run(next_group++, arms, group));
    // No claim hangs on an estimate or a ranking: on a machine that stays busy the second draw counts.
    const bool again = options.redraw && result.disturbed && attempt == 0 && result.rejected.empty();
    for (RawUnit& unit : result.units) unit.redrawn = again;
    units.insert(units.end(), result.units.begin(), result.units.end());
    if (!again) return result;
  }
}

std::optional<Rejected> KernelTimer::State::CheckPhysics(const Course& course, double seconds, const std::string& arm,
                                                         std::span<const RawUnit> units, RunRates* run_rates) const {
  if (run_rates == nullptr || !run_rates->Best().refused.empty()) return std::nullopt;
  // In situ the kernel's own part counts, or its neighbours' time would hide what it left out.  A short call is alone
  // in its unit, beside the null units of three processes: what is under half of them is their noise, and nothing to
  // refuse anybody for.
  seconds *= OwnShare(units, course.workload->name, arm);
  std::vector<double> nulls = {0};
  for (const RawUnit& unit : units) {
    if (unit.own_ns != 0 && unit.arm == arm && unit.workload == course.workload->name)
      nulls.push_back(1e-9 * static_cast<double>(unit.null_ns));
  }
  const double noise = *std::ranges::max_element(nulls) / 2;
  if (!Implausible(std::max(seconds, noise), course.work, run_rates->Best())) return std::nullopt;
  // The best that was ever seen may be from a moment when somebody shared the machine: it is asked again first.
  run_rates->ProbePeak();
  if (!run_rates->ProbeBandwidth().ok()) return std::nullopt;
  const auto why = Implausible(std::max(seconds, noise), course.work, run_rates->Best());
  if (!why) return std::nullopt;
  return RefusedWhileTimed(Reason::kImplausiblyFast, "physics", *why);
}

KernelTimer::KernelTimer(Auditor& auditor, TimerOptions options)
    : state_(std::make_unique<State>(auditor, std::move(options))) {}
KernelTimer::~KernelTimer() = default;

void KernelTimer::SetWitness(Verified witness) { state_->witness = std::move(witness); }

Result<MachineRates> KernelTimer::Rates(const Contract& contract) {
  ASSAY_TRY(const MachineLease lease, state_->Lease());
  ASSAY_TRY_STATUS(state_->Prepare(contract));
  ASSAY_TRY(RunRates* const rates, state_->RatesFor(state_->courses.front().threads));
  return rates == nullptr ? MachineRates{} : rates->Median();
}

Result<EstimateOutcome> KernelTimer::Estimate(const Contract& contract, const Screened& screened,
                                              const Verified* against) {
  State& state = *state_;
  ASSAY_TRY(const MachineLease lease, state.Lease());
  ASSAY_TRY_STATUS(state.Prepare(contract));
  const Stopwatch spent;
  Estimates estimates;
  for (Course& course : state.courses) {
    // What a single call costs beyond a shared one is no question where calls last so long that each is a unit; then
    // the incumbent alone is enough to compare with.
    const auto pace = against != nullptr ? course.runner->PaceOf(against->artifact()) : std::nullopt;
    const bool each_a_unit = pace && *pace >= kLongCall;
    const EstimateArms arms =
        ArmsOf(screened.artifact(), against, each_a_unit || !state.witness ? nullptr : &*state.witness);
    ASSAY_TRY(RunRates* const rates, state.RatesFor(course.threads));
    int groups = 1;
    ASSAY_TRY(GroupResult group, state.QuietGroup(course, arms.arms, Depth::kEstimate, estimates.units));
    const auto of = [&](const std::string& arm) {
      const Figures figures(group.units);
      const ArmFigures* found = arm.empty() || figures.Groups().empty()
                                    ? nullptr
                                    : figures.Find(figures.Groups().back(), course.workload->name, arm);
      return found == nullptr ? std::optional<ArmFigures>() : std::optional<ArmFigures>(*found);
    };
    // A gap between gated and shared calls is an outcome only when it comes back in a new group.
    for (; groups <= 2; ++groups) {
      if (const Rejected* why = RejectionOf(group, arms.candidate)) return EstimateOutcome(*why);
      if (const Rejected* why = RejectionOf(group, arms.witness)) {
        return Error{ErrorCode::kCorrupt,
                     fmt::format("the witness {} was refused while it was timed: {}", arms.witness, why->evidence)};
      }
      const auto candidate = of(arms.candidate), witness = of(arms.witness);
      if (!candidate || !GatedSlower(*candidate, witness ? &*witness : nullptr)) break;
      if (groups == 2) {
        return EstimateOutcome(
            RefusedWhileTimed(Reason::kGatedSlower, "gated calls",
                              fmt::format("{}: single calls take more than 15 % longer than shared ones, in two groups",
                                          course.workload->name)));
      }
      ASSAY_TRY(group, state.QuietGroup(course, arms.arms, Depth::kEstimate, estimates.units));
    }
    const auto candidate = of(arms.candidate);
    if (!candidate) return Error{ErrorCode::kUnavailable, "a group ended without a unit of the candidate"};
    auto other = of(arms.incumbent);
    const bool against_incumbent = other.has_value();
    if (!other) other = of(arms.witness);

    struct Estimate one;
    one.workload = course.workload->name;
    one.seconds = candidate->Seconds();
    if (other) one.ratio = std::exp(LogRatio(*other, *candidate));
    one.groups = groups;
    one.dropped = against_incumbent && *one.ratio < kDropBelow;
    const Floor floor = rates != nullptr ? ReferenceFloor(course.work, rates->Median()) : Floor{};
    const double own = one.seconds * OwnShare(estimates.units, one.workload, arms.candidate);
    if (floor.seconds > 0 && own > 0) one.floor_fraction = floor.seconds / own;
    if (auto why = state.CheckPhysics(course, one.seconds, arms.candidate, estimates.units, rates))
      return EstimateOutcome(std::move(*why));
    estimates.workloads.push_back(one);
    if (one.dropped) break;  // whatever it does elsewhere, it is not followed further
  }
  estimates.seconds_spent = spent.Seconds();
  return EstimateOutcome(std::move(estimates));
}

}  // namespace assay
