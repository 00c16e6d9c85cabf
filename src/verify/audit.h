// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "base/random.h"
#include "language/cpp/builder.h"
#include "record/seams.h"

namespace assay {

// Check 12: secret slices of timed calls, drawn after the end stamp, compared like any other answer.
class SliceAuditor : public Auditor {
 public:
  explicit SliceAuditor(Seed seed, std::filesystem::path cache = DefaultCacheFolder());
  ~SliceAuditor() override;

  Result<std::optional<Rejected>> Audit(std::span<const TimedCall> calls) override;

  // What was looked at so far, of one contract or all.
  int64_t slices_audited() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The share of slices that a candidate may leave out and still be caught with 99 % when so many
// secret slices were compared.
double SkippedShareCaught(int64_t slices_audited);

}  // namespace assay
