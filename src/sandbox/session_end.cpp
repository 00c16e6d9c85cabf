// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "sandbox/report.h"
#include "sandbox/session_state.h"

namespace assay {

Ended Session::State::Explain(const Ending& ending) {
  stopped = false;
  TakeMessages();
  process->Bury();
  std::vector<PlacedBuffer> placed;
  for (size_t i = 0; i < buffers.size(); ++i)
    placed.push_back({&buffers[i].spec(), addresses[i], buffers[i].slot_bytes(), buffers[i].payload_offset()});
  Ended ended = ReadEnding(*report, ending, refusal, spec.limits.address_space, placed);
  ended.output = Printed();
  return ended;
}

}  // namespace assay
