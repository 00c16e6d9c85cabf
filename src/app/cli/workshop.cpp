// SPDX-License-Identifier: Apache-2.0
#include "app/cli/workshop.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "app/cli/places.h"
#include "app/cli/polite.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "contract/load.h"
#include "language/cpp/directives.h"
#include "language/cpp/toolchain.h"
#include "measure/environment.h"
#include "measure/lease.h"
#include "sandbox/walls.h"

namespace assay {
namespace {

Status CheckWorkloads(const Contract& contract, const std::vector<std::string>& workloads) {
  for (const std::string& workload : workloads) {
    if (contract.FindWorkload(workload) != nullptr) continue;
    std::vector<std::string> names;
    for (const Workload& known : contract.workloads) names.push_back(known.name);
    return Error{ErrorCode::kInvalidInput,
                 contract.name + " has no workload " + Printable(workload) + "; it has " + Join(names, ", ")};
  }
  return Ok();
}

// Compilers are part of the key: a new one may turn an honest kernel into another.
std::string AdmissionKey(const Contract& contract) {
  std::string key(kGateVersion);
  const Versions versions = VersionsHere(contract);
  for (const char* compiler : {"g++", "clang++"}) {
    const auto at = versions.find(compiler);
    if (at != versions.end()) key += " " + at->second;
  }
  return key;
}

constexpr size_t kLargestObject = size_t{16} << 20;  // as much as a build may write
constexpr size_t kShownDigits = 16;                  // of the hash that names one

bool IsObject(const std::filesystem::path& file) {
  constexpr std::string_view kElf = "\x7f\x45LF";
  std::string magic(kElf.size(), ' ');
  std::ifstream(file, std::ios::binary).read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return magic == kElf;
}

}  // namespace

Result<Workshop> Workshop::Open(const std::string& name, const WorkshopOptions& options) {
  Workshop shop;
  ASSAY_TRY(const std::filesystem::path folder, LocateContract(name));
  ASSAY_TRY(shop.contract, LoadContract(folder));
  ASSAY_TRY_STATUS(CheckWorkloads(shop.contract, options.workloads));
  const std::filesystem::path home = WorkspaceFolder() / ".assay";
  const std::filesystem::path cache = home / "cache";
  ASSAY_TRY(shop.ledger, SqliteLedger::Open(home));
  shop.secret = Seed::Fresh();
  shop.threads = ThreadsFor(shop.contract, options.threads.value_or(0));
  shop.own_builder = std::make_unique<CppBuilder>(cache);
  CppBuilder* builder = shop.own_builder.get();
  const auto rebuild = [builder](const Contract& contract, const Candidate& candidate) {
    return builder->RebuildsToSameCode(contract, candidate);
  };
  shop.own_gate = std::make_unique<KernelGate>(
      *builder, GateOptions{shop.secret.Derive("gate"), cache, options.threads.value_or(0), rebuild, options.without});
  shop.builder = std::make_unique<PoliteBuilder>(*shop.own_builder);
  shop.gate = std::make_unique<PoliteGate>(*shop.own_gate);
  shop.auditor = std::make_unique<SliceAuditor>(shop.secret.Derive("audit"), cache);
  TimerOptions timing;
  timing.threads = options.threads.value_or(0);
  timing.seed = shop.secret.Derive("clock");
  timing.asked_margin = options.margin;
  timing.workloads = options.workloads;
  timing.calibrations = DefaultCacheFolder();
  timing.progress = options.remark;
  timing.builder = builder;
  shop.timer = std::make_unique<KernelTimer>(*shop.auditor, timing);
  return shop;
}

Result<Admission> Workshop::Admitted(const std::function<void()>& when_missing) {
  ASSAY_TRY(std::optional<Admission> known, ledger->FindAdmission(contract.hash, AdmissionKey(contract)));
  if (known) return *known;
  when_missing();
  return Admit();
}

Result<Admission> Workshop::Admit() {
  ASSAY_TRY(Admission admission, gate->Admit(contract));
  admission.gate_version = AdmissionKey(contract);
  // A refusal is worked out again each time: what the ledger keeps cannot be taken back.
  if (admission.admitted) ASSAY_TRY_STATUS(ledger->AppendAdmission(contract.hash, admission));
  return admission;
}

Result<std::vector<Template>> ReadTemplates(const Contract& contract) {
  std::vector<Template> templates;
  for (const std::filesystem::path& path : contract.templates) {
    ASSAY_TRY(Template one, ReadTemplate(path, contract));
    templates.push_back(std::move(one));
  }
  return templates;
}

Result<NamedKernel> FindKernel(const Contract& contract, const std::string& what, const KnobValues& knobs,
                               const std::vector<std::string>& flags) {
  std::error_code error;
  std::filesystem::path file;
  std::vector<std::string> names;
  for (const std::filesystem::path& path : contract.templates) {
    names.push_back(path.stem().string());
    if (file.empty() && path.stem() == what) file = path;
  }
  const ReferenceKernel* const reference = contract.FindReference(what);
  // The contract's own names win: a file that lies about must not pass for a baseline.
  if (file.empty() && reference == nullptr && std::filesystem::is_regular_file(what, error)) file = what;
  if (!file.empty() && IsObject(file)) {
    if (!knobs.empty() || !flags.empty())
      return Error{ErrorCode::kInvalidInput, Printable(what) + " is a shared object and has no knobs or flag groups"};
    NamedKernel object;
    ASSAY_TRY(object.object, ReadFile(file, kLargestObject));
    object.label = "object " + Sha256(object.object).substr(0, kShownDigits);
    return object;
  }
  if (!file.empty()) {
    ASSAY_TRY(const Template family, ReadTemplate(file, contract));
    ASSAY_TRY(Candidate candidate, MakeCandidate(family, knobs, flags));
    return NamedKernel{std::move(candidate), nullptr, family.name};
  }
  for (const ReferenceKernel& known : contract.references) names.push_back(known.name);
  if (reference != nullptr) {
    if (!knobs.empty() || !flags.empty())
      return Error{ErrorCode::kInvalidInput, what + " is a " +
                                                 (reference->kind == ReferenceKind::kPeer ? "peer" : "baseline") +
                                                 " and has no knobs or flag groups"};
    return NamedKernel{std::nullopt, reference, what};
  }
  const std::string near = Nearest(what, names);
  return Error{ErrorCode::kNotFound,
               Printable(what) + ": no such file, and " + contract.name +
                   " has no template, baseline or peer of that name" +
                   (near.empty() ? "; it has " + Join(names, ", ") : "; did you mean " + near + "?")};
}

Result<BuildOutcome> BuildKernel(Workshop& workshop, const NamedKernel& subject) {
  const auto build = [&]() -> Result<BuildOutcome> {
    if (subject.reference != nullptr) return workshop.builder->BuildReference(workshop.contract, *subject.reference);
    if (!subject.object.empty()) return workshop.own_builder->TakeObject(workshop.contract, subject.object);
    return workshop.builder->Build(workshop.contract, *subject.candidate, BuildVariant::kPrimary);
  };
  Result<BuildOutcome> built = build();
  if (built.ok()) {
    if (auto* artifact = std::get_if<Artifact>(&built.value())) artifact->name = subject.label;
  }
  return built;
}

Versions VersionsHere(const Contract& contract) {
  Versions versions{{"assay", ASSAY_VERSION}, {"gate", std::string(kGateVersion)}};
  if (const auto& primary = PrimaryToolchain(); primary.ok()) versions["g++"] = primary.value().version;
  if (const auto& second = SecondToolchain(); second.ok()) versions["clang++"] = second.value().version;
  for (const ReferenceKernel& reference : contract.references) {
    for (const std::string& name : reference.libraries) {
      // The file a soname leads to carries the library's version.
      const auto library = FindLibrary(name);
      std::error_code error;
      if (library.ok() && !library.value().files.empty())
        versions[name] = std::filesystem::canonical(library.value().files.front(), error).filename().string();
    }
  }
  return versions;
}

Result<Machine> MachineHere() {
  Machine machine = ThisMachine();
  ASSAY_TRY(const Walls walls, ProbeWalls());
  const std::string standing = walls.Summary();  // Split gives views into it
  for (const std::string_view wall : Split(standing, ' ')) {
    if (!wall.empty()) machine.walls.emplace_back(wall);
  }
  machine.gaps = walls.Missing();
  return machine;
}

std::chrono::nanoseconds SystemClock::Now() { return std::chrono::steady_clock::now().time_since_epoch(); }
std::chrono::nanoseconds SystemClock::Waited() { return MachineLease::Waited(); }

}  // namespace assay
