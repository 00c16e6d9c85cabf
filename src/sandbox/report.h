// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sandbox/jail/plan.h"
#include "sandbox/jailed_process.h"
#include "sandbox/ring.h"
#include "sandbox/session.h"
#include "sandbox/unit.h"

// All that the supervisor reads of ring::Report, but for the word that wakes it.  Whoever runs in the runner may have
// written anything there and may go on writing: each value is copied once, brought within its bounds, and only then
// looked at.  Nothing of it is a time or an answer.
namespace assay {

// How the start went; a stage that no runner ends with is kBroken's neighbour, an artifact that did not load.
struct StartReport {
  ring::Stage stage;
  std::string text;
};
StartReport ReadStart(const ring::Report& report);

// The timing is the supervisor's own; the number of threads is the kernel's, and left to the caller.
Completed ReadCompleted(const ring::Report& report, size_t calls, const UnitTiming& timing);

// The control registers of the team, as each thread found its own; the first that is off.
void JudgeTeam(const ring::Report& report, int threads, MachineState& machine);

// The call that was begun last, -1: none.
int CallUnderWay(const ring::Report& report);

// Where the artifact lies, as the runner says: an address in it is told as its symbol table has it.
struct ArtifactRange {
  uint64_t base = 0, bytes = 0;
  std::optional<uint64_t> OffsetOf(uint64_t address) const {
    return address - base < bytes ? std::optional(address - base) : std::nullopt;
  }
};
ArtifactRange ReadArtifact(const ring::Report& report);

// Where a buffer's slots lie in the runner.
struct PlacedBuffer {
  const BufferSpec* spec = nullptr;
  uint64_t address = 0;  // of slot 0
  uint64_t slot_bytes = 0;
  uint64_t payload_offset = 0;
};

// What to tell about a process that is dead: how it ended says the kernel, what it did says pid 1, or else the report.
Ended ReadEnding(const ring::Report& report, const Ending& ending, const std::optional<jail::RefusalReport>& refusal,
                 uint64_t address_space, std::span<const PlacedBuffer> buffers);

}  // namespace assay
