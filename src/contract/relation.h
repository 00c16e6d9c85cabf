// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"

// What must hold between two calls of one kernel: how the inputs of the second follow from the first's,
// and which outputs answer each other.  Pure: no process, no reference.  A kind of relation is one
// class in relation.cpp; there is no relation language.
namespace assay {

// The inputs of one call: by tensor, empty where it is an output or absent; scalars in the order of
// contract.scalars.
struct CallInputs {
  Shape shape;
  std::vector<double> scalars;
  std::vector<std::vector<std::byte>> tensors;
};

// One element of the first call's outputs and the one of the second call that answers it; offsets in elements.
struct Tie {
  size_t tensor = 0;
  int64_t first = 0, second = 0;
};

// Elements of one output that add up to a value.
struct SumClaim {
  size_t tensor = 0;
  std::vector<int64_t> offsets;
  double value = 0;
};

// One drawn instance of a relation.
struct RelatedCall {
  std::optional<CallInputs> second;  // none: the claim is about the first call alone
  std::vector<Tie> ties;
  // What was done to the inputs.  Whether an output follows it (factor * y + shift) or stays as it is, is the
  // reference's to say.
  double factor = 1, shift = 0;
  // Ties bind only where the reference gives both calls the same value.
  bool unchanged_only = false;
  std::vector<SumClaim> sums;
  std::vector<size_t> kept;  // inout tensors: what the reference leaves alone holds the input's bits
  std::string what;          // "k, v redrawn from T=17 on": for evidence
};

class RelationRule {
 public:
  RelationRule(const Contract& contract, const Relation& relation) : contract_(contract), relation_(relation) {}
  virtual ~RelationRule() = default;

  // Whether a call at this shape can show anything: axes long enough, tensors present.
  virtual bool Shows(const Shape& shape) const = 0;
  // `first` may be changed before it is called: a shift, for one, wants inputs that can be shifted without rounding.
  virtual Result<RelatedCall> Draw(CallInputs& first, Stream& stream) const = 0;

 protected:
  const Contract& contract_;
  const Relation& relation_;
};

// Contract and relation must outlive the rule.
std::unique_ptr<RelationRule> MakeRelation(const Contract& contract, const Relation& relation);

// Whether the relation says something about this contract.  The key at fault and what to do about it, else nothing.
struct RelationComplaint {
  std::string key, text;
};
std::optional<RelationComplaint> ComplaintAbout(const Contract& contract, const Relation& relation);

// Another value at one place of one input, drawn like the first; every output is tied to itself where the
// reference sees no change.  kNotFound where the tensor has a single value only.
Result<RelatedCall> PerturbOne(const Contract& contract, const CallInputs& first, size_t tensor, Stream& stream);

}  // namespace assay
