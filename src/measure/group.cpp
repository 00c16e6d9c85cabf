// SPDX-License-Identifier: Apache-2.0
#include "measure/group.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "base/check.h"
#include "measure/contestant.h"
#include "measure/figures.h"
#include "measure/inputs.h"
#include "measure/together.h"

namespace assay {
namespace {

using std::chrono::nanoseconds;

constexpr double kHangTimes = 10;
constexpr double kHangSeconds = 2;
constexpr double kTrustedLimitSeconds = 60;
constexpr int kPaceCalls = 4, kFewestPaceCalls = 2;
constexpr double kPaceSeconds = 0.03;
constexpr nanoseconds kRecovery{2'000'000};

enum class UnitKind { kWarmUp, kShared, kGated };

// A turn in the rounds: an arm's process, with or without the planted delay.
struct Turn {
  size_t arm = 0;
  bool planted = false;
  ArmUnits plan;
};

}  // namespace

// Everything that lives only while one group runs.
class GroupRunner::Group {
 public:
  Group(GroupRunner& runner, int number, std::span<const Arm> arms, const GroupOptions& options)
      : runner_(runner),
        number_(number),
        arms_(arms),
        options_(options),
        stream_(runner.NextSeed("group")),
        processors_(AllowedProcessors()),
        draw_(DrawGroup(runner.contract_, options.threads, processors_, stream_)),
        rejected_(arms.size(), false),
        pace_(arms.size(), 0) {
    for (const int processor : processors_) {
      if (std::find(draw_.cpus.begin(), draw_.cpus.end(), processor) == draw_.cpus.end()) free_.push_back(processor);
    }
  }

  Result<GroupResult> Run();
  Status PaceOnly() {
    const PinScope place(free_);
    return Pace();
  }

 private:
  WaitMode mode() const { return free_.empty() ? WaitMode::kSleep : WaitMode::kSpin; }
  Status Pace();
  Status PaceOne(size_t arm);
  Result<Contestant::StartOutcome> Start(size_t arm, size_t slots);
  Status StartAll();
  Status WarmUp();
  Status RunRounds(UnitKind kind);
  Status RunTurn(const Turn& turn, int calls, UnitKind kind);
  void Probe();
  void RememberPace();
  Status Drawn(size_t contents);
  nanoseconds LimitOf(size_t arm, int calls) const;
  void Reject(size_t arm, Rejected rejected);
  bool Alive(size_t arm) const { return !rejected_[arm]; }
  // Trusted arms first: their times bound the others' patience.
  std::vector<size_t> TrustedFirst() const;

  GroupRunner& runner_;
  int number_;
  std::span<const Arm> arms_;
  GroupOptions options_;
  Stream stream_;
  std::vector<int> processors_;
  GroupDraw draw_;
  std::vector<int> free_;  // processors that are not measured: the supervisor's
  std::vector<bool> rejected_;
  std::vector<double> pace_;  // seconds a call; 0 = unknown
  std::vector<std::optional<Contestant>> contestants_;
  std::vector<Turn> turns_;
  int calls_ = 1;
  GroupResult result_;
};

void GroupRunner::Group::Reject(size_t arm, Rejected rejected) {
  rejected_[arm] = true;
  if (arm < contestants_.size()) contestants_[arm].reset();
  result_.rejected.emplace_back(arms_[arm].name, std::move(rejected));
}

std::vector<size_t> GroupRunner::Group::TrustedFirst() const {
  std::vector<size_t> order(arms_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return arms_[a].trusted && !arms_[b].trusted; });
  return order;
}

nanoseconds GroupRunner::Group::LimitOf(size_t arm, int calls) const {
  // The slowest that is known to be honest work.  Where nobody is trusted, what each took when it was first seen: an
  // arm that takes longer from group to group does not lengthen its own limit.
  const bool any_trusted = std::ranges::any_of(arms_, &Arm::trusted);
  double reference = 0;
  for (size_t i = 0; i < arms_.size(); ++i) {
    if (any_trusted && !arms_[i].trusted) continue;
    const auto first = runner_.first_pace_.find(arms_[i].key());
    const double of_this = any_trusted || first == runner_.first_pace_.end() ? pace_[i] : first->second;
    reference = std::max(reference, of_this);
  }
  const double least = arms_[arm].trusted || reference == 0 ? kTrustedLimitSeconds : kHangSeconds;
  return nanoseconds(static_cast<int64_t>(std::max(least, kHangTimes * reference * calls) * 1e9));
}

// New contents for the next round, for all arms alike.
Status GroupRunner::Group::Drawn(size_t contents) {
  // Only processors that nothing is measured on when there are some; all are idle otherwise.
  const int helpers = static_cast<int>(free_.empty() ? processors_.size() : free_.size());
  std::vector<InputDraw>& inputs = runner_.inputs_;
  if (inputs.empty() || inputs.front().slots() < contents) {
    inputs.clear();
    for (const Source& source : runner_.sources_) {
      ASSAY_TRY(InputDraw created, InputDraw::Create(*source.contract, *source.shape, contents, source.others));
      inputs.push_back(std::move(created));
    }
  }
  const Seed seed = runner_.NextSeed("inputs");
  for (size_t i = 0; i < inputs.size(); ++i)
    ASSAY_TRY_STATUS(
        inputs[i].Redraw(i == kOwnDraw ? seed : seed.Derive("beside", i), contents, helpers, options_.regime));
  return Ok();
}

Result<Contestant::StartOutcome> GroupRunner::Group::Start(size_t arm, size_t slots) {
  const Arm& one = arms_[arm];
  Chain parts;
  if (one.chain != nullptr) {
    parts = one.chain->parts;
  } else {
    parts.push_back(PartOf(runner_.contract_, runner_.shape_, *one.artifact, kOwnDraw));
  }
  return Contestant::Start({.chain = Surround(std::move(parts), runner_.contract_, runner_.around_),
                            .whole = one.chain != nullptr ? &runner_.contract_ : nullptr,
                            .whole_shape = &runner_.shape_,
                            .threads = options_.threads,
                            .slots = slots,
                            .mode = mode(),
                            .state = runner_.workload_.state},
                           draw_);
}

// How long a call takes must be known before the processes of the group start, because it decides
// the number of slots.  A process of its own finds it, once per artifact.
Status GroupRunner::Group::PaceOne(size_t arm) {
  ASSAY_TRY(Contestant::StartOutcome started, Start(arm, 2));
  if (auto* rejected = std::get_if<Rejected>(&started)) {
    Reject(arm, std::move(*rejected));
    return Ok();
  }
  Contestant& contestant = std::get<Contestant>(started);
  // The fastest of a few tells: the first pays for its pages, and one that lost its core to a stranger would
  // make a fast arm pass for a slow one, which gets a single unit.  What takes long is asked less often.
  double spent = 0;
  for (int i = 0; i < kPaceCalls && (i < kFewestPaceCalls || spent < kPaceSeconds); ++i) {
    ASSAY_TRY_STATUS(Drawn(1));
    const UnitRequest request{.calls = {.contents = {0}, .slots = {stream_.Below(2)}}, .limit = LimitOf(arm, 1)};
    ASSAY_TRY(UnitVerdict verdict, contestant.Run(request, runner_.inputs_, runner_.auditor_, stream_));
    if (auto* rejected = std::get_if<Rejected>(&verdict)) {
      Reject(arm, std::move(*rejected));
      return Ok();
    }
    const int64_t null = contestant.null_ns();
    // What is under half a null unit is the null unit's own noise, and the fastest of a few would pick just that:
    // of two equal kernels of 20 us one passed for ten times slower. The units of the first group know better.
    const int64_t net = std::max(std::get<UnitResult>(verdict).wall_ns - null, null / 2);
    const double seconds = std::max(1e-9 * static_cast<double>(net), 1e-7);
    pace_[arm] = i == 0 ? seconds : std::min(pace_[arm], seconds);
    spent += seconds;
  }
  runner_.pace_[arms_[arm].key()] = pace_[arm];
  runner_.first_pace_.emplace(arms_[arm].key(), pace_[arm]);
  return Ok();
}

Status GroupRunner::Group::Pace() {
  for (const size_t arm : TrustedFirst()) {
    const auto known = runner_.pace_.find(arms_[arm].key());
    if (known != runner_.pace_.end()) {
      pace_[arm] = known->second;
    } else {
      ASSAY_TRY_STATUS(PaceOne(arm));
    }
  }
  double fastest = 0;
  for (size_t arm = 0; arm < arms_.size(); ++arm) {
    if (Alive(arm) && (fastest == 0 || pace_[arm] < fastest)) fastest = pace_[arm];
  }
  ASSAY_TRY(const double bytes, BytesTouched(runner_.contract_, runner_.shape_));
  ASSAY_TRY(const int64_t warm,
            WarmBytes(runner_.contract_, runner_.shape_, runner_.workload_.state, static_cast<int64_t>(bytes)));
  calls_ = CallsPerUnit(fastest, static_cast<int64_t>(bytes), warm, options_.limits);
  // Calls that follow one another would push what the first producer left out of reach of the first call.
  if (runner_.workload_.state == CacheState::kInSitu) calls_ = 1;
  for (size_t arm = 0; arm < arms_.size(); ++arm) {
    if (!Alive(arm)) continue;
    const ArmUnits plan = UnitsFor(pace_[arm], fastest, calls_, options_.depth);
    result_.pace[arms_[arm].name] = pace_[arm];
    turns_.push_back({arm, false, plan});
    if (arms_[arm].plant > 0) turns_.push_back({arm, true, plan});
  }
  return Ok();
}

Status GroupRunner::Group::StartAll() {
  contestants_.resize(arms_.size());
  std::vector<size_t> order = DrawSlots(arms_.size(), arms_.size(), stream_);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return arms_[a].trusted && !arms_[b].trusted; });
  for (const size_t arm : order) {
    if (!Alive(arm)) continue;
    ASSAY_TRY(Contestant::StartOutcome started, Start(arm, static_cast<size_t>(calls_) + 1));
    if (auto* rejected = std::get_if<Rejected>(&started)) {
      Reject(arm, std::move(*rejected));
      continue;
    }
    contestants_[arm].emplace(std::move(std::get<Contestant>(started)));
  }
  return Ok();
}

Status GroupRunner::Group::RunTurn(const Turn& turn, int calls, UnitKind kind) {
  Contestant& contestant = *contestants_[turn.arm];
  const Arm& arm = arms_[turn.arm];
  UnitRequest request{.calls = {.contents = std::vector<size_t>(static_cast<size_t>(calls)),
                                .slots = DrawSlots(contestant.slots(), static_cast<size_t>(calls), stream_)},
                      .limit = LimitOf(turn.arm, calls)};
  std::iota(request.calls.contents.begin(), request.calls.contents.end(), size_t{0});
  if (turn.planted) request.delay_seconds = arm.plant * pace_[turn.arm] * calls;
  request.state = runner_.workload_.state;
  ASSAY_TRY(UnitVerdict verdict, contestant.Run(request, runner_.inputs_, runner_.auditor_, stream_));
  if (auto* rejected = std::get_if<Rejected>(&verdict)) {
    Reject(turn.arm, std::move(*rejected));
    return Ok();
  }
  if (kind == UnitKind::kWarmUp) return Ok();
  const UnitResult& unit = std::get<UnitResult>(verdict);
  result_.units.push_back({.group = number_,
                           .arm = turn.planted ? arm.planted_name : arm.name,
                           .workload = runner_.workload_.name,
                           .calls = calls,
                           .wall_ns = unit.wall_ns,
                           .null_ns = contestant.null_ns(),
                           .cpu_ns = unit.cpu_ns,
                           .gated = kind == UnitKind::kGated,
                           .redrawn = false,
                           .census = false,
                           .regime = options_.regime,
                           .own_ns = unit.own_ns,
                           .prepare_ns = unit.prepare_ns});
  return Ok();
}

Status GroupRunner::Group::RunRounds(UnitKind kind) {
  const bool gated = kind == UnitKind::kGated;
  std::vector<int> counts;
  for (const Turn& turn : turns_) counts.push_back(gated ? turn.plan.gated : turn.plan.units);
  for (const std::vector<int>& round : BalancedRounds(counts, stream_)) {
    ASSAY_TRY_STATUS(Drawn(gated ? 1 : static_cast<size_t>(calls_)));
    const auto trusted = [&](int number) {
      const size_t arm = turns_[static_cast<size_t>(number)].arm;
      return Alive(arm) && arms_[arm].trusted;
    };
    const auto last = std::find_if(round.rbegin(), round.rend(), trusted);
    for (auto at = round.begin(); at != round.end(); ++at) {
      const Turn& turn = turns_[static_cast<size_t>(*at)];
      if (Alive(turn.arm)) ASSAY_TRY_STATUS(RunTurn(turn, gated ? 1 : turn.plan.calls, kind));
      // Right behind a trusted unit: what a candidate's unit did to the clock or to a cache is over by then.  Without
      // such an arm nothing is probed, or a candidate could have its bad groups drawn again.
      if (last != round.rend() && at + 1 == last.base()) Probe();
    }
  }
  return Ok();
}

// Wide registers lower the clock of some processors for a millisecond; a trusted unit may be a call of a few
// microseconds.
void GroupRunner::Group::Probe() {
  const int64_t since = result_.units.empty() ? 0 : result_.units.back().wall_ns;
  if (since < kRecovery.count()) std::this_thread::sleep_for(kRecovery - nanoseconds(since));
  runner_.probes_.Add(draw_.cpus, options_.prober(draw_.cpus));
}

// The first call of a process pays for its pages and its code; it is audited like any other but
// says nothing about speed.  An arm that gets one unit is so slow that this does not show.
Status GroupRunner::Group::WarmUp() {
  ASSAY_TRY_STATUS(Drawn(static_cast<size_t>(calls_)));
  for (const Turn& turn : turns_) {
    if (turn.planted || turn.plan.units < 2 || !Alive(turn.arm)) continue;
    ASSAY_TRY_STATUS(RunTurn(turn, turn.plan.calls, UnitKind::kWarmUp));
  }
  return Ok();
}

Result<GroupResult> GroupRunner::Group::Run() {
  // With a free core the supervisor stays there and watches; else it sleeps while a unit runs.
  const PinScope place(free_);
  ASSAY_TRY_STATUS(Pace());
  ASSAY_TRY_STATUS(StartAll());
  ASSAY_TRY(const CpuSnapshot before, TakeCpuSnapshot(draw_.cpus));
  ASSAY_TRY_STATUS(WarmUp());
  ASSAY_TRY_STATUS(RunRounds(UnitKind::kShared));
  if (calls_ > 1) ASSAY_TRY_STATUS(RunRounds(UnitKind::kGated));
  // Ended processes are counted once they are buried, and the living while they live: either way
  // before the second look, or their time would pass for a stranger's.
  contestants_.clear();
  ASSAY_TRY(const CpuSnapshot after, TakeCpuSnapshot(draw_.cpus));
  result_.disturbance = Between(before, after, !free_.empty());
  result_.slowed = runner_.probes_.EndGroup();
  result_.disturbance.slowed = result_.slowed.value_or(0);
  if (Disturbed(result_.disturbance, static_cast<int>(draw_.cpus.size()))) {
    result_.disturbed = true;
    result_.why_disturbed = result_.disturbance.Describe();
  }
  RememberPace();
  return std::move(result_);
}

void GroupRunner::Group::RememberPace() {
  const Figures figures(result_.units);
  for (size_t arm = 0; arm < arms_.size(); ++arm) {
    const ArmFigures* seen = figures.Find(number_, runner_.workload_.name, arms_[arm].name);
    if (seen != nullptr && !seen->shared.empty()) runner_.pace_[arms_[arm].key()] = seen->Seconds();
  }
}

GroupRunner::GroupRunner(const Contract& contract, const Workload& workload, Shape shape, Surroundings around,
                         Auditor& auditor, Seed seed)
    : contract_(contract),
      workload_(workload),
      shape_(std::move(shape)),
      around_(std::move(around)),
      auditor_(auditor),
      seed_(seed) {
  sources_.push_back(SourceOf(contract_, shape_, around_.producer ? around_.producer->input : ""));
  for (auto* neighbour : {&around_.producer, &around_.consumer}) {
    if (!*neighbour) continue;
    NeighbourKernel& kernel = **neighbour;
    kernel.draw = sources_.size();
    sources_.push_back(SourceOf(*kernel.contract, kernel.shape, neighbour == &around_.consumer ? kernel.input : ""));
  }
}

GroupRunner::~GroupRunner() = default;

GroupRunner::Source GroupRunner::SourceOf(const Contract& contract, const Shape& shape, const std::string& passed) {
  Source source{&contract, &shape, {}};
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    if (contract.tensors[t].name == passed) source.others.insert(t);
  }
  return source;
}

Seed GroupRunner::NextSeed(std::string_view purpose) { return seed_.Derive(purpose, draws_++); }

Status GroupRunner::Pace(std::span<const Arm> arms, const GroupOptions& options) {
  Group one(*this, 0, arms, options);
  return one.PaceOnly();
}

std::optional<double> GroupRunner::PaceOf(const Artifact& artifact) const {
  const auto found = pace_.find(artifact.file_hash);
  return found == pace_.end() ? std::nullopt : std::optional<double>(found->second);
}

Result<GroupResult> GroupRunner::Run(int group, std::span<const Arm> arms, const GroupOptions& options) {
  Group one(*this, group, arms, options);
  return one.Run();
}

}  // namespace assay
