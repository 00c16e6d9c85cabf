// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "contract/signature.h"
#include "language/cpp/build_cache.h"
#include "language/cpp/compile.h"
#include "language/cpp/directives.h"
#include "language/cpp/machine_code.h"
#include "language/cpp/policy.h"
#include "language/cpp/toolchain.h"

namespace assay {
namespace {

// Raised when the harness's own part of a build changes, so that no old object answers for a new rule.
constexpr int64_t kBuildRules = 2;

constexpr std::chrono::seconds kLeastLimit{10};
constexpr std::chrono::seconds kMostLimit{20};
constexpr double kTimesBaseline = 10;

// One build, whatever asked for it.
struct Plan {
  Digest id;
  Digest candidate;
  std::string name;
  CompileJob job;
  std::vector<std::filesystem::path> libraries;
  std::vector<std::string> unset;
  std::filesystem::path sanitizer;
  std::string info_symbol;
  bool trusted_code = false;
};
using PlanOutcome = std::variant<Plan, Rejected>;

Rejected PolicyRefusal(std::string evidence) {
  Rejected rejected;
  rejected.reason = Reason::kPolicy;
  rejected.check = "policy";
  rejected.evidence = std::move(evidence);
  return rejected;
}

Rejected AtLoad(Rejected rejected) {
  rejected.stage = Stage::kLoad;
  return rejected;
}

// Everything the object's bytes depend on.
Digest ArtifactId(const Digest& candidate, const CompileJob& job) {
  RecordHash hash("artifact");
  hash.Add("rules", kBuildRules)
      .Add("candidate", candidate)
      .Add("source", Sha256(job.source))
      .Add("header", job.header);
  hash.Add("toolchain", job.toolchain->identity);
  for (const std::string& word : CompileCommand(job)) hash.Add("word", word);
  for (const std::string& flag : job.link_flags) hash.Add("link", flag);
  for (const std::string& name : job.policy.required_exports) hash.Add("required", name);
  for (const std::string& name : job.policy.allowed_exports) hash.Add("allowed", name);
  hash.Add("trusted", job.policy.trusted_code ? "yes" : "no");
  return hash.Finish();
}

std::vector<KnobDefault> HeaderKnobs(const Template& family) {
  std::vector<KnobDefault> knobs;
  for (const Knob& knob : family.knobs) {
    knobs.push_back({knob.name, knob.default_value, knob.integers ? std::vector<std::string>{} : knob.values});
  }
  return knobs;
}

std::string DisplayName(const Candidate& candidate) {
  std::string name = candidate.template_name;
  for (const auto& [knob, value] : candidate.knobs) name += fmt::format(" {}={}", knob, value);
  for (const std::string& flag : candidate.flags) name += " " + flag;
  return Printable(name);
}

struct LinkedLibraries {
  std::vector<std::string> flags, sonames;
  std::vector<std::filesystem::path> files;
};

Result<LinkedLibraries> FindLibraries(std::span<const std::string> names) {
  LinkedLibraries all;
  for (const std::string& name : names) {
    ASSAY_TRY(AllowedLibrary library, FindLibrary(name));
    all.flags.push_back(library.link_flag);
    all.sonames.push_back(library.soname);
    for (auto& file : library.files) {
      if (std::find(all.files.begin(), all.files.end(), file) == all.files.end()) all.files.push_back(std::move(file));
    }
  }
  return all;
}

Result<PlanOutcome> PlanCandidate(const Contract& contract, const Candidate& candidate, const Toolchain& toolchain) {
  // The source is read again: a candidate may come from a ledger, an agent or a file, and only what
  // its bytes say counts.
  auto family = ParseTemplate(candidate.source, candidate.template_name + ".cpp", contract);
  if (!family.ok()) return PlanOutcome(PolicyRefusal(Printable(family.error().message)));
  auto again = MakeCandidate(family.value(), candidate.knobs,
                             candidate.flags.empty() ? std::vector<std::string>{} : candidate.flags);
  if (!again.ok()) return PlanOutcome(PolicyRefusal(Printable(again.error().message)));
  for (const std::string& flag : candidate.flags) {
    if (auto allowed = CheckFlag(flag, contract.policy.fp); !allowed.ok())
      return PlanOutcome(PolicyRefusal("flag " + allowed.error().message));
  }
  ASSAY_TRY(LinkedLibraries libraries, FindLibraries(contract.policy.libraries));
  Plan plan;
  plan.candidate = candidate.id;
  plan.name = DisplayName(candidate);
  CompileJob& job = plan.job;
  job.toolchain = &toolchain;
  job.source = candidate.source;
  job.header = ContractHeader(contract, HeaderKnobs(family.value()));
  // What a kernel engineer would type; a candidate's own options come later and win.
  job.flags = {"-O3", "-march=native"};
  job.flags.insert(job.flags.end(), candidate.flags.begin(), candidate.flags.end());
  if (contract.policy.fp == FpPolicy::kStrict) job.flags.emplace_back("-ffp-contract=off");
  for (std::string& definition : KnobDefinitions(family.value(), candidate)) job.flags.push_back(std::move(definition));
  job.link_flags = libraries.flags;
  job.policy = PolicyFor(contract, false, libraries.sonames);
  plan.libraries = std::move(libraries.files);
  plan.id = ArtifactId(plan.candidate, job);
  return PlanOutcome(std::move(plan));
}

Result<Plan> PlanReference(const Contract& contract, const ReferenceKernel& reference, const Toolchain& toolchain) {
  ASSAY_TRY(LinkedLibraries libraries, FindLibraries(reference.libraries));
  Candidate candidate;
  candidate.template_name =
      fmt::format("{} {}", reference.kind == ReferenceKind::kBaseline ? "baseline" : "peer", reference.name);
  ASSAY_TRY(candidate.source, ReadFile(reference.source, size_t{4} << 20));
  candidate.source_hash = Sha256(candidate.source);
  candidate.flags = reference.flags;
  Plan plan;
  plan.candidate = NamedByContent(candidate).id;
  plan.name = candidate.template_name;
  CompileJob& job = plan.job;
  job.toolchain = &toolchain;
  job.source = candidate.source;
  job.header = ContractHeader(contract, {});
  job.flags = reference.flags;
  job.link_flags = libraries.flags;
  job.policy = PolicyFor(contract, true, libraries.sonames);
  plan.libraries = std::move(libraries.files);
  plan.unset = reference.unset;
  plan.info_symbol = reference.info;
  plan.trusted_code = true;
  plan.id = ArtifactId(plan.candidate, job);
  return plan;
}

// Memory errors, and what is undefined in a way that makes an answer mean nothing: the same source may give another
// one with another compiler, or another vector width.  Left out because honest kernels do it and every compiler that
// builds them here gives it one meaning: signed overflow (wraps), unaligned loads and null arithmetic through casts,
// conversion of what does not fit into an integer (saturates or gives the indefinite value, then is clamped).
constexpr const char* kSanitizers[] = {
    "-fsanitize=address",
    "-fsanitize=bounds,integer-divide-by-zero,shift-exponent,return,unreachable,vla-bound,builtin",
    // Without a runtime of its own: what is found ends in an illegal instruction.
    "-fsanitize-undefined-trap-on-error",
    "-fno-omit-frame-pointer",
};

// The file is not the one that is admitted, timed or crowned, and what the compiler adds to it (constructors, foreign
// symbols) is no candidate's: the policy was asked of the plain build.  The process has the usual walls but one, the
// limit of address space, which shadow memory exceeds.
Status Sanitize(Plan& plan) {
  ASSAY_TRY(plan.sanitizer, SanitizerRuntime());
  plan.job.sanitized = true;
  plan.job.policy.trusted_code = true;
  for (const char* const flag : kSanitizers) plan.job.flags.emplace_back(flag);
  plan.libraries.push_back(plan.sanitizer);
  plan.id = ArtifactId(plan.candidate, plan.job);
  return Ok();
}

Artifact ArtifactOf(const Plan& plan, const CachedBuild& build) {
  Artifact artifact;
  artifact.id = plan.id;
  artifact.candidate = plan.candidate;
  artifact.file_hash = build.file_hash;
  artifact.twin = build.twin;
  artifact.path = build.path;
  artifact.name = plan.name;
  artifact.compiler = plan.job.toolchain->version;
  artifact.command = build.command;
  artifact.libraries = plan.libraries;
  artifact.unset = plan.unset;
  artifact.sanitizer = plan.sanitizer;
  artifact.info_symbol = plan.info_symbol;
  artifact.trusted_code = plan.trusted_code;
  artifact.build_seconds = build.seconds;
  return artifact;
}

}  // namespace

struct CppBuilder::State {
  explicit State(std::filesystem::path folder) : cache(std::move(folder)) {}

  BuildCache cache;
  std::mutex mutex;
  std::map<Digest, Rejected> refused;            // this process's failures, so that Prepare and Build compile once
  std::map<std::string, double> first_baseline;  // contract hash -> seconds of its first baseline's build

  void SetLimit(const Contract& contract, CompileJob& job) {
    const std::lock_guard lock(mutex);
    job.limit = kMostLimit;
    if (job.toolchain->family != CompilerFamily::kGcc) return;  // the baseline says nothing about another compiler
    const auto at = first_baseline.find(contract.hash);
    if (at == first_baseline.end()) return;
    const auto tenfold = std::chrono::seconds(static_cast<int64_t>(at->second * kTimesBaseline + 1));
    job.limit = std::clamp(tenfold, kLeastLimit, kMostLimit);
    job.limit_reason =
        fmt::format(" ({:.0f} times the baseline's {}, at least 10 s)", kTimesBaseline, Seconds(at->second));
  }

  Result<BuildOutcome> Run(const Plan& plan) {
    if (const auto hit = cache.Find(plan.id)) return BuildOutcome(ArtifactOf(plan, *hit));
    {
      const std::lock_guard lock(mutex);
      if (const auto at = refused.find(plan.id); at != refused.end()) return BuildOutcome(at->second);
    }
    ASSAY_TRY(CompileOutcome outcome, Compile(plan.job));
    if (auto* rejected = std::get_if<Rejected>(&outcome)) {
      // A time-out may be a busy machine's doing; it is not remembered.
      const std::lock_guard lock(mutex);
      if (rejected->reason != Reason::kBuildTimeout) refused.emplace(plan.id, *rejected);
      return BuildOutcome(std::move(*rejected));
    }
    CompiledFile& file = std::get<CompiledFile>(outcome);
    CachedBuild build;
    ASSAY_TRY(build.twin, TwinOf(file.bytes));
    build.seconds = file.seconds;
    build.command = file.command;
    ASSAY_TRY(const CachedBuild stored, cache.Store(plan.id, file.bytes, std::move(build)));
    return BuildOutcome(ArtifactOf(plan, stored));
  }
};

CppBuilder::CppBuilder(std::filesystem::path cache) : state_(std::make_unique<State>(std::move(cache))) {}
CppBuilder::~CppBuilder() = default;

Result<BuildOutcome> CppBuilder::Build(const Contract& contract, const Candidate& candidate, BuildVariant variant) {
  const Result<Toolchain>& toolchain =
      variant == BuildVariant::kSecondCompiler ? SecondToolchain() : PrimaryToolchain();
  if (!toolchain.ok()) return toolchain.error();
  ASSAY_TRY(PlanOutcome planned, PlanCandidate(contract, candidate, toolchain.value()));
  if (auto* refused = std::get_if<Rejected>(&planned)) return BuildOutcome(std::move(*refused));
  Plan& plan = std::get<Plan>(planned);
  if (variant == BuildVariant::kSanitized) ASSAY_TRY_STATUS(Sanitize(plan));
  state_->SetLimit(contract, plan.job);
  return state_->Run(plan);
}

Status CppBuilder::Prepare(const Contract& contract, std::span<const Candidate> candidates) {
  const size_t workers = std::min<size_t>(candidates.size(), std::max(1U, std::thread::hardware_concurrency()));
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::optional<Error> trouble;
  const auto work = [&] {
    for (size_t i = next++; i < candidates.size(); i = next++) {
      auto built = Build(contract, candidates[i], BuildVariant::kPrimary);
      if (built.ok()) continue;
      const std::lock_guard lock(mutex);
      if (!trouble) trouble = built.error();
      return;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (trouble) return *trouble;
  return Ok();
}

Result<BuildOutcome> CppBuilder::BuildReference(const Contract& contract, const ReferenceKernel& reference) {
  const Result<Toolchain>& toolchain = PrimaryToolchain();
  if (!toolchain.ok()) return toolchain.error();
  ASSAY_TRY(Plan plan, PlanReference(contract, reference, toolchain.value()));
  plan.job.limit = std::chrono::seconds(120);  // the contract's author may wait for it; a jail still ends it
  ASSAY_TRY(BuildOutcome outcome, state_->Run(plan));
  if (const auto* artifact = std::get_if<Artifact>(&outcome);
      artifact != nullptr && reference.kind == ReferenceKind::kBaseline) {
    const std::lock_guard lock(state_->mutex);
    state_->first_baseline.emplace(contract.hash, artifact->build_seconds);
  }
  return outcome;
}

Result<BuildOutcome> CppBuilder::TakeObject(const Contract& contract, std::string_view bytes) {
  ASSAY_TRY(LinkedLibraries libraries, FindLibraries(contract.policy.libraries));
  const FilePolicy policy = PolicyFor(contract, false, libraries.sonames);
  if (const auto trouble = CheckSharedObject(bytes, policy)) return BuildOutcome(AtLoad(PolicyRefusal(*trouble)));
  if (const auto missing = FindMissingEntry(bytes, policy)) {
    Rejected rejected = AtLoad(PolicyRefusal(*missing));
    rejected.reason = Reason::kLoadFailed;
    rejected.check = "entry";
    return BuildOutcome(std::move(rejected));
  }
  Artifact artifact;
  artifact.file_hash = Sha256(bytes);
  artifact.id = artifact.candidate = artifact.file_hash;
  // Which parts of it are code, only its section table says, and that may say anything: a twin has the same bytes.
  artifact.twin = artifact.file_hash;
  ASSAY_TRY(artifact.path, state_->cache.StoreObject(bytes));
  artifact.name = "object " + artifact.file_hash.substr(0, 16);
  artifact.libraries = std::move(libraries.files);
  return BuildOutcome(std::move(artifact));
}

Result<std::optional<Rejected>> CppBuilder::RebuildsToSameCode(const Contract& contract, const Candidate& candidate) {
  ASSAY_TRY(BuildOutcome first, Build(contract, candidate, BuildVariant::kPrimary));
  if (auto* rejected = std::get_if<Rejected>(&first)) return std::optional<Rejected>(std::move(*rejected));
  const Artifact& artifact = std::get<Artifact>(first);
  ASSAY_TRY(PlanOutcome planned, PlanCandidate(contract, candidate, PrimaryToolchain().value()));
  Plan& plan = std::get<Plan>(planned);  // the first build went through the same planning
  state_->SetLimit(contract, plan.job);
  plan.job.date += 500'000'000;
  ASSAY_TRY(CompileOutcome outcome, Compile(plan.job));
  if (auto* rejected = std::get_if<Rejected>(&outcome)) return std::optional<Rejected>(std::move(*rejected));
  if (Sha256(std::get<CompiledFile>(outcome).bytes) == artifact.file_hash) return std::optional<Rejected>();
  Rejected rejected;
  rejected.reason = Reason::kBuildUnstable;
  rejected.check = "builds twice";
  rejected.evidence = "a second build from the same bytes, on another date and in another folder, gave different code";
  return std::optional<Rejected>(std::move(rejected));
}

std::filesystem::path DefaultCacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::filesystem::path(cache) / "assay";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache/assay";
  return std::filesystem::temp_directory_path() / "assay-cache";
}

}  // namespace assay
