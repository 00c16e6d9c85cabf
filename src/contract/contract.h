// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expression.h"
#include "base/hash.h"
#include "numerics/dtype.h"

namespace assay {

struct Recording;

// What a kernel must compute, as read from a contract folder (grammar: docs/contract.md).
// Named things keep the file's names; `args` gives the C order.

struct Axis {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
  std::vector<int64_t> of;    // when not empty, the only values
  std::vector<int64_t> near;  // sizes whose neighbours matter
};

enum class GeneratorKind {
  kNormal,
  kUniform,
  kLogUniform,
  kLadder,
  kOutliers,
  kOffset,
  kTies,
  kConstant,
  kSorted,
  kClustered,
  kSubnormal,
  kSpecial,
  kCaptured,
  kAny,
  kExpression,  // scalars only: the value of an expression over axes
};

// One regime of values: `ladder(1e-4, 1e4)`.  Parameters may be expressions over axes.
struct Generator {
  GeneratorKind kind = GeneratorKind::kNormal;
  std::vector<Expression> parameters;
  std::string text;                           // as written; the regime's name in reports
  std::shared_ptr<const Recording> recorded;  // kCaptured: what was recorded
};

// The file beside the contract whose Inputs() fills what no generator can.
inline constexpr std::string_view kInputsFile = "inputs.cpp";

struct Scalar {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Generator> values;
  std::string from;  // "inputs.cpp" or nothing
  bool from_program() const { return from == kInputsFile; }
};

enum class Role { kIn, kOut, kInOut };
enum class CompareClass { kExact, kAccumulate, kRequantise, kStochastic, kIndex, kSolve };

struct Compare {
  CompareClass kind = CompareClass::kAccumulate;
  DType in = DType::kF32;  // precision of the arithmetic
  std::string round = "half_even";
  std::optional<int64_t> clamp_low, clamp_high;
  std::string keys, order, tie, along, given;
  bool unique = false;
  std::vector<std::string> slice;  // its own slice axes, where `own_slice`
  bool own_slice = false;
};

struct Tensor {
  std::string name;
  Role role = Role::kIn;
  DType dtype = DType::kF32;
  std::vector<Expression> shape;
  std::vector<std::string> stride;  // one per dimension, a stride name or "" = dense; empty = all dense
  int64_t align = 64;               // bytes
  bool optional = false;
  bool prepare = false;
  std::vector<Generator> values;
  std::string from;  // "inputs.cpp", "captured:FILE" (then `values` is that alone) or nothing
  bool from_program() const { return from == kInputsFile; }
  std::vector<Expression> range;  // integers: inclusive
  std::vector<std::string> may_alias;
  std::optional<Compare> compare;  // out, inout
  bool special = false;            // NaN and infinities may be drawn: policy.special = "propagate"
};

enum class RelationKind { kCausal, kPermute, kScale, kShift, kPad, kSumsTo, kUntouched, kPerturbOne };

struct Relation {
  std::string name;
  RelationKind kind = RelationKind::kCausal;
  std::vector<std::string> of;
  std::string axis, with, by;
  std::map<std::string, Expression> carries;
  std::optional<double> value;
  bool expect_equal = false;  // else within the bound
};

struct Cost {
  Expression operations;     // `flops` or `ops`
  std::string unit = "f32";  // whose peak bounds it
  std::optional<Expression> bytes;
};

enum class FpPolicy { kStrict, kContract, kReassociate, kFinite };
enum class Determinism { kYes, kPerThreads, kNo };

struct Policy {
  int threads = 0;  // 0 = all
  FpPolicy fp = FpPolicy::kStrict;
  bool special_propagates = false;
  bool subnormals_flush = false;
  Determinism deterministic = Determinism::kPerThreads;
  int64_t scratch_bytes = 0;
  std::vector<std::string> libraries;
  std::optional<double> shape_operations;  // most work of a drawn shape
};

enum class CacheState { kHot, kWeightsCold, kCold, kInSitu };

struct Contract;

// What runs before or behind the kernel in a program: another contract, and the tensor that passes between the two.
struct Neighbour {
  std::string name;                          // of the contract
  std::map<std::string, int64_t> axes;       // as far as given; all of them once it is found
  std::string output, input;                 // what the one writes and the other reads
  std::shared_ptr<const Contract> contract;  // null before it is found
};

struct Workload {
  std::string name;
  std::map<std::string, int64_t> axes;  // and strides where they are not dense
  std::map<std::string, double> scalars;
  std::vector<std::string> null_tensors;  // optional tensors that are absent
  CacheState state = CacheState::kHot;
  std::optional<int> threads;                   // overrides the policy
  std::optional<Neighbour> producer, consumer;  // in-situ: one of them or both
};

enum class ReferenceKind { kBaseline, kPeer };

// Something that candidates are measured against: the plain kernel or what a user would pick instead.
struct ReferenceKernel {
  std::string name;
  ReferenceKind kind = ReferenceKind::kBaseline;
  std::filesystem::path source;  // absolute
  std::vector<std::string> flags;
  std::vector<std::string> libraries;
  std::vector<std::string> unset;
  std::string trust;
  std::string info;
};

// Kernels that together do what one kernel of this contract does: what a fused kernel replaces.
struct SequenceStep {
  std::string text;                          // as written
  std::string name;                          // of its contract
  std::map<std::string, std::string> names;  // its tensors and scalars -> what they are here, where not called so
  std::map<std::string, double> numbers;     // its axes and scalars, where they do not follow
  std::shared_ptr<const Contract> contract;  // null before it is found
};
struct KernelSequence {
  std::string name;
  std::vector<SequenceStep> steps;
};

// What `args` lists, in C order.
enum class ArgumentKind { kAxis, kScalar, kTensor, kStride, kScratch };
struct ArgumentRef {
  ArgumentKind kind;
  std::string name;
};

struct Contract {
  std::filesystem::path folder;  // absolute
  std::string name, summary, entry;
  std::vector<ArgumentRef> arguments;
  std::vector<Expression> require;
  std::vector<std::string> slice;  // axes of which one point is one call of the reference
  std::vector<Axis> axes;
  std::vector<Scalar> scalars;
  std::vector<Tensor> tensors;  // in C order
  std::vector<Relation> relations;
  std::optional<Cost> cost;
  Policy policy;
  std::vector<Workload> workloads;  // the first is the headline
  std::vector<ReferenceKernel> references;
  std::vector<KernelSequence> sequences;         // peers of more than one kernel
  std::filesystem::path reference;               // reference.h
  std::vector<std::filesystem::path> templates;  // sorted by name
  std::vector<std::filesystem::path> mutants;
  std::vector<std::filesystem::path> honest;
  std::vector<std::string> unsupported;  // what this version reads but cannot run (LoadOptions)
  Digest hash;                           // over its files, without templates/

  const Axis* FindAxis(std::string_view name) const;
  const Tensor* FindTensor(std::string_view name) const;
  const Scalar* FindScalar(std::string_view name) const;
  const Workload* FindWorkload(std::string_view name) const;
  const ReferenceKernel* FindReference(std::string_view name) const;
};

}  // namespace assay
