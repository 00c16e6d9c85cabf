// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "record/seams.h"

namespace assay {

// Everything that an attempt needs, as references to seams: the program wires services, tests wire
// fakes, replay wires recorded tables.
struct Tools {
  Builder& builder;
  Inspector& inspector;
  Gate& gate;
  Timer& timer;
  History& history;
  Ledger& ledger;
  Proposer& proposer;
  Clock& clock;
  Progress& progress;
  const std::atomic<bool>& interrupted;  // set by a signal; looked at between stages
};

}  // namespace assay
