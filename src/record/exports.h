// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "record/attempt.h"

namespace assay {

// Raw units of a decision in the formats of other tools.  Redrawn groups are left out of all but the CSV, which has a
// column that says so.

// One row a unit: group, arm, workload, calls, wall_ns, null_ns, cpu_ns, gated, redrawn, census, regime, ns_per_call,
// own_ns (in situ: the kernel's own share of a unit, null units off; else 0), prepare_ns (packing before it, else 0).
std::string UnitsCsv(const DecisionReport& report);
// As google/benchmark writes with --benchmark_format=json: each unit one repetition of CONTRACT/WORKLOAD/ARM, gated
// units apart; real_time and cpu_time in ns a call.
std::string GoogleBenchmarkJson(const DecisionReport& report, const std::string& contract, const Machine& machine);
// As sharkdp/hyperfine writes with --export-json: one result an arm and workload, times in seconds a call.
std::string HyperfineJson(const DecisionReport& report);

}  // namespace assay
