// SPDX-License-Identifier: Apache-2.0
#pragma once

// JSON of what the clock says; for the files that speak JSON alone.
#include <optional>
#include <vector>

#include "record/json_library.h"
#include "record/timing.h"

namespace assay::json_timing {

using json_library::Json;
using json_library::Ordered;

// What was not measured is null, never 0 or 1.
Json OrNull(const std::optional<double>& value);
std::optional<double> Measured(const Json& j);

Ordered ToJson(const Estimate& e);
Estimate EstimateFrom(const Json& j);
// The shape that `assay run --json` promises: {NAME: {seconds, estimate {value, groups}, floor_fraction}}.
Ordered WorkloadsJson(const std::vector<Estimate>& estimates);

Ordered ToJson(const Floor& f);
Floor FloorFrom(const Json& j);
Ordered ToJson(const MachineRates& r);
MachineRates RatesFrom(const Json& j);
Ordered ToJson(const Decision& d);
Decision DecisionFrom(const Json& j);
// A row of numbers, which is what a ledger holds most of.
Ordered ToJson(const RawUnit& u);
RawUnit UnitFrom(const Json& j);
Ordered ToJson(const Ranked& r);
Ranked RankedFrom(const Json& j);
Ordered ToJson(const DecisionReport& r);
DecisionReport ReportFrom(const Json& j);

}  // namespace assay::json_timing
