// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/limits.h"
#include "sandbox/unit.h"
#include "sandbox/walls.h"

namespace assay {

enum class Access { kInput, kOutput, kInOut, kScratch };

// The pages of another session's buffer, kept open so that a later session can map them as well.
struct LentPages {
  UniqueFd fd;
  size_t bytes = 0, slots = 0;  // of the payload, and how often
  size_t slot_bytes = 0, payload_offset = 0;
};

struct BufferSpec {
  std::string name;
  size_t bytes;
  Access access;
  size_t align = 64;       // a power of two, at most 4096
  size_t slots = 1;        // one per call of a unit, plus decoys that no call is given
  size_t line_offset = 0;  // moves the payload off its guard page by whole 64-byte lines
  // Of an output: later sessions will read it where it lies.  Once this session has mapped it, nobody maps it writable.
  bool lent = false;
  // Of an input: what an earlier session's lent output is, page for page (Session::Lend); it is never filled, and what
  // lies around it is the other's to poison.
  std::shared_ptr<const LentPages> borrowed = nullptr;
};

struct SessionSpec {
  std::filesystem::path artifact;    // a shared object; its bytes are copied and sealed at the start
  std::string artifact_hash;         // SHA-256 that the sealed copy must have; empty: not asked
  std::vector<std::string> symbols;  // entry first, then optional _scratch, _packed, _prepare
  std::vector<BufferSpec> buffers;
  int threads = 1;                               // the OpenMP team, main thread included
  std::vector<std::filesystem::path> libraries;  // bound besides the C, C++ and OpenMP runtimes, with what they need
  std::vector<std::pair<std::string, std::string>> environment;
  Limits limits;
  size_t environment_padding = 0;  // bytes of a meaningless environment variable
  size_t stack_offset = 0;         // bytes by which the main stack is moved, in whole 16s
  uint64_t placement_draw = 0;     // decides for each buffer which end touches the guard page
  std::vector<int> cpus;           // one for each thread of the team, in turn; empty: inherited
  bool trusted = false;            // peers, baselines, oracle: may open the listed libraries, JIT, make threads
  // A runtime in the process that is no candidate's does what the filter refuses: it is told no and may go on, files of
  // the jail may be opened.
  bool lenient_filter = false;
  // Nobody times its calls or asks what they left unwritten: no page exists before it is touched, and
  // only the guards hold a pattern.
  bool untimed = false;
  WallMode walls = WallMode::kAll;
};

enum class LoadStage { kOpen, kSymbol };

// The artifact could not be loaded; `symbol` and `text` come from the dynamic loader.
struct LoadFailed {
  LoadStage stage;
  std::string text;
};

// The first byte outside a payload that no longer holds its pattern; offset from the payload's
// start: negative before it, >= bytes behind it.
struct GuardHit {
  int64_t offset;
};

// Poison in which every 16-, 32- and 64-bit word is a NaN, varied by `draw`; take a fresh draw for
// each slot and unit.  `~pattern` is its complement for types without NaN.
uint64_t PoisonPattern(uint64_t draw);

class Session;
using StartOutcome = std::variant<Session, LoadFailed, Ended>;

// One jailed process with one loaded artifact.  It is stopped, all threads of it, except inside
// Run.  Move-only; the destructor kills and buries it.  Not to be used by two threads at once.
class Session {
 public:
  static Result<StartOutcome> Start(const SessionSpec& spec);

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // The payload, for the supervisor to fill (kInput and kInOut, nothing borrowed).
  std::span<std::byte> Input(int buffer, int slot);
  // The payload of any buffer, to read.
  std::span<const std::byte> Output(int buffer, int slot) const;
  // The pages of a lent buffer, for BufferSpec::borrowed of a session that starts after this one.
  Result<std::shared_ptr<const LentPages>> Lend(int buffer) const;
  // The payload's address in the candidate, to restart "at the same placement" or to print.
  uint64_t Address(int buffer, int slot) const;

  // Fills payload and surroundings with the pattern; of kInput only the surroundings.
  void Poison(int buffer, int slot, uint64_t pattern);
  // The first byte around the payload that is not as poisoned, those behind it first.
  std::optional<GuardHit> CheckGuards(int buffer, int slot) const;
  // Whether payload bytes [offset, offset + bytes) are all still poison.
  bool StillPoison(int buffer, int slot, size_t offset, size_t bytes) const;

  // One unit.  No calls at all is the null unit.  Error: our own trouble.
  Result<UnitOutcome> Run(std::span<const Call> calls, std::chrono::nanoseconds limit, WaitMode mode);

  // A null unit after which every thread of the team has told its control registers.  Outputs must have been looked
  // at before: the process runs on meanwhile.
  Result<UnitOutcome> Inspect(std::chrono::nanoseconds limit);
  // What the kernel says is no longer as it was when the artifact had been loaded: executable mappings, signal
  // handlers and masks, more threads, their names and processors, timers.  None: /proc does not tell us here.
  std::optional<std::vector<std::string>> ChangesSinceStart() const;

  bool stopped() const;
  pid_t pid() const;
  const Walls& walls() const;
  const SessionSpec& spec() const;
  // What it printed so far, capped.
  std::string Printed() const;
  // Whether it died between units (it cannot by itself, but a full machine can kill it).
  std::optional<Ended> CheckAlive();

  struct State;  // session_state.h

 private:
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The median of `repeats` null units: what a unit costs that calls nothing.  Error also when the
// session ends on the way.
Result<int64_t> NullUnit(Session& session, int repeats, WaitMode mode = WaitMode::kSleep);

}  // namespace assay
