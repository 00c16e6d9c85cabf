// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/random.h"
#include "record/seams.h"
#include "verify/reference.h"

namespace assay {

// What admission needs of the gate that asks for it.
struct AdmissionPlan {
  const Contract* contract = nullptr;
  Builder* builder = nullptr;
  Reference* reference = nullptr;
  Gate* gate = nullptr;  // baselines and peers go through it
  Seed seed;
  int threads = 1;
};

// Separation that a contract must reach, in units of the limit.
inline constexpr double kLeastMutant = 2.0;
inline constexpr double kMostHonest = 0.5;  // where the bound is an estimate; else 1 (docs/decisions)

// Whether the contract can tell right from wrong: what must be refused reaches twice the limit in at
// least one regime, what must pass stays below half of it in all.
Result<Admission> RunAdmission(const AdmissionPlan& plan);

}  // namespace assay
