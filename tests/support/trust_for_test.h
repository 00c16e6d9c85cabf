// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "record/verdict.h"

namespace assay {

// Makes trust out of nothing, for tests of rooms above the gate.  Nothing under src/ may include this.
struct TrustForTest {
  static Screened MakeScreened(Artifact artifact) { return Screened(std::move(artifact), {{"fake screen", 1, 0}}); }
  static Verified MakeVerified(Artifact artifact) { return Verified(std::move(artifact), {{"fake verify", 1, 0}}); }
  static Examined MakeExamined(Artifact artifact) { return Examined(std::move(artifact), {{"fake exam", 1, 0}}); }
};

}  // namespace assay
