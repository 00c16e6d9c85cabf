// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "contract/load_tables.h"
#include "contract/reader.h"
#include "contract/relation.h"
#include "contract/signature.h"

namespace assay {
namespace {

std::string Hint(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  if (!nearest.empty()) return fmt::format("did you mean {}?", nearest);
  return known.empty() ? "declare it" : fmt::format("known: {}", Cut(Join(known, ", "), 200));
}

template <typename T>
std::vector<std::string> NamesOf(const std::vector<T>& list) {
  std::vector<std::string> names;
  for (const T& item : list) names.push_back(item.name);
  return names;
}

std::vector<std::string> StrideNames(const Contract& contract) {
  std::set<std::string> names;
  for (const Tensor& tensor : contract.tensors) {
    for (const std::string& name : tensor.stride) {
      if (!name.empty()) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

// Everything that `args` may list, and what it is.
using Declared = std::map<std::string, ArgumentKind>;

Result<Declared> Declarations(const Locator& where, const Contract& contract) {
  Declared declared;
  std::map<std::string, std::string_view> table_of;
  const auto add = [&](const std::string& name, ArgumentKind kind, std::string_view table) -> Status {
    if (name == "scratch") return where.At({table, name}, "scratch is the reserved name of an argument; rename it");
    if (name == contract.entry) return where.At({table, name}, "is the entry's own name; rename it");
    if (!declared.emplace(name, kind).second) {
      return where.At({table, name}, fmt::format("the name also stands in [{}]; rename one", table_of[name]));
    }
    table_of[name] = table;
    return Ok();
  };
  for (const Axis& axis : contract.axes) ASSAY_TRY_STATUS(add(axis.name, ArgumentKind::kAxis, "axis"));
  for (const Scalar& scalar : contract.scalars) ASSAY_TRY_STATUS(add(scalar.name, ArgumentKind::kScalar, "scalar"));
  for (const Tensor& tensor : contract.tensors) ASSAY_TRY_STATUS(add(tensor.name, ArgumentKind::kTensor, "tensor"));
  for (const Tensor& tensor : contract.tensors) {
    for (const std::string& name : tensor.stride) {
      if (name.empty()) continue;
      const auto here = [&](std::string_view what) { return where.At({"tensor", tensor.name, "stride"}, what); };
      if (!IsArgumentName(name) || name == "scratch") return here(fmt::format("\"{}\": {}", name, kArgumentNameRule));
      const auto [entry, fresh] = declared.emplace(name, ArgumentKind::kStride);
      if (!fresh && entry->second != ArgumentKind::kStride)
        return here(fmt::format("{} is also the name of an axis, scalar or tensor; rename it", name));
    }
  }
  return declared;
}

Status ReadArguments(const Locator& where, Contract& contract, const Declared& declared) {
  const auto here = [&](std::string_view what) { return where.At({"args"}, what); };
  std::vector<std::string> known;
  for (const auto& [name, kind] : declared) known.push_back(name);
  std::set<std::string> seen;
  for (const ConfigNode& item : where.root().Find("args")->value.items) {
    const std::string& name = item.text;
    if (!seen.insert(name).second) return here(fmt::format("{} stands there twice; remove one", name));
    const auto found = declared.find(name);
    if (found != declared.end()) {
      contract.arguments.push_back({found->second, name});
    } else if (name == "scratch") {
      contract.arguments.push_back({ArgumentKind::kScratch, name});
    } else {
      return here(fmt::format("{} is no axis, scalar, tensor or stride; {}", name, Hint(name, known)));
    }
  }
  for (const auto& [name, kind] : declared) {
    if (!seen.contains(name))
      return here(fmt::format("{} is missing; list every axis, scalar, tensor and stride once", name));
  }
  if (contract.arguments.size() > kMaxArguments)
    return here(fmt::format("more than {} arguments; merge some", kMaxArguments));
  return Ok();
}

// Nothing but `args` has an order, so the lists take theirs from it.
void SortByArguments(Contract& contract) {
  const auto position = [&](const std::string& name) {
    return std::ranges::find(contract.arguments, name, &ArgumentRef::name);
  };
  const auto by = [&](const auto& a, const auto& b) { return position(a.name) < position(b.name); };
  std::ranges::sort(contract.axes, by);
  std::ranges::sort(contract.scalars, by);
  std::ranges::sort(contract.tensors, by);
}

Status CheckExpression(const Locator& where, std::initializer_list<std::string_view> path, const Expression& expression,
                       const std::vector<std::string>& known) {
  for (const std::string& name : expression.NamesUsed()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return where.At(
        path, fmt::format("\"{}\" uses {}, which is not known here; {}", expression.text(), name, Hint(name, known)));
  }
  return Ok();
}

Status CheckMentioned(const Locator& where, std::initializer_list<std::string_view> path, const std::string& name,
                      const std::vector<std::string>& known, std::string_view what) {
  if (std::ranges::find(known, name) != known.end()) return Ok();
  return where.At(path, fmt::format("{} is no {}; {}", name, what, Hint(name, known)));
}

// Inputs are only read, so two of them at one address are no hazard; an inout tensor has its input already.
Status CheckAlias(const Locator& where, const Tensor& tensor, const Tensor& other) {
  const auto here = [&](std::string_view what) { return where.At({"tensor", tensor.name, "may_alias"}, what); };
  const bool pair =
      (tensor.role == Role::kOut && other.role == Role::kIn) || (tensor.role == Role::kIn && other.role == Role::kOut);
  if (!pair) return here(fmt::format("{} and {} are not an input and an output; remove it", tensor.name, other.name));
  if (tensor.dtype != other.dtype)
    return here(fmt::format("{} and {} are of different types; remove it", tensor.name, other.name));
  if (tensor.prepare || other.prepare) return here("a prepared tensor is not at its own address; remove it");
  return Ok();
}

Status CheckTensor(const Locator& where, const Contract& contract, const Tensor& tensor,
                   const std::vector<std::string>& axes) {
  for (const Expression& extent : tensor.shape)
    ASSAY_TRY_STATUS(CheckExpression(where, {"tensor", tensor.name, "shape"}, extent, axes));
  for (const Expression& end : tensor.range)
    ASSAY_TRY_STATUS(CheckExpression(where, {"tensor", tensor.name, "range"}, end, axes));
  for (const Generator& generator : tensor.values) {
    for (const Expression& number : generator.parameters)
      ASSAY_TRY_STATUS(CheckExpression(where, {"tensor", tensor.name, "values"}, number, axes));
    const bool special = generator.kind == GeneratorKind::kSpecial && Info(tensor.dtype).is_float;
    if (special && !contract.policy.special_propagates) {
      return where.At({"tensor", tensor.name, "values"},
                      "special draws NaN and infinities; say special = \"propagate\" in [policy] or remove it");
    }
  }
  const std::vector<std::string> tensors = NamesOf(contract.tensors);
  for (const std::string& name : tensor.may_alias) {
    ASSAY_TRY_STATUS(CheckMentioned(where, {"tensor", tensor.name, "may_alias"}, name, tensors, "tensor"));
    ASSAY_TRY_STATUS(CheckAlias(where, tensor, *contract.FindTensor(name)));
  }
  if (!tensor.compare) return Ok();
  if (tensor.compare->kind == CompareClass::kSolve && tensor.role != Role::kOut) {
    return where.At({"tensor", tensor.name, "role"}, "what solves is read beside its equation; write out");
  }
  const auto output = [&](std::string_view key, const std::string& name, bool integer) -> Status {
    const Tensor* other = contract.FindTensor(name);
    const bool fits =
        other != nullptr && other != &tensor && other->role == Role::kOut && !(integer && Info(other->dtype).is_float);
    if (name.empty() || fits) return Ok();
    return where.At({"tensor", tensor.name, "compare", key},
                    fmt::format("{} is no other {}output; {}", name, integer ? "integer " : "", Hint(name, tensors)));
  };
  ASSAY_TRY_STATUS(output("given", tensor.compare->given, false));
  ASSAY_TRY_STATUS(output("along", tensor.compare->along, true));
  for (const std::string& name : tensor.compare->slice)
    ASSAY_TRY_STATUS(CheckMentioned(where, {"tensor", tensor.name, "compare", "slice"}, name, axes, "axis"));
  return Ok();
}

Status CheckRelation(const Locator& where, const Contract& contract, const Relation& relation,
                     const std::vector<std::string>& axes) {
  const std::vector<std::string> tensors = NamesOf(contract.tensors);
  for (const std::string& name : relation.of)
    ASSAY_TRY_STATUS(CheckMentioned(where, {"relation", relation.name, "of"}, name, tensors, "tensor"));
  if (!relation.axis.empty())
    ASSAY_TRY_STATUS(CheckMentioned(where, {"relation", relation.name, "axis"}, relation.axis, axes, "axis"));
  for (const auto& [name, expression] : relation.carries) {
    ASSAY_TRY_STATUS(CheckMentioned(where, {"relation", relation.name, "carries"}, name, axes, "axis"));
    ASSAY_TRY_STATUS(CheckExpression(where, {"relation", relation.name, "carries"}, expression, axes));
  }
  if (relation.with == "nan" && !contract.policy.special_propagates) {
    return where.At({"relation", relation.name, "with"},
                    "nan needs special = \"propagate\" in [policy]; write redrawn");
  }
  if (const auto complaint = ComplaintAbout(contract, relation))
    return where.At({"relation", relation.name, complaint->key}, complaint->text);
  return Ok();
}

Status CheckWorkloadNames(const Locator& where, const Contract& contract, const Workload& workload,
                          const std::vector<std::string>& sizes) {
  for (const auto& [name, size] : workload.axes)
    ASSAY_TRY_STATUS(CheckMentioned(where, {"workload", workload.name, "axes"}, name, sizes, "axis or stride"));
  for (const Axis& axis : contract.axes) {
    if (!workload.axes.contains(axis.name))
      return where.At({"workload", workload.name, "axes"},
                      fmt::format("{} is missing; give every axis a size", axis.name));
  }
  for (const auto& [name, value] : workload.scalars) {
    ASSAY_TRY_STATUS(
        CheckMentioned(where, {"workload", workload.name, "scalars"}, name, NamesOf(contract.scalars), "scalar"));
  }
  const auto packed = [](const Tensor& tensor) { return tensor.prepare; };
  if (workload.state == CacheState::kWeightsCold && std::ranges::none_of(contract.tensors, packed)) {
    return where.At({"workload", workload.name, "state"},
                    "weights-cold needs weights; mark them with prepare = true, or write cold");
  }
  for (const std::string& name : workload.null_tensors) {
    const Tensor* tensor = contract.FindTensor(name);
    if (tensor != nullptr && tensor->optional) continue;
    return where.At({"workload", workload.name, "null"},
                    fmt::format("{} is no optional tensor; {}", name, Hint(name, NamesOf(contract.tensors))));
  }
  return Ok();
}

// The axis that a dimension is, where its extent is nothing but a name.
std::string PlainAxis(const Contract& contract, const Expression& extent) {
  return contract.FindAxis(extent.text()) != nullptr ? extent.text() : std::string();
}

std::vector<std::string> LeadingAxes(const Contract& contract, const Tensor& tensor) {
  std::vector<std::string> leading;
  for (const Expression& extent : tensor.shape) {
    const std::string axis = PlainAxis(contract, extent);
    if (axis.empty() || std::ranges::find(leading, axis) != leading.end()) break;
    leading.push_back(axis);
  }
  return leading;
}

std::vector<std::string> DefaultSlice(const Contract& contract) {
  std::optional<std::vector<std::string>> shared;
  for (const Tensor& tensor : contract.tensors) {
    // An output that is computed from another one follows that one, not the slices.
    if (tensor.role == Role::kIn || (tensor.compare && !tensor.compare->given.empty())) continue;
    std::vector<std::string> leading = LeadingAxes(contract, tensor);
    // Indices that must differ belong together: their row is no slice axis.
    if (tensor.compare && tensor.compare->unique && leading.size() == tensor.shape.size() && leading.size() > 1)
      leading.pop_back();
    if (shared) {
      const auto parted = std::ranges::mismatch(leading, *shared).in1;
      leading.erase(parted, leading.end());
    }
    shared = std::move(leading);
  }
  return shared.value_or(std::vector<std::string>());
}

// An output with `given` that does not begin with the contract's slice axes (counts per expert, where
// one call is a token) is computed in calls of its own, along its own axes.
void SetOwnSlices(Contract& contract) {
  for (Tensor& tensor : contract.tensors) {
    if (!tensor.compare || tensor.compare->given.empty() || tensor.compare->own_slice) continue;
    const std::vector<std::string> leading = LeadingAxes(contract, tensor);
    if (std::ranges::mismatch(leading, contract.slice).in2 == contract.slice.end()) continue;
    tensor.compare->own_slice = true;
    tensor.compare->slice = leading;
  }
}

// The reference reads these outputs as the candidate left them, so an index must be checked before it
// is used as one, and no output may wait for itself.
Status CheckGiven(const Locator& where, const Contract& contract, const Tensor& tensor) {
  if (!tensor.compare) return Ok();
  for (const auto& [key, name] :
       {std::pair<std::string_view, std::string>{"given", tensor.compare->given}, {"along", tensor.compare->along}}) {
    if (name.empty()) continue;
    const Tensor* other = contract.FindTensor(name);
    if (!Info(other->dtype).is_float && other->range.empty()) {
      return where.At({"tensor", name, "range"},
                      fmt::format("is missing; {} takes its elements as the candidate returned them", tensor.name));
    }
    std::set<const Tensor*> seen{&tensor};
    std::vector<const Tensor*> next{other};
    while (!next.empty()) {
      const Tensor* current = next.back();
      next.pop_back();
      if (current == &tensor) {
        return where.At({"tensor", tensor.name, "compare", key},
                        fmt::format("{} in its turn waits for {}; remove one of them", name, tensor.name));
      }
      if (!seen.insert(current).second || !current->compare) continue;
      for (const std::string& more : {current->compare->given, current->compare->along}) {
        if (!more.empty()) next.push_back(contract.FindTensor(more));
      }
    }
  }
  return Ok();
}

Status CheckSlice(const Locator& where, Contract& contract, const std::vector<std::string>& axes) {
  if (where.root().Find("slice") == nullptr) {
    contract.slice = DefaultSlice(contract);
    return Ok();
  }
  std::set<std::string> seen;
  for (const std::string& name : contract.slice) {
    ASSAY_TRY_STATUS(CheckMentioned(where, {"slice"}, name, axes, "axis"));
    if (!seen.insert(name).second) return where.At({"slice"}, fmt::format("{} stands there twice; remove one", name));
  }
  return Ok();
}

Status CheckCost(const Locator& where, const Contract& contract, const std::vector<std::string>& axes) {
  if (!contract.cost) return Ok();
  const std::string_view key = where.root().Find("cost")->value.Find("flops") != nullptr ? "flops" : "ops";
  ASSAY_TRY_STATUS(CheckExpression(where, {"cost", key}, contract.cost->operations, axes));
  if (contract.cost->bytes) ASSAY_TRY_STATUS(CheckExpression(where, {"cost", "bytes"}, *contract.cost->bytes, axes));
  return Ok();
}

}  // namespace

Status CheckNames(const Locator& where, Contract& contract) {
  ASSAY_TRY(const Declared declared, Declarations(where, contract));
  ASSAY_TRY_STATUS(ReadArguments(where, contract, declared));
  SortByArguments(contract);
  const std::vector<std::string> axes = NamesOf(contract.axes);
  std::vector<std::string> sizes = axes;
  for (std::string& name : StrideNames(contract)) sizes.push_back(std::move(name));

  for (const Expression& condition : contract.require)
    ASSAY_TRY_STATUS(CheckExpression(where, {"require"}, condition, sizes));
  for (const Scalar& scalar : contract.scalars) {
    for (const Generator& generator : scalar.values) {
      for (const Expression& number : generator.parameters)
        ASSAY_TRY_STATUS(CheckExpression(where, {"scalar", scalar.name, "values"}, number, axes));
    }
  }
  bool writes = false;
  for (Tensor& tensor : contract.tensors) {
    ASSAY_TRY_STATUS(CheckTensor(where, contract, tensor, axes));
    tensor.special = contract.policy.special_propagates;
    writes = writes || tensor.role != Role::kIn;
  }
  if (!writes) return where.At({"tensor"}, "no tensor is written; give one the role out or inout");
  for (const Relation& relation : contract.relations) ASSAY_TRY_STATUS(CheckRelation(where, contract, relation, axes));
  for (const Workload& workload : contract.workloads)
    ASSAY_TRY_STATUS(CheckWorkloadNames(where, contract, workload, sizes));
  std::vector<std::string> references = NamesOf(contract.references);
  for (const KernelSequence& sequence : contract.sequences) references.push_back(sequence.name);
  for (auto name = references.begin(); name != references.end(); ++name) {
    if (std::find(references.begin(), name, *name) == name) continue;
    return where.At({"peer", *name}, "the name also stands in [baseline]; rename one");
  }
  ASSAY_TRY_STATUS(CheckCost(where, contract, axes));
  ASSAY_TRY_STATUS(CheckSlice(where, contract, axes));
  SetOwnSlices(contract);
  for (const Tensor& tensor : contract.tensors) ASSAY_TRY_STATUS(CheckGiven(where, contract, tensor));
  return Ok();
}

}  // namespace assay
