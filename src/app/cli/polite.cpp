// SPDX-License-Identifier: Apache-2.0
#include "app/cli/polite.h"

#include <optional>

#include "measure/lease.h"

namespace assay {
namespace {

// Longer than a decision usually takes.
constexpr std::chrono::seconds kPatience{120};

// Where there can be no lock there is nobody to wait for.
template <typename Work>
auto Politely(Work&& work) -> decltype(work()) {
  const Result<std::optional<MachineLease>> share = MachineLease::Share(kPatience);
  return work();
}

}  // namespace

Result<BuildOutcome> PoliteBuilder::Build(const Contract& contract, const Candidate& candidate, BuildVariant variant) {
  return Politely([&] { return builder_.Build(contract, candidate, variant); });
}

Status PoliteBuilder::Prepare(const Contract& contract, std::span<const Candidate> candidates) {
  return Politely([&] { return builder_.Prepare(contract, candidates); });
}

Result<BuildOutcome> PoliteBuilder::BuildReference(const Contract& contract, const ReferenceKernel& reference) {
  return Politely([&] { return builder_.BuildReference(contract, reference); });
}

Result<ScreenOutcome> PoliteGate::Screen(const Contract& contract, const Artifact& artifact) {
  return Politely([&] { return gate_.Screen(contract, artifact); });
}

Result<VerifyOutcome> PoliteGate::Verify(const Contract& contract, const Screened& screened) {
  return Politely([&] { return gate_.Verify(contract, screened); });
}

Result<ExamOutcome> PoliteGate::Examine(const Contract& contract, const Candidate& candidate,
                                        const Verified& verified) {
  return Politely([&] { return gate_.Examine(contract, candidate, verified); });
}

Result<VerifyOutcome> PoliteGate::Control(const Contract& contract, const Artifact& artifact) {
  return Politely([&] { return gate_.Control(contract, artifact); });
}

Result<Admission> PoliteGate::Admit(const Contract& contract) {
  return Politely([&] { return gate_.Admit(contract); });
}

}  // namespace assay
