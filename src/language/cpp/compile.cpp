// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "language/cpp/diagnostics.h"
#include "language/cpp/elf_file.h"
#include "sandbox/jail.h"

namespace assay {
namespace {

constexpr const char* kSource = "candidate.cpp";
constexpr const char* kObject = "candidate.o";
constexpr const char* kExpanded = "candidate.ii";
constexpr const char* kShared = "kernel.so";
constexpr const char* kExports = "exports.map";
constexpr size_t kMaxOutputFile = size_t{16} << 20;

Rejected Refuse(Reason reason, std::string check, std::string evidence, Stage stage = Stage::kBuild) {
  Rejected rejected;
  rejected.stage = stage;
  rejected.reason = reason;
  rejected.check = std::move(check);
  rejected.evidence = std::move(evidence);
  return rejected;
}

// Everything but the entries becomes local, whatever the source says: inline functions of the standard
// library would otherwise be exported from every kernel that uses a vector.
std::string ExportMap(const FilePolicy& policy) {
  std::string map = "{ global:";
  for (const std::string& name : policy.required_exports) map += " " + name + ";";
  for (const std::string& name : policy.allowed_exports) map += " " + name + ";";
  return map + " local: *; };\n";
}

std::vector<std::string> LinkCommand(const CompileJob& job) {
  const bool gcc = job.toolchain->family == CompilerFamily::kGcc;
  // No start-up files: they bring an .init_array, and with -ffast-math one that changes MXCSR.
  std::vector<std::string> argv{job.toolchain->compiler.string(), "-shared", "-nostartfiles", "-o", kShared, kObject};
  argv.push_back(fmt::format("-Wl,--version-script={}", kExports));
  argv.insert(argv.end(), {"-Wl,-z,now,-z,relro,-z,noexecstack,-z,text,-z,defs",
                           "-Wl,--build-id=none,-Bsymbolic,--as-needed,--hash-style=gnu"});
  // The destructor of a function-local static names its object by this symbol, which lives in the
  // start-up files; any address inside will do.
  if (!job.policy.required_exports.empty())
    argv.push_back("-Wl,--defsym=__dso_handle=" + job.policy.required_exports.front());
  argv.insert(argv.end(), job.link_flags.begin(), job.link_flags.end());
  argv.push_back(gcc ? "-fopenmp" : "-lgomp");
  if (job.sanitized) argv.emplace_back("-fsanitize=address");
  return argv;
}

class Workshop {
 public:
  static Result<Workshop> Open(const CompileJob& job) {
    ASSAY_TRY(TemporaryFolder folder, TemporaryFolder::Create("assay-build-"));
    ASSAY_TRY_STATUS(WriteFileAtomically(folder.path() / kSource, job.source));
    ASSAY_TRY_STATUS(WriteFileAtomically(folder.path() / kExports, ExportMap(job.policy)));
    if (!job.header.empty()) {
      std::error_code error;
      std::filesystem::create_directories(folder.path() / "include/assay", error);
      if (error) return Error{ErrorCode::kIo, fmt::format("{}: {}", folder.path().string(), error.message())};
      ASSAY_TRY_STATUS(WriteFileAtomically(folder.path() / "include/assay/contract.h", job.header));
    }
    return Workshop(std::move(folder));
  }

  Result<JailedRun> Run(const CompileJob& job, std::vector<std::string> argv) const {
    JailSpec jail;
    jail.argv = std::move(argv);
    jail.read_only = ToolchainPaths();
    for (const std::string& include : job.include_folders) jail.read_only.emplace_back(include);
    jail.writable = folder_.path();
    jail.environment = {{"SOURCE_DATE_EPOCH", std::to_string(job.date)}};
    Limits limits;
    limits.address_space = uint64_t{3} << 30;
    limits.file_size = kMaxOutputFile;
    limits.processes = 32;
    limits.cpu = job.limit;
    limits.wall = job.limit * kWallTimes;
    return RunJailed(jail, limits);
  }

  Result<std::string> Read(const char* name) const { return ReadFile(folder_.path() / name, kMaxOutputFile); }

 private:
  explicit Workshop(TemporaryFolder folder) : folder_(std::move(folder)) {}
  TemporaryFolder folder_;
};

// The kernel kills the compiler proper at the limit, and its driver reports that and exits.
bool OutOfTime(const CompileJob& job, const JailedRun& run) {
  if (std::get_if<TimedOut>(&run.outcome) != nullptr) return true;
  return run.seconds >= 0.9 * static_cast<double>(job.limit.count()) &&
         run.output.find("signal terminated program") != std::string::npos;
}

// Nothing when the step succeeded.
std::optional<Rejected> StepFailure(const CompileJob& job, const JailedRun& run, std::string_view step) {
  if (const auto* exited = std::get_if<Exited>(&run.outcome); exited != nullptr && exited->code == 0)
    return std::nullopt;
  if (OutOfTime(job, run)) {
    return Refuse(
        Reason::kBuildTimeout, "builds",
        fmt::format("{} did not end within {} s of processor time{}", step, job.limit.count(), job.limit_reason));
  }
  std::string evidence = OwnMessages(run.output, kSource);
  if (std::get_if<Exited>(&run.outcome) == nullptr || evidence.empty()) {
    evidence = fmt::format("{}: {}{}{}", step, Describe(run.outcome), evidence.empty() ? "" : "\n", evidence);
  }
  return Refuse(Reason::kBuildFailed, "builds", std::move(evidence));
}

std::optional<Rejected> MissingEntry(std::string_view object, const FilePolicy& policy) {
  const auto elf = ElfFile::Parse(object);
  for (const std::string& name : policy.required_exports) {
    const bool defined = elf && std::any_of(elf->symbols().begin(), elf->symbols().end(), [&](const ElfSymbol& symbol) {
                           return symbol.name == name && symbol.section != SHN_UNDEF && symbol.binding != STB_LOCAL;
                         });
    if (defined) continue;
    return Refuse(Reason::kLoadFailed, "entry",
                  fmt::format("the source does not define extern \"C\" {}; include <assay/contract.h> and define the "
                              "function that it declares",
                              name),
                  Stage::kLoad);
  }
  return std::nullopt;
}

// Assembler whose text the preprocessor makes is read after it was made.
Result<std::optional<Rejected>> CheckMadeText(const CompileJob& job, const Workshop& workshop) {
  std::vector<std::string> argv = CompileCommand(job);
  std::replace(argv.begin(), argv.end(), std::string("-c"), std::string("-E"));
  std::replace(argv.begin(), argv.end(), std::string(kObject), std::string(kExpanded));
  ASSAY_TRY(const JailedRun expanded, workshop.Run(job, argv));
  if (auto failure = StepFailure(job, expanded, "preprocessing")) return failure;
  ASSAY_TRY(const std::string text, workshop.Read(kExpanded));
  const auto trouble = CheckExpanded(text, kSource);
  if (!trouble) return std::optional<Rejected>();
  return std::optional(Refuse(Reason::kPolicy, "policy", *trouble));
}

}  // namespace

std::vector<std::string> CompileCommand(const CompileJob& job) {
  std::vector<std::string> argv{job.toolchain->compiler.string(), "-std=c++20", "-fPIC"};
  argv.insert(argv.end(), job.toolchain->common.begin(), job.toolchain->common.end());
  // -w: warnings of a search's mass-produced sources are read by nobody and cost evidence its room.
  argv.insert(argv.end(), {"-w", "-fmax-errors=8", "-fdiagnostics-color=never"});
  if (job.toolchain->family == CompilerFamily::kClang) argv[argv.size() - 2] = "-ferror-limit=8";
  std::vector<std::string> flags = job.flags;
  flags.push_back("-frandom-seed=" + Sha256(job.source).substr(0, 16));
  for (std::string& flag : FlagsFor(*job.toolchain, flags)) argv.push_back(std::move(flag));
  if (!job.header.empty()) argv.insert(argv.end(), {"-I", "include"});
  for (const std::string& folder : job.include_folders) argv.insert(argv.end(), {"-I", folder});
  argv.insert(argv.end(), {"-c", kSource, "-o", kObject});
  return argv;
}

Result<CompileOutcome> Compile(const CompileJob& job) {
  if (!job.policy.trusted_code || job.sanitized) {
    if (auto trouble = CheckSource(job.source)) return CompileOutcome(Refuse(Reason::kPolicy, "policy", *trouble));
  }
  ASSAY_TRY(const Workshop workshop, Workshop::Open(job));
  if (!job.policy.trusted_code && MakesAssemblerText(job.source)) {
    ASSAY_TRY(auto refused, CheckMadeText(job, workshop));
    if (refused) return CompileOutcome(std::move(*refused));
  }
  CompiledFile file;
  file.command = CompileCommand(job);
  ASSAY_TRY(const JailedRun compiled, workshop.Run(job, file.command));
  if (auto failure = StepFailure(job, compiled, "compiling")) return CompileOutcome(std::move(*failure));
  ASSAY_TRY(const std::string object, workshop.Read(kObject));
  if (auto missing = MissingEntry(object, job.policy)) return CompileOutcome(std::move(*missing));
  if (auto trouble = CheckObject(object, job.policy))
    return CompileOutcome(Refuse(Reason::kPolicy, "policy", *trouble));

  ASSAY_TRY(const JailedRun linked, workshop.Run(job, LinkCommand(job)));
  if (auto failure = StepFailure(job, linked, "linking")) return CompileOutcome(std::move(*failure));
  ASSAY_TRY(file.bytes, workshop.Read(kShared));
  if (auto trouble = CheckSharedObject(file.bytes, job.policy))
    return CompileOutcome(Refuse(Reason::kPolicy, "policy", *trouble));
  file.seconds = compiled.seconds + linked.seconds;
  return CompileOutcome(std::move(file));
}

}  // namespace assay
