// SPDX-License-Identifier: Apache-2.0
//
// The report that a runner shares with its supervisor, written by whoever took the runner over, before the supervisor
// looks, between two looks and while it looks.  Six bytes say what the kernel knows of the unit and its end; then come
// patches of twelve bytes: where in the report, whether from the start or later, and eight bytes to stand there.
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "sandbox/report.h"
#include "target.h"

namespace assay {
namespace {

constexpr uint64_t kAddressSpace = uint64_t{1} << 30;
constexpr size_t kHead = 6, kPatch = 12;

const BufferSpec kSpecs[] = {{.name = "x", .bytes = 1000, .access = Access::kInput, .slots = 3},
                             {.name = "y", .bytes = 5000, .access = Access::kOutput, .slots = 2}};
const PlacedBuffer kPlaced[] = {{&kSpecs[0], 0x110000200000, 4096, 64}, {&kSpecs[1], 0x110000204000, 8192, 3192}};

// What is not the report's to say.
struct Known {
  size_t calls;
  int threads;
  Ending ending;
  std::optional<jail::RefusalReport> refusal;
  bool while_it_changes;  // a thread for each input would leave few inputs a second
};

Known ReadHead(const uint8_t* data) {
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGSYS, SIGKILL, SIGABRT, SIGFPE, SIGILL, SIGTRAP};
  Known known;
  known.calls = data[0] == 255 ? ring::kCalls : data[0];
  known.threads = 1 + data[1] * 4;
  known.ending = data[2] % 4 == 0 ? Ending{CLD_EXITED, data[3]} : Ending{CLD_KILLED, kSignals[data[3] % 8]};
  if (data[4] % 8 == 0) known.refusal = jail::RefusalReport{jail::Refusal::kCall, data[5] * 0x20000003U, data[5], {}};
  known.while_it_changes = data[4] >= 128;
  return known;
}

struct Patch {
  size_t at;
  uint8_t later[8], before[8];
};

// The patches that hold from the start are made; those to come are returned.
std::vector<Patch> Apply(std::span<const uint8_t> bytes, std::span<std::byte> report) {
  std::vector<Patch> to_come;
  for (; bytes.size() >= kPatch; bytes = bytes.subspan(kPatch)) {
    uint32_t where;
    std::memcpy(&where, bytes.data(), sizeof(where));
    Patch patch{(where & 0xffff) % (report.size() - 7), {}, {}};
    std::memcpy(patch.later, bytes.data() + sizeof(where), 8);
    if ((where >> 16) % 2 == 0) {
      std::memcpy(report.data() + patch.at, patch.later, 8);
    } else {
      to_come.push_back(patch);
    }
  }
  for (Patch& patch : to_come) std::memcpy(patch.before, report.data() + patch.at, 8);
  return to_come;
}

void CheckUnit(const ring::Report& report, const Known& known) {
  const UnitTiming timing{.wall_ns = 12345, .cpu_ns = 678, .wakes = 1};
  const Completed completed = ReadCompleted(report, known.calls, timing);
  ASSAY_CHECK(completed.timing.wall_ns == timing.wall_ns && completed.timing.cpu_ns == timing.cpu_ns &&
              completed.timing.wakes == timing.wakes && completed.threads_seen == 0);
  ASSAY_CHECK(completed.integer_results.size() == known.calls);
  const MachineState& state = completed.state;
  ASSAY_CHECK(state.thread == -1 && state.first_call >= -1 && state.first_call <= static_cast<int>(known.calls));
  // What was found against a candidate no later word takes back.
  ASSAY_CHECK(state.clean() || state.first_call >= 0);
  MachineState team = state;
  JudgeTeam(report, known.threads, team);
  ASSAY_CHECK(state.clean() || (!team.clean() && team.thread == -1));
  ASSAY_CHECK(team.thread >= -1 && team.thread < known.threads && team.thread < static_cast<int>(ring::kTeam));
  ASSAY_CHECK(CallUnderWay(report) >= -1 && CallUnderWay(report) < static_cast<int>(ring::kCalls));
  const ArtifactRange artifact = ReadArtifact(report);
  for (const uint64_t counter : {uint64_t{0}, uint64_t{0x110000200000}, ~uint64_t{0}}) {
    const auto offset = artifact.OffsetOf(counter);
    ASSAY_CHECK(!offset || *offset < artifact.bytes);
  }
}

void CheckPlace(const FaultPlace& place) {
  ASSAY_CHECK(place.buffer >= 0 && static_cast<size_t>(place.buffer) < std::size(kPlaced));
  const PlacedBuffer& buffer = kPlaced[place.buffer];
  const auto bytes = static_cast<int64_t>(buffer.spec->bytes), reach = static_cast<int64_t>(buffer.slot_bytes) + 4096;
  ASSAY_CHECK(place.slot >= 0 && static_cast<size_t>(place.slot) < buffer.spec->slots);
  ASSAY_CHECK(place.offset >= -reach && place.offset <= reach);
  ASSAY_CHECK((place.side == FaultSide::kBefore) == (place.offset < 0));
  ASSAY_CHECK((place.side == FaultSide::kAfter) == (place.offset >= bytes));
}

// How a process ended is the kernel's to say, and which call was refused is pid 1's.
void CheckEnding(const ring::Report& report, const Known& known) {
  const Ended ended = ReadEnding(report, known.ending, known.refusal, kAddressSpace, kPlaced);
  ASSAY_CHECK(ended.call >= -1 && ended.call < static_cast<int>(ring::kCalls));
  ASSAY_CHECK(!ended.evidence.empty() && ended.output.empty());
  for (const char c : ended.evidence) ASSAY_CHECK(c >= 0x20 && c < 0x7f);
  if (ended.place) CheckPlace(*ended.place);
  const auto* const signaled = std::get_if<Signaled>(&ended.outcome);
  const auto* const exited = std::get_if<Exited>(&ended.outcome);
  const auto* const forbidden = std::get_if<ForbiddenCall>(&ended.outcome);
  const auto* const memory = std::get_if<OutOfMemory>(&ended.outcome);
  if (known.refusal) {
    ASSAY_CHECK(forbidden != nullptr && forbidden->number == known.refusal->number);
  } else if (known.ending.code == CLD_EXITED) {
    ASSAY_CHECK(exited != nullptr && exited->code == known.ending.status);
  } else if (known.ending.status == SIGSYS) {
    ASSAY_CHECK(forbidden != nullptr);
  } else {
    ASSAY_CHECK(signaled != nullptr ? signaled->signal == known.ending.status
                                    : memory != nullptr && memory->limit_bytes == kAddressSpace);
  }
}

void Check(const ring::Report& report, const Known& known) {
  const StartReport start = ReadStart(report);
  ASSAY_CHECK(start.stage >= ring::Stage::kReady && start.stage <= ring::Stage::kBroken);
  ASSAY_CHECK(start.text.size() <= ring::kText && start.text.find('\0') == std::string::npos);
  CheckUnit(report, known);
  CheckEnding(report, known);
}

// Writes what is to come and what was there before in turns, until the reader is through.
void CheckWhileItChanges(std::byte* bytes, const ring::Report& report, std::span<const Patch> to_come,
                         const Known& known) {
  std::atomic<bool> begun = false, over = false;
  std::thread writer([&] {
    for (bool later = true; !over.load(std::memory_order_relaxed); later = !later) {
      for (const Patch& patch : to_come) {
        std::memcpy(bytes + patch.at, later ? patch.later : patch.before, 8);
        std::atomic_thread_fence(std::memory_order_release);
      }
      begun.store(true, std::memory_order_relaxed);
    }
  });
  while (!begun.load(std::memory_order_relaxed)) std::this_thread::yield();
  for (int look = 0; look < 8; ++look) Check(report, known);
  over.store(true, std::memory_order_relaxed);
  writer.join();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHead) return 0;
  const Known known = ReadHead(data);
  // Not a byte more than the report, so that a sanitizer sees a read behind it.
  const auto report = std::make_unique<ring::Report>();
  auto* const bytes = reinterpret_cast<std::byte*>(report.get());
  const std::vector<Patch> to_come = Apply(std::span(data, size).subspan(kHead), std::span(bytes, sizeof(*report)));
  Check(*report, known);
  if (to_come.empty()) return 0;
  if (known.while_it_changes) CheckWhileItChanges(bytes, *report, to_come, known);
  for (const Patch& patch : to_come) std::memcpy(bytes + patch.at, patch.later, 8);
  Check(*report, known);
  return 0;
}

}  // namespace assay
