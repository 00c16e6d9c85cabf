// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "numerics/oracle_client.h"

namespace assay {

// One call as the reference sees it.
struct OracleCall {
  const Shape* shape = nullptr;
  std::span<const double> scalars;                      // in the order of contract.scalars
  std::span<const std::span<const std::byte>> tensors;  // in the order of contract.tensors; inout as before the call;
                                                        // outputs are looked at where others are computed from them
};

// The contract's reference, built once per content and run in jailed processes of its own.  Whatever
// goes wrong here is an Error: trouble of ours or of the contract's author, never a candidate's fault.
class Oracle {
 public:
  // `cache`: as for CppBuilder.  `processes`: how many share the slices of one question.
  static Result<std::unique_ptr<Oracle>> Start(const Contract& contract, const std::filesystem::path& cache,
                                               int processes = 1);
  ~Oracle();

  // Evaluate speaks of this call until the next Load.  The tensors' bytes must stay there and as they
  // are until then: they are copied into an oracle's process when it is first asked, once.
  Status Load(const OracleCall& call);

  // `how` says the arithmetic and its settings; axes, scalars, tensors and slices are filled in here.
  // `slices`: flat numbers as in contract/shape.h.  In the answer, tensors are numbered as in
  // contract.tensors and slices as given.
  // `own`: an output with slices of its own, whose slices these are; null: the contract's.
  Result<OracleAnswer> Evaluate(OracleQuery how, std::span<const int64_t> slices, const Tensor* own = nullptr);

 private:
  struct State;
  explicit Oracle(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
