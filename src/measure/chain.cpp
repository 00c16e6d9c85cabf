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

// Whoever writes the workload's output writes what the consumer reads.
void PutBehind(Chain& chain, const Contract& contract, const NeighbourKernel& consumer) {
  const Feed passed{kOwnDraw, TensorNumber(contract, consumer.output)};
  ChainPart last = PartOf(*consumer.contract, consumer.shape, consumer.artifact, consumer.draw);
  last.own = false;
  const size_t input = TensorNumber(*consumer.contract, consumer.input);
  for (size_t p = 0; p < chain.size(); ++p) {
    for (size_t t = 0; chain[p].own && t < chain[p].tensors.size(); ++t) {
      if (chain[p].contract->tensors[t].role == Role::kOut && chain[p].tensors[t] == passed)
        last.links.push_back({input, p, t});
    }
  }
  ASSAY_CHECK(last.links.size() == 1);
  chain.push_back(std::move(last));
}

}  // namespace

ChainPart PartOf(const Contract& contract, const Shape& shape, const Artifact& artifact, size_t draw) {
  ChainPart part;
  part.contract = &contract;
  part.shape = &shape;
  part.artifact = &artifact;
  for (size_t t = 0; t < contract.tensors.size(); ++t) part.tensors.emplace_back(Feed{draw, t});
  for (size_t s = 0; s < contract.scalars.size(); ++s) part.scalars.emplace_back(Feed{draw, s});
  return part;
}

Chain Surround(Chain parts, const Contract& contract, const Surroundings& around) {
  if (around.producer) PutBefore(parts, contract, *around.producer);
  if (around.consumer) PutBehind(parts, contract, *around.consumer);
  return parts;
}

}  // namespace assay
