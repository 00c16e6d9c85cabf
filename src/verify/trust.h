// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "record/verdict.h"

namespace assay {

// The one place where trust is made; nobody outside this room includes this file.
struct TrustFromGate {
  static Screened AsScreened(Artifact artifact, std::vector<CheckRecord> checks) {
    return Screened(std::move(artifact), std::move(checks));
  }
  static Verified AsVerified(Artifact artifact, std::vector<CheckRecord> checks) {
    return Verified(std::move(artifact), std::move(checks));
  }
  static Examined AsExamined(Artifact artifact, std::vector<CheckRecord> checks) {
    return Examined(std::move(artifact), std::move(checks));
  }
};

}  // namespace assay
