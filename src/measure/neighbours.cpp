// SPDX-License-Identifier: Apache-2.0
#include "measure/neighbours.h"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/group.h"

namespace assay {
namespace {

Result<NeighbourKernel> KernelOf(const Workload& workload, const Neighbour& neighbour, int threads, Builder* builder,
                                 Auditor& auditor, const Seed& seed) {
  if (neighbour.contract == nullptr || builder == nullptr) {
    return Error{ErrorCode::kUnavailable, fmt::format("workload {} is in-situ, but its neighbour {} was not loaded",
                                                      workload.name, neighbour.name)};
  }
  NeighbourKernel kernel;
  kernel.contract = neighbour.contract;
  kernel.output = neighbour.output;
  kernel.input = neighbour.input;
  ASSAY_TRY(kernel.shape, DenseShape(*neighbour.contract, neighbour.axes));
  ASSAY_TRY(kernel.artifact, FastestKernel(*neighbour.contract, kernel.shape, threads, *builder, auditor, seed));
  return kernel;
}

}  // namespace

Result<Artifact> FastestKernel(const Contract& contract, const Shape& shape, int threads, Builder& builder,
                               Auditor& auditor, const Seed& seed) {
  std::vector<Artifact> artifacts;
  std::string refused = "it has none";
  for (const ReferenceKernel& reference : contract.references) {
    ASSAY_TRY(BuildOutcome built, builder.BuildReference(contract, reference));
    if (const auto* why = std::get_if<Rejected>(&built)) {
      refused = reference.name + ": " + why->evidence;
      continue;
    }
    artifacts.push_back(std::move(std::get<Artifact>(built)));
    artifacts.back().name = reference.name;
  }
  Workload bare;
  bare.name = "beside";
  bare.axes = shape.axes;
  GroupRunner runner(contract, bare, shape, {}, auditor, seed.Derive("fastest " + contract.name));
  std::vector<Arm> arms;
  for (const Artifact& artifact : artifacts) arms.push_back(Arm::Of(artifact.name, artifact));
  ASSAY_TRY_STATUS(runner.Pace(arms, {.threads = threads, .depth = Depth::kDecide, .limits = {}}));
  const Artifact* fastest = nullptr;
  double best = std::numeric_limits<double>::infinity();
  for (const Artifact& artifact : artifacts) {
    const auto pace = runner.PaceOf(artifact);
    if (!pace || !(*pace < best)) continue;
    best = *pace;
    fastest = &artifact;
  }
  if (fastest != nullptr) return *fastest;
  return Error{ErrorCode::kUnavailable, fmt::format("no baseline or peer of {} runs here ({}); run `assay contract "
                                                    "check {}`",
                                                    contract.name, refused, contract.name)};
}

Result<Surroundings> SurroundingsOf(const Workload& workload, int threads, Builder* builder, Auditor& auditor,
                                    const Seed& seed) {
  Surroundings around;
  if (workload.state != CacheState::kInSitu) return around;
  if (workload.producer) {
    ASSAY_TRY(around.producer,
              KernelOf(workload, *workload.producer, threads, builder, auditor, seed.Derive("producer")));
  }
  if (workload.consumer) {
    ASSAY_TRY(around.consumer,
              KernelOf(workload, *workload.consumer, threads, builder, auditor, seed.Derive("consumer")));
  }
  return around;
}

std::string Describe(const Surroundings& around) {
  std::string text;
  const auto add = [&](const char* side, const std::optional<NeighbourKernel>& kernel) {
    if (!kernel) return;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} ({})", side, kernel->contract->name, kernel->artifact.name);
  };
  add("producer", around.producer);
  add("consumer", around.consumer);
  return text;
}

}  // namespace assay
