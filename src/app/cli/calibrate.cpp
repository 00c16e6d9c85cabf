// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "base/text.h"
#include "language/cpp/builder.h"
#include "measure/calibration.h"
#include "measure/environment.h"
#include "measure/lease.h"
#include "report/calibration.h"
#include "report/table.h"

namespace assay {
namespace {

constexpr std::chrono::seconds kLeasePatience{120};

Result<CalibrationOutcome> MeasureAlone(int threads) {
  ASSAY_TRY(const std::optional<MachineLease> lease, MachineLease::Acquire(kLeasePatience));
  if (!lease) {
    return CalibrationOutcome(CalibrationRefused{fmt::format(
        "a campaign has been timing on this machine for {}; wait for it or stop it", Span(kLeasePatience.count()))});
  }
  const auto tell = [](const std::string& part) { Say(Wrap(part, OutputWidth(), "calibrate: ", "  ")); };
  return Calibrate({threads, tell});
}

Status Show(const CalibrateArguments& arguments, const Calibration& calibration, bool from_cache) {
  const int64_t age = std::max<int64_t>(0, SecondsNow() - calibration.when);
  ASSAY_TRY_STATUS(WriteJson(arguments.json, CalibrationReportJson(calibration, from_cache, static_cast<double>(age))));
  if (arguments.json == "-") return Ok();
  Print(CalibrationText(calibration, static_cast<double>(age), OutputWidth()));
  const double left = std::max(0.0, arguments.most_age_hours * 3600 - static_cast<double>(age));
  Print(fmt::format("\n{}cached for {}{}; --force measures anew.\n", from_cache ? "From the cache; " : "",
                    from_cache ? "another " : "", Span(left)));
  return Ok();
}

}  // namespace

Result<int> Command(const CalibrateArguments& arguments) {
  ASSAY_TRY_STATUS(CheckTargets({arguments.json}));
  const int processors = static_cast<int>(AllowedProcessors().size());
  const int threads = arguments.threads.value_or(processors);
  if (threads > processors) {
    return Error{ErrorCode::kInvalidInput, fmt::format("--threads {}: this process may use {} processor{}, and two "
                                                       "threads on one would measure neither",
                                                       threads, processors, processors == 1 ? "" : "s")};
  }
  const Calibration head = CalibrationHead(threads);
  const std::filesystem::path file = CalibrationFile(DefaultCacheFolder(), head);
  if (!arguments.force) {
    if (const auto cached = ReadCalibration(file, head, head.when, arguments.most_age_hours * 3600)) {
      ASSAY_TRY_STATUS(Show(arguments, *cached, true));
      return kDone;
    }
  }
  ASSAY_TRY(const CalibrationOutcome outcome, MeasureAlone(threads));
  if (const auto* refused = std::get_if<CalibrationRefused>(&outcome)) {
    ASSAY_TRY_STATUS(WriteJson(arguments.json, CalibrationRefusedJson(refused->why)));
    Say(Wrap(refused->why, OutputWidth(), "assay calibrate: refused: ", "  "));
    return kNoVerdict;
  }
  const Calibration& calibration = std::get<Calibration>(outcome);
  ASSAY_TRY_STATUS(WriteCalibration(file, calibration));
  ASSAY_TRY_STATUS(Show(arguments, calibration, false));
  return kDone;
}

}  // namespace assay
