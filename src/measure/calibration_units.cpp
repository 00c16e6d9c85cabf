// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "language/cpp/compile.h"
#include "language/cpp/toolchain.h"
#include "measure/calibration.h"
#include "measure/calibration_tries.h"
#include "measure/environment.h"
#include "measure/together.h"
#include "numerics/statistics.h"
#include "sandbox/session.h"

namespace assay {
namespace {

constexpr int kNullUnits = 40;
constexpr int kPairs = 40;
constexpr double kUnitSeconds = 1e-3;  // of one unit that is timed against itself
constexpr std::chrono::seconds kLimit{5};

// Work that nothing but the clock and the neighbours can slow: one multiplication waits for the other.
constexpr const char* kSource =
    "extern \"C\" __attribute__((visibility(\"default\"))) void calibrate(unsigned long count) {\n"
    "  for (unsigned long value = 3; count != 0; --count) {\n"
    "    value *= value;\n"
    "    __asm__ volatile(\"\" : \"+r\"(value));\n"
    "  }\n"
    "}\n";
constexpr double kCyclesPerCount = 3;

// None: this machine has no compiler, which is no fault of it; `why` then says so.
Result<std::optional<std::string>> CompileWork(std::string& why) {
  const Result<Toolchain>& toolchain = PrimaryToolchain();
  if (!toolchain.ok()) {
    why = toolchain.error().message;
    return std::optional<std::string>();
  }
  CompileJob job;
  job.toolchain = &toolchain.value();
  job.source = kSource;
  job.flags = {"-O2"};
  job.policy.required_exports = {"calibrate"};
  job.policy.trusted_code = true;
  ASSAY_TRY(CompileOutcome outcome, Compile(job));
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    return Error{ErrorCode::kUnavailable, "the calibration's own unit does not compile: " + rejected->evidence};
  return std::optional<std::string>(std::move(std::get<CompiledFile>(outcome).bytes));
}

Result<Session> StartSession(const std::filesystem::path& object, int processor) {
  SessionSpec spec;
  spec.artifact = object;
  spec.symbols = {"calibrate"};
  spec.cpus = {processor};
  spec.trusted = true;
  ASSAY_TRY(StartOutcome started, Session::Start(spec));
  if (const auto* failed = std::get_if<LoadFailed>(&started)) return Error{ErrorCode::kUnavailable, failed->text};
  if (const auto* ended = std::get_if<Ended>(&started)) return Error{ErrorCode::kUnavailable, ended->evidence};
  return std::get<Session>(std::move(started));
}

Result<double> SecondsOf(Session& session, std::span<const Call> calls, WaitMode mode) {
  ASSAY_TRY(const UnitOutcome outcome, session.Run(calls, kLimit, mode));
  const auto* completed = std::get_if<Completed>(&outcome);
  if (completed == nullptr) return Error{ErrorCode::kUnavailable, "the calibration's own unit did not end"};
  return static_cast<double>(completed->timing.wall_ns) * 1e-9;
}

Status AddNullUnits(Calibration& calibration, Session& session, Overhead what, WaitMode mode) {
  std::vector<double> seconds(kNullUnits);
  for (double& second : seconds) {
    ASSAY_TRY(second, SecondsOf(session, {}, mode));
  }
  calibration.overheads.push_back({what, 1, TimeOf(seconds, 1)});
  return Ok();
}

// Units by turns, who goes first too, as a group times its arms.
Result<NoiseFigure> NoiseOf(Session& first, Session& second, double clock_hz, WaitMode mode) {
  const auto count = static_cast<uint64_t>(kUnitSeconds * clock_hz / kCyclesPerCount);
  const std::vector<Call> calls = {{0, {IntegerArgument{count}}}};
  std::vector<double> logs;
  for (int pair = 0; pair < kPairs; ++pair) {
    Session& earlier = pair % 2 == 0 ? first : second;
    Session& later = pair % 2 == 0 ? second : first;
    ASSAY_TRY(const double a, SecondsOf(earlier, calls, mode));
    ASSAY_TRY(const double b, SecondsOf(later, calls, mode));
    logs.push_back(std::abs(std::log(a / b)));
  }
  std::sort(logs.begin(), logs.end());
  return NoiseFigure{kPairs, Median(logs), logs[logs.size() * 9 / 10]};
}

}  // namespace

Status CalibrateUnits(Calibration& calibration) {
  std::erase_if(calibration.overheads, [](const OverheadFigure& cost) {
    return cost.what == Overhead::kNullUnit || cost.what == Overhead::kNullUnitSpin;
  });
  std::string why;
  ASSAY_TRY(const std::optional<std::string> bytes, CompileWork(why));
  if (!bytes) {
    calibration.notes.push_back("no null unit and no noise: " + why);
    return Ok();
  }
  ASSAY_TRY(const TemporaryFolder folder, TemporaryFolder::Create("assay-calibrate"));
  const std::filesystem::path object = folder.path() / "calibrate.so";
  ASSAY_TRY_STATUS(WriteFileAtomically(object, *bytes));
  const std::vector<int>& processors = AllowedProcessors();
  const int measured = processors.front();
  ASSAY_TRY(Session first, StartSession(object, measured));
  ASSAY_TRY(Session second, StartSession(object, measured));
  ASSAY_TRY_STATUS(AddNullUnits(calibration, first, Overhead::kNullUnit, WaitMode::kSleep));
  // As the clock does: whoever watches from another core does so without sleeping.
  const bool free = processors.size() > 1;
  const WaitMode mode = free ? WaitMode::kSpin : WaitMode::kSleep;
  const PinScope place(free ? std::vector<int>(processors.begin() + 1, processors.end()) : processors);
  if (free) {
    ASSAY_TRY_STATUS(AddNullUnits(calibration, first, Overhead::kNullUnitSpin, mode));
  }
  ASSAY_TRY(calibration.noise, NoiseOf(first, second, calibration.clock_hz, mode));
  return Ok();
}

}  // namespace assay
