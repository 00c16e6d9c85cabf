// SPDX-License-Identifier: Apache-2.0
#include "language/instance_sizes.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "language/endings.h"

namespace assay {
namespace {

constexpr std::chrono::seconds kProbeLimit{5};
// The address sanitizer keeps a byte for every eight of the address space, and reserves its heap beside.
constexpr uint64_t kShadowBytes = uint64_t{1} << 46;

// What an artifact asked for, so that a second process of it at the same sizes need not ask again.
class AskedSizes {
 public:
  std::optional<int64_t> Find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = sizes_.find(key);
    return at == sizes_.end() ? std::nullopt : std::optional(at->second);
  }
  void Keep(const std::string& key, int64_t size) {
    const std::lock_guard lock(mutex_);
    if (sizes_.size() < 4096) sizes_.emplace(key, size);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int64_t> sizes_;
};

AskedSizes& Asked() {
  static AskedSizes asked;
  return asked;
}

std::vector<CallArgument> AxisArguments(const Contract& contract, const Shape& shape) {
  std::vector<CallArgument> arguments;
  for (const Axis& axis : contract.axes)
    arguments.emplace_back(IntegerArgument{static_cast<uint64_t>(shape.axes.at(axis.name))});
  return arguments;
}

}  // namespace

SessionSpec BaseSpec(const InstanceSpec& spec) {
  const Artifact& artifact = *spec.artifact;
  SessionSpec session;
  session.artifact = artifact.path;
  session.artifact_hash = artifact.file_hash;
  session.symbols = {spec.contract->entry};
  session.threads = spec.threads;
  session.libraries = artifact.libraries;
  session.environment_padding = spec.environment_padding;
  session.stack_offset = spec.stack_offset;
  session.placement_draw = spec.placement_draw;
  session.cpus = spec.cpus;
  session.trusted = artifact.trusted_code;
  // The environment starts empty, so what `unset` names is never there; libraries with threads of
  // their own are told the budget by the variables that they know.
  if (!artifact.libraries.empty()) {
    for (const char* name : {"OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
      session.environment.emplace_back(name, std::to_string(spec.threads));
  }
  // Without /proc it cannot read options, and needs none: the runner's own handler comes later and keeps the faults.
  if (!artifact.sanitizer.empty()) {
    session.environment.emplace_back("LD_PRELOAD", artifact.sanitizer.filename().string());
    session.lenient_filter = true;
    session.limits.address_space = kShadowBytes;
  }
  return session;
}

std::optional<std::string> BadSize(std::string_view what, int64_t bytes, int64_t most, std::string_view rule) {
  if (bytes >= 0 && bytes <= most) return std::nullopt;
  return fmt::format("{} asks for {} bytes; {} allows 0 to {}", what, bytes, rule, most);
}

Result<SizeOutcome> AskSize(const InstanceSpec& spec, const std::string& symbol) {
  std::string key = spec.artifact->file_hash + " " + symbol;
  for (const Axis& axis : spec.contract->axes) key += fmt::format(" {}", spec.shape->axes.at(axis.name));
  key += fmt::format(" threads {}", spec.threads);  // omp_get_max_threads() may be part of the answer
  if (const auto known = Asked().Find(key)) return SizeOutcome(*known);
  SessionSpec session = BaseSpec(spec);
  session.symbols = {symbol};
  ASSAY_TRY(StartOutcome started, Session::Start(session));
  const Endings endings{spec.stage, {}};
  if (auto* failed = std::get_if<LoadFailed>(&started)) return SizeOutcome(endings.Explain(*failed));
  if (auto* ended = std::get_if<Ended>(&started)) return SizeOutcome(endings.Explain(*ended));
  const Call call{0, AxisArguments(*spec.contract, *spec.shape)};
  ASSAY_TRY(UnitOutcome outcome, std::get<Session>(started).Run(std::span(&call, 1), kProbeLimit, WaitMode::kSleep));
  if (auto* ended = std::get_if<Ended>(&outcome)) return SizeOutcome(endings.Explain(*ended));
  if (auto* hung = std::get_if<Hung>(&outcome)) return SizeOutcome(endings.Explain(*hung));
  const Completed& completed = std::get<Completed>(outcome);
  if (completed.integer_results.empty())
    return Error{ErrorCode::kCorrupt, "the sandbox returned no result of " + symbol};
  const auto bytes = static_cast<int64_t>(completed.integer_results.front());
  Asked().Keep(key, bytes);
  return SizeOutcome(bytes);
}

}  // namespace assay
