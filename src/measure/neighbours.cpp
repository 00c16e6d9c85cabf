// SPDX-License-Identifier: Apache-2.0
#include "measure/neighbours.h"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "contract/sequence.h"
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

ChainPart PartOfStep(const Contract& contract, const Shape& shape, const Artifact& artifact, const StepLayout& laid) {
  ChainPart part;
  part.contract = &contract;
  part.shape = &shape;
  part.artifact = &artifact;
  for (size_t t = 0; t < laid.tensors.size(); ++t) {
    const std::optional<StepTensor>& from = laid.tensors[t];
    part.tensors.push_back(from && !from->step ? std::optional(Feed{kOwnDraw, from->index}) : std::nullopt);
    if (from && from->step) part.links.push_back({t, *from->step, from->index});
  }
  for (const std::optional<size_t>& from : laid.scalars)
    part.scalars.push_back(from ? std::optional(Feed{kOwnDraw, *from}) : std::nullopt);
  return part;
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

Result<std::vector<std::unique_ptr<KernelChain>>> SequencesOf(const Contract& contract, const Shape& shape, int threads,
                                                              Builder* builder, Auditor& auditor, const Seed& seed) {
  std::vector<std::unique_ptr<KernelChain>> chains;
  for (const KernelSequence& sequence : contract.sequences) {
    for (const SequenceStep& step : sequence.steps) {
      if (builder != nullptr && step.contract != nullptr) continue;
      return Error{ErrorCode::kUnavailable, fmt::format("the step {} of {} was not loaded", step.name, sequence.name)};
    }
    ASSAY_TRY(const std::vector<StepLayout> laid, LayOut(contract, shape, sequence));
    auto chain = std::make_unique<KernelChain>();
    chain->name = sequence.name;
    RecordHash key("chain");
    for (size_t s = 0; s < laid.size(); ++s) {
      const SequenceStep& step = sequence.steps[s];
      ASSAY_TRY(Artifact artifact, FastestKernel(*step.contract, laid[s].shape, threads, *builder, auditor,
                                                 seed.Derive(sequence.name, s)));
      key.Add("file", artifact.file_hash);
      chain->shapes.push_back(laid[s].shape);
      chain->artifacts.push_back(std::move(artifact));
    }
    chain->key = key.Finish();
    for (size_t s = 0; s < laid.size(); ++s)
      chain->parts.push_back(PartOfStep(*sequence.steps[s].contract, chain->shapes[s], chain->artifacts[s], laid[s]));
    chains.push_back(std::move(chain));
  }
  return chains;
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
