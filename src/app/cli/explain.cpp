// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/explain_timing.h"
#include "app/cli/output.h"
#include "app/cli/places.h"
#include "app/cli/workshop.h"
#include "base/text.h"
#include "language/oracle.h"
#include "numerics/oracle_client.h"
#include "record/reason.h"
#include "report/table.h"
#include "verify/draw.h"

namespace assay {
namespace {

Result<int> ExplainReason(const std::string& name) {
  if (!name.empty() && !ParseReason(name)) {
    std::vector<std::string> known;
    for (size_t i = 0; i < kReasonCount; ++i) known.emplace_back(Name(static_cast<Reason>(i)));
    const std::string near = Nearest(name, known);
    return Error{ErrorCode::kInvalidInput,
                 "no reason " + Printable(name) +
                     (near.empty() ? "; there are " + Join(known, ", ") : "; did you mean " + near + "?")};
  }
  for (size_t i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (name.empty() || Name(reason) == name)
      Print(fmt::format("{}\n{}", Name(reason), Wrap(std::string(Advice(reason)), OutputWidth(), "  ", "  ")));
  }
  return kDone;
}

}  // namespace

Result<int> Command(const ExplainArguments& arguments) {
  if (arguments.topic == "reason") return ExplainReason(arguments.subject);
  if (arguments.subject.empty()) {
    return Error{ErrorCode::kInvalidInput, arguments.topic == "timing" ? "explain timing wants an ATTEMPT"
                                                                       : "explain tolerance wants a CONTRACT"};
  }
  if (arguments.topic == "timing") return ExplainTiming(arguments.subject);
  ASSAY_TRY(const Workshop shop,
            Workshop::Open(arguments.subject,
                           {std::nullopt,
                            arguments.workload.empty() ? std::vector<std::string>{} : std::vector{arguments.workload},
                            0,
                            {}}));
  const Contract& contract = shop.contract;
  const Workload* workload =
      arguments.workload.empty() ? &contract.workloads.front() : contract.FindWorkload(arguments.workload);
  ASSAY_TRY(const Shape shape, WorkloadShape(contract, *workload));
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<const std::byte>> views;
  for (const Tensor& tensor : contract.tensors) {
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
    memory.emplace_back(shape.absent_tensors.contains(tensor.name) ? 0 : static_cast<size_t>(layout.byte_span));
  }
  for (const auto& bytes : memory) views.emplace_back(bytes);
  ASSAY_TRY(const DrawnCall drawn, DrawCall(contract, shape, Values::kFirst, Seed::FromNumber(1),
                                            [&](size_t i) { return std::span(memory[i]); }));
  ASSAY_TRY(const auto oracle, Oracle::Start(contract, WorkspaceFolder() / ".assay/cache"));
  ASSAY_TRY_STATUS(oracle->Load({&shape, drawn.scalars, views}));
  OracleQuery query;
  query.arithmetic = Arithmetic::kExplain;
  query.regime = drawn.structured ? Regime::kStructured : Regime::kRandom;
  for (size_t i = 0; i < contract.tensors.size() && query.explain_tensor < 0; ++i) {
    if (contract.tensors[i].role != Role::kIn) query.explain_tensor = static_cast<int32_t>(i);
  }
  const int64_t slices = SliceCount(contract, shape);
  const int64_t slice = slices - 1;
  // The first element that the last slice computes, unless one was asked for: late rows have the longest sums.
  OracleQuery look = query;
  look.arithmetic = Arithmetic::kBounded;
  look.explain_tensor = -1;
  ASSAY_TRY(const OracleAnswer bounded, oracle->Evaluate(look, {&slice, 1}));
  if (bounded.outputs.empty())
    return Error{ErrorCode::kInvalidInput, contract.name + ": the reference wrote no output for its last slice"};
  const size_t which = std::min<size_t>(static_cast<size_t>(arguments.element), bounded.outputs.size() - 1);
  query.explain_tensor = bounded.outputs[which].tensor;
  query.explain_element = bounded.outputs[which].element;
  ASSAY_TRY(const OracleAnswer answer, oracle->Evaluate(query, {&slice, 1}));
  Print(fmt::format("{}, workload {} ({}), slice {} of {}\n", contract.name, workload->name, Describe(contract, shape),
                    slice, slices));
  Print(fmt::format("  value {:.9g}, bound {:.3g} in {} ({} sums)\n\n", bounded.outputs[which].value,
                    bounded.outputs[which].bound,
                    Info(contract.tensors[static_cast<size_t>(query.explain_tensor)].dtype).name,
                    drawn.structured ? "structured" : "random mantissas"));
  Print(ExplainTolerance(query, answer));
  return kDone;
}

}  // namespace assay
