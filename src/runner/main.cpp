// SPDX-License-Identifier: Apache-2.0
// assay-runner: started inside the jail by assay-jail with the descriptors that ring.h names.
#include <alloca.h>
#include <linux/futex.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "runner/runner.h"

namespace assay::runner {
namespace {

long Futex(const std::atomic<uint32_t>* word, int operation, uint32_t value) {
  return ::syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

void SayDone(ring::Report* report, uint32_t sequence) {
  report->done.store(sequence, std::memory_order_release);
  Futex(&report->done, FUTEX_WAKE, INT_MAX);
}

uint32_t AwaitSequenceAfter(const ring::Plan* plan, uint32_t last) {
  for (;;) {
    const uint32_t now = plan->sequence.load(std::memory_order_acquire);
    if (now != last) return now;
    Futex(&plan->sequence, FUTEX_WAIT, last);
  }
}

bool MapShared(Shared& shared) {
  void* plan = ::mmap(nullptr, sizeof(ring::Plan), PROT_READ, MAP_SHARED, ring::kPlanFd, 0);
  void* report = ::mmap(nullptr, sizeof(ring::Report), PROT_READ | PROT_WRITE, MAP_SHARED, ring::kReportFd, 0);
  if (plan == MAP_FAILED || report == MAP_FAILED) return false;
  shared.plan = static_cast<const ring::Plan*>(plan);
  shared.report = static_cast<ring::Report*>(report);
  return shared.plan->magic == ring::kMagic && shared.plan->version == ring::kVersion;
}

// Slots into a range that is otherwise inaccessible: every byte between two slots is a guard.
bool MapBuffers(const ring::StartPlan& start) {
  if (start.reserve_bytes == 0) return true;
  void* wanted = reinterpret_cast<void*>(start.reserve_address);
  constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  if (::mmap(wanted, start.reserve_bytes, PROT_NONE, kReserve, -1, 0) != wanted) return false;
  for (uint32_t i = 0; i < start.mapping_count; ++i) {
    const ring::Mapping& slot = start.mappings[i];
    void* address = reinterpret_cast<void*>(slot.address);
    const int protection = slot.writable != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    // Populated, so that no timed unit pays for page faults.
    const int flags = MAP_SHARED | MAP_FIXED | (start.populate != 0 ? MAP_POPULATE : 0);
    if (::mmap(address, slot.bytes, protection, flags, slot.fd, static_cast<off_t>(slot.file_offset)) != address) {
      return false;
    }
  }
  return true;
}

void* Nothing(void*) { return nullptr; }

// The library installs its own signal handlers with the first thread of a process; that must lie
// before the filter, also for a team of one.
void WarmThreads() {
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, Nothing, nullptr) == 0) ::pthread_join(thread, nullptr);
}

void StartTeam(int threads) {
  ::mallopt(M_ARENA_MAX, threads + 1);  // else malloc looks for the number of processors in /sys
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  int seen = 0;
#pragma omp parallel reduction(+ : seen)
  seen += omp_get_thread_num();
  asm volatile("" : : "r"(seen));
}

// By a call that the filter allows.
[[noreturn]] void SleepForever(const ring::Plan* plan, uint32_t sequence) {
  for (;;) AwaitSequenceAfter(plan, sequence);
}

[[noreturn]] void SayBroken(const Shared& shared, uint32_t sequence, const char* what) {
  std::strncpy(shared.report->text, what, sizeof(shared.report->text) - 1);
  shared.report->stage = ring::Stage::kBroken;
  SayDone(shared.report, sequence);
  SleepForever(shared.plan, sequence);
}

// A trusted library may have opened something of its own.
void CloseDescriptors(bool trusted) {
  ::syscall(SYS_close_range, ring::kNotifyFd, trusted ? ring::kFirstBufferFd + ring::kBuffers - 1 : ~0U, 0);
}

// Everything up to the point where the candidate is loaded and the second stage of the filter holds.
void Prepare(const Shared& shared, uint32_t sequence, void* (&symbols)[ring::kSymbols]) {
  const ring::StartPlan& start = shared.plan->start;
  if (!MapBuffers(start)) SayBroken(shared, sequence, "the buffers could not be mapped");
  WarmThreads();
  StartTeam(static_cast<int>(start.threads));
  CatchFaults(shared.report);
  if (start.process_limit != 0) {
    const rlimit limit{start.process_limit, start.process_limit};
    ::setrlimit(RLIMIT_NPROC, &limit);
  }
  const bool trusted = start.trusted != 0;
  const ring::FilterMode mode = InstallFilter(start.filter, FilterStage::kLoading, trusted);
  shared.report->filter = static_cast<uint32_t>(mode);
  shared.report->stage = ring::Stage::kLoading;
  // From here on everything may be the candidate's.
  const bool loaded = LoadArtifact(shared, symbols);
  CloseDescriptors(trusted);
  if (!loaded) {
    SayDone(shared.report, sequence);
    SleepForever(shared.plan, sequence);
  }
  if (!trusted && mode == ring::FilterMode::kNotify) ::syscall(ring::kLatchCall);
  if (!trusted && mode == ring::FilterMode::kTrap) InstallFilter(mode, FilterStage::kSealed, trusted);
  shared.report->stage = ring::Stage::kReady;
  SayDone(shared.report, sequence);
}

// Regions of ours have all threads, whatever a candidate has asked of the library; it gets its own setting back.
class WholeTeam {
 public:
  WholeTeam() { omp_set_dynamic(0); }
  WholeTeam(const WholeTeam&) = delete;
  WholeTeam& operator=(const WholeTeam&) = delete;
  ~WholeTeam() { omp_set_dynamic(dynamic_); }

 private:
  int dynamic_ = omp_get_dynamic();
};

// A stop puts the whole team to sleep.  It is woken here, in null units as in all others, so that the first call does
// not pay for the protocol.
void WakeTeam(int threads) {
  if (threads < 2) return;
  const WholeTeam whole;
#pragma omp parallel num_threads(threads)
  { asm volatile("" : : : "memory"); }
}

void RunUnit(const Shared& shared, void* const (&symbols)[ring::kSymbols]) {
  const ring::Plan& plan = *shared.plan;
  ring::Report* report = shared.report;
  WakeTeam(static_cast<int>(plan.start.threads));
  report->calls_begun = 0;
  report->state = {};
  const uint32_t count = plan.call_count < ring::kCalls ? plan.call_count : ring::kCalls;
  for (uint32_t i = 0; i < count; ++i) {
    report->calls_begun = i + 1;
    MakeCall(plan.calls[i], symbols[plan.calls[i].symbol % ring::kSymbols], i, report);
  }
}

// Threads keep their control registers from region to region, so a candidate's are still in them.
void InspectTeam(const Shared& shared) {
  ring::Report* report = shared.report;
  report->inspected = 0;
  const WholeTeam whole;
  int seen = 0;
#pragma omp parallel num_threads(static_cast <int>(shared.plan->start.threads)) reduction(+ : seen)
  {
    const auto thread = static_cast<uint32_t>(omp_get_thread_num());
    if (thread < ring::kTeam) report->team[thread] = TakeThreadState();
    seen += 1;
  }
  report->inspected = static_cast<uint32_t>(seen);
}

[[noreturn]] void Serve(const Shared& shared) {
  void* symbols[ring::kSymbols]{};
  uint32_t sequence = AwaitSequenceAfter(shared.plan, 0);
  // Moves everything that follows down the stack.
  char* offset = static_cast<char*>(alloca(shared.plan->start.stack_offset + 16));
  asm volatile("" : : "r"(offset) : "memory");
  Prepare(shared, sequence, symbols);
  // Never returns: only the supervisor ends a session, so every exit that it sees is the candidate's.
  for (;;) {
    sequence = AwaitSequenceAfter(shared.plan, sequence);
    RunUnit(shared, symbols);
    if (shared.plan->inspect != 0) InspectTeam(shared);
    SayDone(shared.report, sequence);
  }
}

}  // namespace
}  // namespace assay::runner

int main() {
  assay::runner::Shared shared;
  if (!assay::runner::MapShared(shared)) return 1;
  assay::runner::Serve(shared);
}
