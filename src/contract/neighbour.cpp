// SPDX-License-Identifier: Apache-2.0
#include "contract/neighbour.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "contract/load.h"
#include "contract/load_tables.h"

namespace assay {
namespace {

constexpr std::string_view kProducer = "producer", kConsumer = "consumer";

std::string_view KeyOf(NeighbourSide side) { return side == NeighbourSide::kProducer ? kProducer : kConsumer; }

Error Refuse(std::string text) { return Error{ErrorCode::kInvalidInput, std::move(text)}; }

// A pair of tensors that may be one memory, with the sizes that the neighbour has then.
struct Fit {
  const Tensor* output;
  const Tensor* input;
  std::map<std::string, int64_t> axes;
};

std::string Described(const Fit& fit) { return fmt::format("{} to {}", fit.output->name, fit.input->name); }

// Whose values come from a program depends on the rest of its call; what was packed ahead is not read where it lies.
bool MayPass(const Tensor& tensor, Role role) {
  return tensor.role == role && !tensor.prepare && !tensor.from_program() && Info(tensor.dtype).bits >= 8;
}

bool Dense(const TensorLayout& layout) {
  int64_t below = 1;
  for (size_t d = layout.extents.size(); d-- > 0; below *= layout.extents[d]) {
    if (layout.strides[d] != below) return false;
  }
  return layout.element_count > 0;
}

// The axes with which their tensor has these extents; none when there are none.
std::optional<std::map<std::string, int64_t>> AxesFor(const Contract& theirs, const Tensor& tensor,
                                                      const std::vector<int64_t>& extents,
                                                      std::map<std::string, int64_t> axes) {
  if (tensor.shape.size() != extents.size()) return std::nullopt;
  for (size_t d = 0; d < extents.size(); ++d) {
    const std::string& name = tensor.shape[d].text();
    if (theirs.FindAxis(name) != nullptr) axes.try_emplace(name, extents[d]);
  }
  Shape shape;
  shape.axes = axes;
  const ShapeNames names(shape);
  for (size_t d = 0; d < extents.size(); ++d) {
    const Result<int64_t> extent = tensor.shape[d].EvaluateInteger(names.names());
    if (!extent.ok() || extent.value() != extents[d]) return std::nullopt;
  }
  return axes;
}

std::vector<Fit> FitsOf(const Contract& ours, const Shape& shape, NeighbourSide side, const Neighbour& neighbour) {
  const bool before = side == NeighbourSide::kProducer;
  const Contract& theirs = *neighbour.contract;
  std::map<std::string, int64_t> known = neighbour.axes;
  for (const Axis& axis : theirs.axes) {
    const auto same = shape.axes.find(axis.name);
    if (same != shape.axes.end()) known.try_emplace(axis.name, same->second);
  }
  std::vector<Fit> fits;
  for (const Tensor& here : ours.tensors) {
    if (!MayPass(here, before ? Role::kIn : Role::kOut) || shape.absent_tensors.contains(here.name)) continue;
    const Result<TensorLayout> layout = LayoutOf(ours, here, shape);
    if (!layout.ok() || !Dense(layout.value())) continue;
    for (const Tensor& there : theirs.tensors) {
      if (!MayPass(there, before ? Role::kOut : Role::kIn) || there.dtype != here.dtype) continue;
      auto axes = AxesFor(theirs, there, layout.value().extents, known);
      if (axes) fits.push_back({before ? &there : &here, before ? &here : &there, *std::move(axes)});
    }
  }
  return fits;
}

// The pair that was asked for, else the only one, else the only one of one name.
Result<Fit> Choose(const std::vector<Fit>& fits, NeighbourSide side, const Neighbour& neighbour) {
  const std::string_view key = KeyOf(side);
  const auto narrowed = [&](auto keep) {
    std::vector<Fit> some;
    std::ranges::copy_if(fits, std::back_inserter(some), keep);
    return some;
  };
  const std::vector<Fit> asked = narrowed([&](const Fit& fit) {
    return (neighbour.output.empty() || fit.output->name == neighbour.output) &&
           (neighbour.input.empty() || fit.input->name == neighbour.input);
  });
  if (asked.size() == 1) return asked.front();
  if (asked.empty() && !neighbour.output.empty()) {
    return Refuse(
        fmt::format("{} and {} are not an output and an input of one type and one dense shape; correct {}_wire",
                    neighbour.output, neighbour.input, key));
  }
  if (asked.empty()) {
    const bool before = side == NeighbourSide::kProducer;
    return Refuse(
        fmt::format("no output {} has the type and the dense shape of an input {}; name another contract, or "
                    "give {}_axes",
                    before ? "of " + neighbour.name : "here", before ? "here" : "of " + neighbour.name, key));
  }
  const std::vector<Fit> alike = narrowed([](const Fit& fit) { return fit.output->name == fit.input->name; });
  if (alike.size() == 1) return alike.front();
  std::vector<std::string> pairs;
  for (const Fit& fit : asked) pairs.push_back(Described(fit));
  return Refuse(fmt::format("{} may pass several tensors: {}; add {}_wire = [\"{}\", \"{}\"] or another of them",
                            neighbour.name, Join(pairs, ", "), key, asked.front().output->name,
                            asked.front().input->name));
}

// Inputs that a program fills may depend on what a producer leaves there in their place.
Status CheckPrograms(const Contract& reads, std::string_view whose) {
  const auto programmed = [](const auto& thing) { return thing.from_program(); };
  if (std::ranges::none_of(reads.tensors, programmed) && std::ranges::none_of(reads.scalars, programmed)) return Ok();
  return Refuse(
      fmt::format("the inputs.cpp of {} cannot see what another kernel leaves; use a contract without one", whose));
}

}  // namespace

Status ReadNear(const Reader& reader, Workload& workload) {
  const bool in_situ = workload.state == CacheState::kInSitu;
  if (!reader.Has("near")) {
    return in_situ ? Status(reader.At("near", "is missing; add near = { producer = \"CONTRACT\" }, a consumer or both"))
                   : Ok();
  }
  if (!in_situ) return reader.At("near", "goes with state = \"in-situ\"; write that, or remove it");
  ASSAY_TRY(const Reader near, Reader::Open(reader.file(), SchemaOf("workload.X.near"), *reader.Node("near"),
                                            reader.path() + ".near", reader.LineOf("near")));
  for (const std::string_view side : {kProducer, kConsumer}) {
    const std::string axes = fmt::format("{}_axes", side), wire = fmt::format("{}_wire", side);
    if (!near.Has(side)) {
      for (const std::string& key : {axes, wire}) {
        if (near.Has(key)) return near.At(key, fmt::format("goes with {}; add it", side));
      }
      continue;
    }
    Neighbour neighbour;
    neighbour.name = near.Text(side);
    if (!IsLabel(neighbour.name)) return near.At(side, fmt::format("{}; name a contract beside this one", kLabelRule));
    if (const ConfigNode* given = near.Node(axes)) {
      for (const ConfigEntry& entry : given->entries) neighbour.axes.emplace(entry.key, entry.value.integer);
    }
    if (near.Has(wire)) {
      const std::vector<std::string> pair = near.Texts(wire);
      if (pair.size() != 2) return near.At(wire, "needs two names: what is written, and what it is where it is read");
      neighbour.output = pair[0];
      neighbour.input = pair[1];
    }
    (side == kProducer ? workload.producer : workload.consumer) = std::move(neighbour);
  }
  if (!workload.producer && !workload.consumer)
    return reader.At("near", "names nobody; add a producer, a consumer or both");
  return Ok();
}

Status Wire(const Contract& ours, const Shape& shape, NeighbourSide side, Neighbour& neighbour) {
  const Contract& theirs = *neighbour.contract;
  const bool before = side == NeighbourSide::kProducer;
  for (const auto& [name, size] : neighbour.axes) {
    if (theirs.FindAxis(name) == nullptr)
      return Refuse(fmt::format("{} has no axis {}; remove it from {}_axes", neighbour.name, name, KeyOf(side)));
  }
  if (theirs.references.empty()) return Refuse(neighbour.name + " has no baseline and no peer; add one");
  ASSAY_TRY_STATUS(CheckPrograms(before ? ours : theirs, before ? ours.name : neighbour.name));
  ASSAY_TRY(Fit fit, Choose(FitsOf(ours, shape, side, neighbour), side, neighbour));
  for (const Axis& axis : theirs.axes) {
    if (!fit.axes.contains(axis.name)) {
      return Refuse(fmt::format("the axis {} of {} follows from nothing; add {}_axes = {{ {} = ... }}", axis.name,
                                neighbour.name, KeyOf(side), axis.name));
    }
  }
  const Result<Shape> full = DenseShape(theirs, fit.axes);
  const Status legal = full.ok() ? CheckLegal(theirs, full.value()) : Status(full.error());
  if (!legal.ok()) {
    return Refuse(
        fmt::format("the sizes of {} that follow ({}) are not legal: {}; change the workload's axes or give "
                    "{}_axes",
                    neighbour.name, Described(fit), legal.error().message, KeyOf(side)));
  }
  neighbour.axes = std::move(fit.axes);
  neighbour.output = fit.output->name;
  neighbour.input = fit.input->name;
  return Ok();
}

Result<std::shared_ptr<const Contract>> ContractBeside(const Contract& ours, const std::string& name,
                                                       const std::function<Error(std::string_view)>& here) {
  const auto folder = FindContract((ours.folder.parent_path() / name).string(), {});
  if (!folder.ok()) {
    return here(
        fmt::format("{} is no contract's folder beside {}; name one that is", name, ours.folder.filename().string()));
  }
  Result<Contract> loaded = LoadContract(folder.value(), {.allow_unsupported = false, .neighbours = false});
  if (!loaded.ok()) return here("cannot be read: " + loaded.error().message);
  return std::shared_ptr<const Contract>(std::make_shared<Contract>(std::move(loaded).value()));
}

Status FindNeighbours(const Locator& where, Contract& contract) {
  RecordHash hash("contract with neighbours");
  hash.Add("contract", contract.hash);
  bool any = false;
  for (Workload& workload : contract.workloads) {
    if (workload.state != CacheState::kInSitu) continue;
    ASSAY_TRY(const Shape shape, WorkloadShape(contract, workload));
    for (const NeighbourSide side : {NeighbourSide::kProducer, NeighbourSide::kConsumer}) {
      std::optional<Neighbour>& neighbour = side == NeighbourSide::kProducer ? workload.producer : workload.consumer;
      if (!neighbour) continue;
      const auto here = [&](std::string_view what) {
        return where.At({"workload", workload.name, "near", KeyOf(side)}, what);
      };
      ASSAY_TRY(neighbour->contract, ContractBeside(contract, neighbour->name, here));
      if (const Status wired = Wire(contract, shape, side, *neighbour); !wired.ok()) return here(wired.error().message);
      hash.Add("neighbour", neighbour->contract->hash);
      any = true;
    }
  }
  // What stands beside a kernel is part of what its times are of.
  if (any) contract.hash = hash.Finish();
  return Ok();
}

}  // namespace assay
