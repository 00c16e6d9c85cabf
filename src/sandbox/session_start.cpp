// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "sandbox/libraries.h"
#include "sandbox/programs.h"
#include "sandbox/report.h"
#include "sandbox/session_state.h"

namespace assay {
namespace {

constexpr size_t kLargestArtifact = size_t{256} << 20;
constexpr const char* kRunnerInside = "/runner";
constexpr const char* kArtifactInside = "/artifact.so";
constexpr uint64_t kPage = 4096;

// A small mixing function: the draw decides layout only, secrecy is not asked of it.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

Status CheckSpec(const SessionSpec& spec) {
  const auto invalid = [](const char* what) {
    return Error{ErrorCode::kInvalidInput, std::string("session: ") + what};
  };
  if (spec.symbols.empty() || spec.symbols.size() > ring::kSymbols) return invalid("number of symbols");
  for (const std::string& symbol : spec.symbols) {
    if (symbol.empty() || symbol.size() >= sizeof(ring::StartPlan::symbols[0])) return invalid("symbol's length");
  }
  if (spec.buffers.size() > ring::kBuffers) return invalid("number of buffers");
  size_t slots = 0;
  for (const BufferSpec& buffer : spec.buffers) slots += buffer.slots;
  if (slots > ring::kMappings) return invalid("number of slots");
  if (spec.threads < 1 || spec.threads > 1024) return invalid("number of threads");
  if (spec.stack_offset > (size_t{1} << 20) || spec.environment_padding > (size_t{1} << 16)) return invalid("offset");
  return Ok();
}

// What was checked is what is mapped: the copy is made of bytes whose hash is asked here, and nobody can change it.
Result<UniqueFd> SealArtifact(const std::filesystem::path& path, const std::string& hash) {
  ASSAY_TRY(const std::string bytes, ReadFile(path, kLargestArtifact));
  if (!hash.empty() && Sha256(bytes) != hash)
    return Error{ErrorCode::kCorrupt, path.string() + " changed after it was checked"};
  UniqueFd fd(::memfd_create("assay-artifact", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return SystemError("memfd_create", errno);
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return SystemError("copy the artifact", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return SystemError("seal the artifact", errno);
  }
  return fd;
}

// What the runner prints goes here: it cannot grow, so a flood costs nobody anything.
Result<UniqueFd> CreateOutput(uint64_t bytes) {
  UniqueFd fd(::memfd_create("assay-output", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return SystemError("memfd_create", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return SystemError("output file", errno);
  }
  return fd;
}

Result<std::unique_ptr<Session::State>> CreateMemory(const SessionSpec& spec) {
  auto state = std::make_unique<Session::State>();
  state->spec = spec;
  ASSAY_TRY(SharedFile plan, CreateShared("assay-plan", sizeof(ring::Plan), Sealing::kFutureWrite, true));
  state->plan_fd = std::move(plan.fd);
  state->plan = static_cast<ring::Plan*>(plan.address);
  ASSAY_TRY(SharedFile report, CreateShared("assay-report", sizeof(ring::Report), Sealing::kSize, false));
  state->report_fd = std::move(report.fd);
  state->report = static_cast<const ring::Report*>(report.address);
  ASSAY_TRY(state->artifact_fd, SealArtifact(spec.artifact, spec.artifact_hash));
  ASSAY_TRY(state->output_fd, CreateOutput(std::max<uint64_t>(spec.limits.output, 1)));
  for (size_t i = 0; i < spec.buffers.size(); ++i) {
    const bool end_at_guard = (Mix(spec.placement_draw + i) & 1) != 0;
    ASSAY_TRY(Buffer buffer, Buffer::Create(spec.buffers[i], end_at_guard));
    state->buffers.push_back(std::move(buffer));
    Buffer& placed = state->buffers.back();
    if (spec.buffers[i].borrowed) continue;
    if (!spec.untimed) placed.Populate();
    for (size_t slot = 0; slot < spec.buffers[i].slots; ++slot) {
      const uint64_t pattern = PoisonPattern(Mix(spec.placement_draw ^ (i << 32 | slot)));
      placed.Poison(static_cast<int>(slot), pattern, placed.writable_inside() && !spec.untimed);
    }
  }
  return state;
}

// The same draw gives the same addresses, in an area that neither the kernel nor a sanitizer's shadow memory uses.
void WriteMappings(Session::State& state) {
  ring::StartPlan& start = state.plan->start;
  const uint64_t draw = Mix(~state.spec.placement_draw);
  start.reserve_address = 0x110000000000 + (draw & 0xffff) * (uint64_t{2} << 20) + (draw >> 16 & 0xff) * kPage;
  uint64_t at = start.reserve_address + kPage;
  uint32_t count = 0;
  for (size_t i = 0; i < state.buffers.size(); ++i) {
    const Buffer& buffer = state.buffers[i];
    at += (draw >> (24 + i % 32) & 0xf) * kPage;  // buffers do not all start at one distance
    state.addresses.push_back(at);
    for (size_t slot = 0; slot < buffer.spec().slots; ++slot) {
      start.mappings[count++] = {at, buffer.slot_bytes(), slot * buffer.slot_bytes(),
                                 ring::kFirstBufferFd + static_cast<int32_t>(i), buffer.writable_inside() ? 1U : 0U};
      at += buffer.slot_bytes() + kPage;
    }
  }
  start.mapping_count = count;
  start.reserve_bytes = at - start.reserve_address;
}

std::vector<std::string> Environment(const SessionSpec& spec, const std::set<std::string>& folders) {
  const std::string threads = std::to_string(spec.threads);
  std::string path = "/lib";
  for (const std::string& folder : folders) path += ":" + folder;
  std::vector<std::string> environment = {
      "LC_ALL=C",
      "LD_LIBRARY_PATH=" + path,
      "OMP_NUM_THREADS=" + threads,
      "OMP_DYNAMIC=FALSE",
      // Everything is stopped between units, so waiting threads may burn their core within them.
      "OMP_WAIT_POLICY=ACTIVE",
      "OMP_STACKSIZE=" + std::to_string(spec.limits.thread_stack) + "B",
      "OPENBLAS_NUM_THREADS=" + threads,
  };
  for (const auto& [name, value] : spec.environment) environment.push_back(name + "=" + value);
  environment.push_back("PADDING=" + std::string(spec.environment_padding, '.'));
  return environment;
}

uint64_t ReservedBytes(const Session::State& state) {
  return state.plan->start.reserve_bytes + sizeof(ring::Plan) + sizeof(ring::Report);
}

Result<jail::JailPlan> DescribeJail(const Session::State& state) {
  const SessionSpec& spec = state.spec;
  ASSAY_TRY(const std::filesystem::path runner, FindProgram("assay-runner"));
  ASSAY_TRY(const std::string loader, LoaderOf(runner));
  ASSAY_TRY(std::vector<Library> libraries, RuntimeLibraries(runner));
  ASSAY_TRY(const std::vector<Library> more, ResolveLibraries(spec.libraries));
  std::set<std::string> folders;
  for (const Library& library : more) folders.insert(library.source.parent_path());
  libraries.insert(libraries.end(), more.begin(), more.end());

  jail::JailPlan plan;
  plan.profile = jail::Profile::kRunner;
  plan.refuse_namespaces = spec.walls == WallMode::kWithoutNamespaces;
  plan.binds.push_back({std::filesystem::canonical(runner), kRunnerInside});
  plan.binds.push_back({std::filesystem::canonical(loader), loader});
  std::set<std::string> names;
  for (const Library& library : libraries) {
    if (names.insert(library.name).second) plan.binds.push_back({library.source, "/lib/" + library.name});
  }
  plan.argv = {kRunnerInside};
  plan.copy_target = kArtifactInside;
  plan.environment = Environment(spec, folders);
  plan.cpus.assign(spec.cpus.begin(), spec.cpus.end());
  plan.address_space = spec.limits.address_space + ReservedBytes(state);
  plan.cpu_seconds = static_cast<uint64_t>(spec.limits.cpu.count());
  plan.file_size = spec.limits.file_size;
  plan.descriptors = std::max<uint64_t>(spec.limits.descriptors, 256);
  plan.stack = spec.limits.stack;
  plan.threads = static_cast<uint32_t>(spec.threads);
  // Pid 1, the launcher until it ends, and the team; a trusted library may have a team of its own.
  plan.processes = 3 + static_cast<uint64_t>(spec.threads) * (spec.trusted ? 4 : 1) + (spec.trusted ? 8 : 0);
  return plan;
}

void WriteStart(Session::State& state) {
  ring::StartPlan& start = state.plan->start;
  const Walls& walls = state.process->walls();
  start.threads = static_cast<uint32_t>(state.spec.threads);
  start.trusted = state.spec.trusted || state.spec.lenient_filter ? 1 : 0;
  start.populate = state.spec.untimed ? 0 : 1;
  start.filter =
      state.spec.walls == WallMode::kWithoutNotification ? ring::FilterMode::kTrap : ring::FilterMode::kNotify;
  // Pid 1 and the team; without a judge one more, for a thread that is remade before it is gone.
  start.process_limit = walls.thread_budget && !state.spec.trusted ? start.threads + 1 : 0;
  start.stack_offset = state.spec.stack_offset / 16 * 16;
  const std::string artifact =
      walls.empty_root ? kArtifactInside : "/proc/self/fd/" + std::to_string(ring::kArtifactFd);
  std::strncpy(start.artifact, artifact.c_str(), sizeof(start.artifact) - 1);
  start.symbol_count = static_cast<uint32_t>(state.spec.symbols.size());
  for (size_t i = 0; i < state.spec.symbols.size(); ++i) {
    std::strncpy(start.symbols[i], state.spec.symbols[i].c_str(), sizeof(start.symbols[i]) - 1);
  }
  state.plan->magic = ring::kMagic;
  state.plan->version = ring::kVersion;
}

Status LaunchRunner(Session::State& state) {
  WriteMappings(state);
  ASSAY_TRY(jail::JailPlan plan, DescribeJail(state));
  std::vector<int> fds = {state.plan_fd.get(), state.report_fd.get(), state.artifact_fd.get()};
  for (const Buffer& buffer : state.buffers) fds.push_back(buffer.fd());
  state.plan->magic = ring::kMagic;
  state.plan->version = ring::kVersion;
  ASSAY_TRY(JailedProcess process, JailedProcess::Launch(plan, fds, state.output_fd.get()));
  state.process.emplace(std::move(process));
  const std::string tasks = "/proc/" + std::to_string(state.process->job()) + "/task";
  state.tasks_fd = UniqueFd(::open(tasks.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!state.tasks_fd.valid()) return SystemError("open " + tasks, errno);
  ASSAY_TRY_STATUS(state.process->OrderWatch(plan.threads, state.tasks_fd.get()));
  WriteStart(state);
  return Ok();
}

}  // namespace

Session::State::~State() {
  process.reset();
  if (plan != nullptr) ::munmap(plan, sizeof(*plan));
  if (report != nullptr) ::munmap(const_cast<ring::Report*>(report), sizeof(*report));
}

Result<StartOutcome> Session::Start(const SessionSpec& spec) {
  ASSAY_TRY_STATUS(CheckSpec(spec));
  ASSAY_TRY(std::unique_ptr<State> state, CreateMemory(spec));
  ASSAY_TRY_STATUS(LaunchRunner(*state));
  // The first sequence is the start itself: map, make the team, raise the filter, load.
  state->sequence = 1;
  state->plan->sequence.store(1, std::memory_order_release);
  WakeFutex(&state->plan->sequence);
  int wakes = 0;
  const bool woken = state->AwaitDone(0, spec.limits.wall, WaitMode::kSleep, wakes);
  ASSAY_TRY(const std::optional<Ending> ending, state->process->Stop(false));
  state->TakeMessages();
  if (ending) return StartOutcome(state->Explain(*ending));
  if (!woken) {
    state->process->Bury();
    Ended ended{TimedOut{spec.limits.wall}, "the artifact was not loaded in time", std::nullopt, -1, state->Printed()};
    return StartOutcome(std::move(ended));
  }
  state->stopped = true;
  const auto [stage, text] = ReadStart(*state->report);
  if (stage == ring::Stage::kOpenFailed) return StartOutcome(LoadFailed{LoadStage::kOpen, text});
  if (stage == ring::Stage::kSymbolFailed) return StartOutcome(LoadFailed{LoadStage::kSymbol, text});
  if (stage == ring::Stage::kBroken) return Error{ErrorCode::kUnavailable, "the runner could not start: " + text};
  for (const Buffer& buffer : state->buffers) {
    if (buffer.spec().lent) ASSAY_TRY_STATUS(buffer.Seal());
  }
  Walls& walls = state->process->walls();
  // Asked of the kernel: the report is already the candidate's to write.
  const std::string status = ReadProcFile("/proc/" + std::to_string(state->process->job()) + "/status");
  walls.seccomp = status.find("Seccomp:\t2") != std::string::npos;
  walls.thread_budget = walls.thread_budget || walls.notification;
  state->cpu_ns = ProcessCpuNs(state->process->job());
  if (!spec.trusted) state->facts = ReadProcessFacts(state->process->job());
  return StartOutcome(Session(std::move(state)));
}

}  // namespace assay
