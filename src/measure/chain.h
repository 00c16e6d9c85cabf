// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "record/candidate.h"

namespace assay {

// Where a tensor or a scalar of a part comes from: which of a group's draws, and its number there.
struct Feed {
  size_t draw = 0, index = 0;
  bool operator==(const Feed&) const = default;
};
// An input that is what an earlier part of the chain wrote, in the same memory.
struct PartLink {
  size_t tensor = 0;
  size_t part = 0, output = 0;
};

// One kernel of a chain: a process of its own.
struct ChainPart {
  const Contract* contract = nullptr;
  const Shape* shape = nullptr;
  const Artifact* artifact = nullptr;
  bool own = true;  // the arm's, hence judged; else what runs before or behind every arm of the workload, trusted code
  // By tensor, outputs too: an output that is the workload's is named as its input would be.  By scalar: none = fixed.
  std::vector<std::optional<Feed>> tensors, scalars;
  std::vector<PartLink> links;
};
// What one call of an arm is, in order.  A kernel by itself is a chain of one part.
using Chain = std::vector<ChainPart>;

// A chain of trusted kernels that is an arm by itself, with all that its parts point to.
struct KernelChain {
  KernelChain() = default;
  KernelChain(const KernelChain&) = delete;
  KernelChain& operator=(const KernelChain&) = delete;

  std::string name;
  Digest key;  // of all its files
  std::vector<Shape> shapes;
  std::vector<Artifact> artifacts;
  Chain parts;
};

// All inputs of the contract from one draw of them.
ChainPart PartOf(const Contract& contract, const Shape& shape, const Artifact& artifact, size_t draw);

// An in-situ workload's producer or consumer with the kernel that plays it.
struct NeighbourKernel {
  std::shared_ptr<const Contract> contract;
  Shape shape;
  Artifact artifact;
  std::string output, input;  // the tensor that passes: where it is written, where it is read
  size_t draw = 0;            // of its inputs
};
struct Surroundings {
  std::optional<NeighbourKernel> producer, consumer;
};

// Of the draws of inputs that the chains of one workload share, the one of its own contract.
inline constexpr size_t kOwnDraw = 0;

// The arm's parts with the producer before and the consumer behind them.
Chain Surround(Chain parts, const Contract& contract, const Surroundings& around);

}  // namespace assay
