// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "contract/load_tables.h"
#include "contract/shape.h"
#include "contract/shape_search.h"

namespace assay {
namespace {

Result<Shape> LegalWorkload(const Contract& contract, const Workload& workload) {
  ASSAY_TRY(Shape shape, WorkloadShape(contract, workload));
  ASSAY_TRY_STATUS(CheckLegal(contract, shape));
  return shape;
}

// A constant condition needs no search, and no axis lets one fail that holds elsewhere.
Status CheckConstantConditions(const Locator& where, const Contract& contract) {
  for (const Expression& condition : contract.require) {
    if (!condition.NamesUsed().empty()) continue;
    const Result<bool> holds = condition.EvaluateCondition([](std::string_view) -> const Value* { return nullptr; });
    if (!holds.ok()) return where.At({"require"}, holds.error().message);
    if (!holds.value()) return where.At({"require"}, fmt::format("\"{}\" never holds; remove it", condition.text()));
  }
  return Ok();
}

Status CheckRequire(const Locator& where, const Contract& contract) {
  ASSAY_TRY_STATUS(CheckConstantConditions(where, contract));
  for (const Workload& workload : contract.workloads) {
    if (LegalWorkload(contract, workload).ok()) return Ok();
  }
  const auto contradiction = FindContradiction(contract);
  if (!contradiction) return Ok();
  // What is no condition at all, or cannot be computed, says so better than "holds for no sizes".
  Shape at;
  for (const Axis& axis : contract.axes) at.axes[axis.name] = contract.workloads[0].axes.at(axis.name);
  const ShapeNames names(at);
  for (const size_t i : contradiction->conditions) {
    const Result<bool> holds = contract.require[i].EvaluateCondition(names.names());
    if (!holds.ok()) return where.At({"require"}, holds.error().message);
  }
  std::vector<std::string> quoted;
  for (const size_t i : contradiction->conditions) quoted.push_back("\"" + contract.require[i].text() + "\"");
  const std::string_view found = contradiction->complete ? "no legal shape exists" : "no legal shape was found";
  if (quoted.size() == 1) {
    return where.At({"require"},
                    fmt::format("{}: {} holds for no sizes of its axes; change it or the axes", found, quoted[0]));
  }
  const std::string first = quoted[0];
  quoted.erase(quoted.begin());
  return where.At({"require"}, fmt::format("{}: {} contradicts {} within the axes' sizes; change one of them", found,
                                           first, Join(quoted, " and ")));
}

}  // namespace

Status CheckShapes(const Locator& where, Contract& contract) {
  ASSAY_TRY_STATUS(CheckRequire(where, contract));
  for (const Workload& workload : contract.workloads) {
    const Result<Shape> shape = LegalWorkload(contract, workload);
    if (shape.ok()) continue;
    return where.At({"workload", workload.name, "axes"},
                    fmt::format("is not a legal shape: {}; change the sizes", shape.error().message));
  }
  return Ok();
}

}  // namespace assay
