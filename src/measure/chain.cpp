// SPDX-License-Identifier: Apache-2.0
#include "measure/chain.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace assay {
namespace {

size_t TensorNumber(const Contract& contract, const std::string& name) {
  const Tensor* tensor = contract.FindTensor(name);
  ASSAY_CHECK(tensor != nullptr);
  return static_cast<size_t>(tensor - contract.tensors.data());
}

// Whoever reads the workload's input reads what the producer wrote.
void PutBefore(Chain& chain, const Contract& contract, const NeighbourKernel& producer) {
  const Feed passed{kOwnDraw, TensorNumber(contract, producer.input)};
  const size_t output = TensorNumber(*producer.contract, producer.output);
  ChainPart first = PartOf(*producer.contract, producer.shape, producer.artifact, producer.draw);
  first.own = false;
  for (ChainPart& part : chain) {
    for (PartLink& link : part.links) ++link.part;
    for (size_t t = 0; t < part.tensors.size(); ++t) {
      const bool linked = std::ranges::count(part.links, t, &PartLink::tensor) > 0;
      if (part.contract->tensors[t].role == Role::kIn && part.tensors[t] == passed && !linked)
        part.links.push_back({t, 0, output});
    }
  }
  chain.insert(chain.begin(), std::move(first));
}

// The last part that writes the workload's output under its name.
void PutBehind(Chain& chain, const NeighbourKernel& consumer) {
  ChainPart last = PartOf(*consumer.contract, consumer.shape, consumer.artifact, consumer.draw);
  last.own = false;
  for (size_t p = chain.size(); p-- > 0 && last.links.empty();) {
    const Tensor* written = chain[p].contract->FindTensor(consumer.output);
    if (!chain[p].own || written == nullptr || written->role != Role::kOut) continue;
    last.links.push_back(
        {TensorNumber(*consumer.contract, consumer.input), p, TensorNumber(*chain[p].contract, consumer.output)});
  }
  ASSAY_CHECK(!last.links.empty());
  chain.push_back(std::move(last));
}

}  // namespace

ChainPart PartOf(const Contract& contract, const Shape& shape, const Artifact& artifact, size_t draw) {
  ChainPart part;
  part.contract = &contract;
  part.shape = &shape;
  part.artifact = &artifact;
  for (size_t t = 0; t < contract.tensors.size(); ++t) part.tensors.push_back({draw, t});
  for (size_t s = 0; s < contract.scalars.size(); ++s) part.scalars.push_back({draw, s});
  return part;
}

Chain Surround(Chain parts, const Contract& contract, const Surroundings& around) {
  if (around.producer) PutBefore(parts, contract, *around.producer);
  if (around.consumer) PutBehind(parts, *around.consumer);
  return parts;
}

}  // namespace assay
