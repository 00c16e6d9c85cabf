// SPDX-License-Identifier: Apache-2.0
// Whether a relation says something about a contract: asked once, when it is read.
#include <fmt/format.h>

#include <algorithm>

#include "contract/relation.h"

namespace assay {
namespace {

bool HasAxis(const Tensor& tensor, const std::string& axis) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(),
                     [&](const Expression& extent) { return extent.text() == axis; });
}

// The dimension that hides the axis in a larger expression; none when there is no such thing.
const Expression* HiddenIn(const Tensor& tensor, const std::string& axis) {
  for (const Expression& extent : tensor.shape) {
    const std::vector<std::string> names = extent.NamesUsed();
    if (extent.text() != axis && std::find(names.begin(), names.end(), axis) != names.end()) return &extent;
  }
  return nullptr;
}

std::vector<const Tensor*> NamedBy(const Contract& contract, const Relation& relation) {
  std::vector<const Tensor*> tensors;
  for (const std::string& name : relation.of) tensors.push_back(contract.FindTensor(name));
  return tensors;
}

using Complaint = std::optional<RelationComplaint>;

Complaint AboutRoles(const Contract& contract, const Relation& relation) {
  for (const Tensor* const tensor : NamedBy(contract, relation)) {
    switch (relation.kind) {
      case RelationKind::kSumsTo:
        if (tensor->role == Role::kIn) return {{"of", tensor->name + " is an input; name an output"}};
        break;
      case RelationKind::kUntouched:
        if (tensor->role != Role::kInOut)
          return {{"of", tensor->name + " is not changed in place; untouched is about inout tensors"}};
        break;
      case RelationKind::kScale:
      case RelationKind::kShift:
        if (!Info(tensor->dtype).is_float) {
          return {{"of", tensor->name + " holds integers, whose range a scaled or shifted call would leave; name "
                                        "tensors of floats"}};
        }
        [[fallthrough]];
      default:
        if (tensor->role == Role::kOut)
          return {{"of", tensor->name + " is an output; name the inputs that are changed"}};
    }
  }
  return std::nullopt;
}

// Along an axis elements must be nameable wherever it occurs.
Complaint AboutHiding(const Contract& contract, std::string_view key, const std::string& axis) {
  for (const Tensor& tensor : contract.tensors) {
    const Expression* const hidden = HiddenIn(tensor, axis);
    if (hidden == nullptr) continue;
    return {
        {std::string(key), fmt::format("{} hides {} in \"{}\", so no element can be said to lie along it; write the "
                                       "relation along another axis",
                                       tensor.name, axis, hidden->text())}};
  }
  return std::nullopt;
}

Complaint AboutAxis(const Contract& contract, const Relation& relation) {
  const std::string& axis = relation.axis;
  if (Complaint hiding = AboutHiding(contract, "axis", axis)) return hiding;
  bool in = false, out = false;
  for (const Tensor& tensor : contract.tensors) {
    const bool named =
        relation.of.empty() || std::find(relation.of.begin(), relation.of.end(), tensor.name) != relation.of.end();
    in = in || (tensor.role != Role::kOut && named && HasAxis(tensor, axis));
    out = out || (tensor.role != Role::kIn && HasAxis(tensor, axis));
  }
  if (!in) return {{"axis", fmt::format("no input that the relation is about has a dimension {}", axis)}};
  if (!out && relation.kind == RelationKind::kCausal)
    return {{"axis", fmt::format("no output has a dimension {}, so nothing lies before a place along it", axis)}};
  return std::nullopt;
}

Complaint AboutNumber(const Relation& relation) {
  if (relation.kind == RelationKind::kScale && relation.by == "2^k") return std::nullopt;
  const auto parsed = Expression::Parse(relation.by);
  if (parsed.ok()) return std::nullopt;
  return {{"by", parsed.error().message + (relation.kind == RelationKind::kScale
                                               ? "; write a number, an expression over axes, or \"2^k\""
                                               : "; write a number or an expression over axes")}};
}

}  // namespace

std::optional<RelationComplaint> ComplaintAbout(const Contract& contract, const Relation& relation) {
  if (Complaint roles = AboutRoles(contract, relation)) return roles;
  switch (relation.kind) {
    case RelationKind::kCausal:
    case RelationKind::kPad:
      return AboutAxis(contract, relation);
    case RelationKind::kPermute: {
      if (Complaint axis = AboutAxis(contract, relation)) return axis;
      for (const auto& [carried, block] : relation.carries) {
        if (Complaint hiding = AboutHiding(contract, "carries", carried)) return hiding;
      }
      return std::nullopt;
    }
    case RelationKind::kScale:
    case RelationKind::kShift:
      return AboutNumber(relation);
    case RelationKind::kSumsTo:
      for (const Tensor* const tensor : NamedBy(contract, relation)) {
        if (!HasAxis(*tensor, relation.axis))
          return {{"axis", fmt::format("{} has no dimension {}", tensor->name, relation.axis)}};
      }
      return std::nullopt;
    case RelationKind::kUntouched:
    case RelationKind::kPerturbOne:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace assay
