// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "record/seams.h"

namespace assay {

// Builds C++ kernels in a jail that holds the toolchain and one source, into a content cache that
// only this process writes.  Safe to call from several threads.
class CppBuilder : public Builder {
 public:
  // `cache`: a folder, made when missing (a workspace's .assay/cache).
  explicit CppBuilder(std::filesystem::path cache);
  ~CppBuilder() override;

  Result<BuildOutcome> Build(const Contract& contract, const Candidate& candidate, BuildVariant variant) override;
  Status Prepare(const Contract& contract, std::span<const Candidate> candidates) override;
  Result<BuildOutcome> BuildReference(const Contract& contract, const ReferenceKernel& reference) override;

  // A shared object that somebody else linked, named by the hash of its bytes: an artifact once the policy for such
  // files has passed it.  There is no source: what asks for one cannot be asked of it.
  Result<BuildOutcome> TakeObject(const Contract& contract, std::string_view bytes);

  // Builds once more beside the cache, with another date and another folder, and compares bytes.
  // nothing: the same; else Rejected{build_unstable} (or why the second build failed).
  Result<std::optional<Rejected>> RebuildsToSameCode(const Contract& contract, const Candidate& candidate);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The workspace's cache folder for a process without a workspace: below $XDG_CACHE_HOME or ~/.cache.
std::filesystem::path DefaultCacheFolder();

}  // namespace assay
