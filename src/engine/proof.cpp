// SPDX-License-Identifier: Apache-2.0
#include "engine/proof.h"

namespace assay {

Result<VerifyOutcome> ProveRight(const Contract& contract, const Candidate& candidate, Builder& builder, Gate& gate) {
  ASSAY_TRY(const BuildOutcome built, builder.Build(contract, candidate, BuildVariant::kPrimary));
  if (const auto* refused = std::get_if<Rejected>(&built)) return VerifyOutcome(*refused);
  ASSAY_TRY(const ScreenOutcome screened, gate.Screen(contract, std::get<Artifact>(built)));
  if (const auto* refused = std::get_if<Rejected>(&screened)) return VerifyOutcome(*refused);
  return gate.Verify(contract, std::get<Screened>(screened));
}

Result<VerifyOutcome> ProveControl(const Contract& contract, const Candidate& candidate, Builder& builder, Gate& gate) {
  ASSAY_TRY(const BuildOutcome built, builder.Build(contract, candidate, BuildVariant::kPrimary));
  if (const auto* refused = std::get_if<Rejected>(&built)) return VerifyOutcome(*refused);
  return gate.Control(contract, std::get<Artifact>(built));
}

}  // namespace assay
