// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "record/verdict.h"
#include "sandbox/session.h"
#include "sandbox/unit.h"

namespace assay {

// Turns the ways in which a process can end into reasons and evidence.  The sandbox knows buffers,
// a reader of a verdict knows tensors; this is where the one becomes the other.
struct Endings {
  struct Buffer {
    std::string name;
    Access access;
  };

  Stage stage = Stage::kLoad;
  std::vector<Buffer> buffers;  // as in SessionSpec

  Rejected Explain(const LoadFailed& failed) const;
  Rejected Explain(const Ended& ended) const;
  Rejected Explain(const Hung& hung) const;
  Rejected Explain(const MachineState& state) const;
};

}  // namespace assay
