// SPDX-License-Identifier: Apache-2.0
#include "verify/reference.h"

#include <algorithm>
#include <set>
#include <utility>

#include "contract/values.h"
#include "language/oracle.h"
#include "numerics/assay/count.h"

namespace assay {
namespace {

// The orders in which honest people add: each differs from the others in how it sums, fuses and
// takes exponentials, so that together they cover what a right kernel may look like.
const Variant kHonest[] = {
    {"in order", Order::kInOrder, false, Elementary::kCorrect, {}},
    {"pairwise, fused, base two", Order::kPairwise, true, Elementary::kExp2, {}},
    {"sixteen lanes, fused, loose functions", Order::kLanes16, true, Elementary::kLoose, {}},
    {"blocks of 64", Order::kBlocks64, false, Elementary::kCorrect, {}},
    {"in order, fused, loose functions", Order::kInOrder, true, Elementary::kLoose, {}},
    {"pairwise", Order::kPairwise, false, Elementary::kCorrect, {}},
    {"sixteen lanes, base two", Order::kLanes16, false, Elementary::kExp2, {}},
    {"blocks of 64, fused, base two", Order::kBlocks64, true, Elementary::kExp2, {}},
};

// Elements that one verdict compares: they share the chance of a false alarm.
double ElementsOf(const TimedCall& call, size_t slices) {
  double elements = 0;
  for (const Tensor& tensor : call.contract->tensors) {
    if (tensor.role == Role::kIn || call.shape->absent_tensors.contains(tensor.name)) continue;
    const auto layout = LayoutOf(*call.contract, tensor, *call.shape);
    if (layout.ok()) elements += static_cast<double>(layout.value().element_count);
  }
  const auto all = static_cast<double>(std::max<int64_t>(SliceCount(*call.contract, *call.shape), 1));
  return std::max(1.0, elements * static_cast<double>(slices) / all);
}

// The arithmetics' precisions that this contract's outputs name; nearly always one.
std::vector<DType> PrecisionsOf(const Contract& contract) {
  std::set<DType> precisions;
  for (const Tensor& tensor : contract.tensors) {
    if (tensor.compare) precisions.insert(tensor.compare->in);
  }
  return {precisions.begin(), precisions.end()};
}

// The numbers of one evaluation, in the order of `elements`.  A reference that writes other elements
// under another arithmetic cannot be compared with itself.
Status Align(const std::vector<AnswerElement>& elements, size_t count, const OracleAnswer& answer, DType precision,
             const Contract& contract, std::vector<double>& into) {
  if (answer.outputs.size() < count)
    return Error{ErrorCode::kInvalidInput,
                 contract.name + ": the reference wrote fewer elements in another arithmetic"};
  for (size_t e = 0; e < count; ++e) {
    const OracleOutput& output = answer.outputs[e];
    if (static_cast<size_t>(output.tensor) != elements[e].tensor || output.element != elements[e].offset) {
      return Error{ErrorCode::kInvalidInput,
                   contract.name + ": the reference wrote other elements in another arithmetic"};
    }
    if (contract.tensors[elements[e].tensor].compare->in == precision) into[e] = output.value;
  }
  return Ok();
}

}  // namespace

std::span<const Variant> HonestVariants() { return kHonest; }

struct Reference::State {
  std::unique_ptr<Oracle> oracle;
  std::vector<DType> precisions;
  bool needs_exactness = false;  // an output of class requantise

  Status Load(const TimedCall& call);
  Result<OracleQuery> Query(const TimedCall& call, DType precision, size_t slices) const;
  Status AskBounds(const TimedCall& call, std::span<const int64_t> slices, Answers& answers);
  Status MarkExact(const TimedCall& call, std::span<const int64_t> slices, Answers& answers);
  Result<std::vector<double>> Evaluate(const TimedCall& call, const Answers& answers, size_t slices,
                                       const Variant& variant);
};

Reference::Reference(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reference::~Reference() = default;

Result<std::unique_ptr<Reference>> Reference::Start(const Contract& contract, const std::filesystem::path& cache,
                                                    int processes) {
  for (const Tensor& tensor : contract.tensors) {
    if (tensor.role == Role::kIn) continue;
    if (!tensor.compare || !CanCompare(tensor.compare->kind) || tensor.compare->own_slice ||
        !tensor.compare->given.empty()) {
      return Error{ErrorCode::kInvalidInput,
                   contract.name + ": tensor " + tensor.name +
                       ": this version compares the classes exact, accumulate and requantise, slice by slice"};
    }
  }
  auto state = std::make_unique<State>();
  ASSAY_TRY(state->oracle, Oracle::Start(contract, cache, processes));
  state->precisions = PrecisionsOf(contract);
  state->needs_exactness = std::any_of(contract.tensors.begin(), contract.tensors.end(), [](const Tensor& tensor) {
    return tensor.compare && tensor.compare->kind == CompareClass::kRequantise;
  });
  return std::unique_ptr<Reference>(new Reference(std::move(state)));
}

Status Reference::State::Load(const TimedCall& call) {
  std::vector<std::span<const std::byte>> tensors;
  for (size_t t = 0; t < call.tensors.size(); ++t) tensors.push_back(call.Read(t));
  return oracle->Load({call.shape, call.scalars, tensors});
}

Result<OracleQuery> Reference::State::Query(const TimedCall& call, DType precision, size_t slices) const {
  OracleQuery query;
  query.format = precision;
  query.regime = call.structured ? Regime::kStructured : Regime::kRandom;
  query.flush = call.contract->policy.subnormals_flush;
  query.outputs = ElementsOf(call, slices);
  return query;
}

Status Reference::State::AskBounds(const TimedCall& call, std::span<const int64_t> slices, Answers& answers) {
  for (const DType precision : precisions) {
    ASSAY_TRY(OracleQuery query, Query(call, precision, slices.size()));
    query.arithmetic = Arithmetic::kBounded;
    ASSAY_TRY(const OracleAnswer answer, oracle->Evaluate(query, slices));
    if (answers.elements.empty()) {
      answers.begin.assign(answer.slice_begin.begin(), answer.slice_begin.end());
      answers.elements.resize(answer.outputs.size());
    }
    if (answer.outputs.size() != answers.elements.size()) {
      return Error{ErrorCode::kInvalidInput,
                   call.contract->name + ": the reference wrote other elements in another precision"};
    }
    for (size_t e = 0; e < answer.outputs.size(); ++e) {
      const OracleOutput& output = answer.outputs[e];
      const auto tensor = static_cast<size_t>(output.tensor);
      if (tensor >= call.contract->tensors.size() || !call.contract->tensors[tensor].compare) {
        return Error{ErrorCode::kCorrupt,
                     call.contract->name + ": the reference answered for a tensor that is no output"};
      }
      if (call.contract->tensors[tensor].compare->in != precision) continue;
      answers.elements[e] = {
          tensor, output.element, {output.value, output.bound, output.exact, output.excluded || output.ambiguous}};
    }
  }
  return Ok();
}

Status Reference::State::MarkExact(const TimedCall& call, std::span<const int64_t> slices, Answers& answers) {
  for (const DType precision : precisions) {
    ASSAY_TRY(OracleQuery query, Query(call, precision, slices.size()));
    query.arithmetic = Arithmetic::kExact;
    ASSAY_TRY(const OracleAnswer answer, oracle->Evaluate(query, slices));
    std::vector<double> values(answers.elements.size());
    ASSAY_TRY_STATUS(Align(answers.elements, answers.elements.size(), answer, precision, *call.contract, values));
    for (size_t e = 0; e < answers.elements.size(); ++e) {
      if (call.contract->tensors[answers.elements[e].tensor].compare->in != precision) continue;
      answers.elements[e].expected.exact = answers.elements[e].expected.exact || answer.outputs[e].exact;
    }
  }
  return Ok();
}

Result<std::vector<double>> Reference::State::Evaluate(const TimedCall& call, const Answers& answers, size_t slices,
                                                       const Variant& variant) {
  const size_t count = answers.begin[slices];
  std::vector<double> numbers(count);
  for (const DType precision : precisions) {
    ASSAY_TRY(OracleQuery query, Query(call, precision, slices));
    query.arithmetic = Arithmetic::kHonest;
    query.order = variant.order;
    query.fma = variant.fma;
    query.elementary = variant.elementary;
    query.mutant = variant.mutant;
    ASSAY_TRY(const OracleAnswer answer, oracle->Evaluate(query, std::span(answers.slices).first(slices)));
    ASSAY_TRY_STATUS(Align(answers.elements, count, answer, precision, *call.contract, numbers));
  }
  return numbers;
}

Result<Answers> Reference::Ask(const TimedCall& call, std::span<const int64_t> slices, size_t honest_slices) {
  Answers answers;
  answers.slices.assign(slices.begin(), slices.end());
  answers.begin.assign(slices.size() + 1, 0);
  if (slices.empty()) return answers;
  ASSAY_TRY_STATUS(state_->Load(call));
  ASSAY_TRY_STATUS(state_->AskBounds(call, slices, answers));
  // Random mantissas are never exact in any order, and asking would double the cost; but integers are
  // not random, and a tie between two codes is decided by exactness alone.
  if (call.structured || state_->needs_exactness) ASSAY_TRY_STATUS(state_->MarkExact(call, slices, answers));
  answers.honest_slices = std::min(honest_slices, slices.size());
  if (answers.honest_slices == 0) return answers;
  answers.orders = std::size(kHonest);
  answers.honest.resize(answers.begin[answers.honest_slices] * answers.orders);
  for (size_t h = 0; h < answers.orders; ++h) {
    ASSAY_TRY(const std::vector<double> numbers, state_->Evaluate(call, answers, answers.honest_slices, kHonest[h]));
    for (size_t e = 0; e < numbers.size(); ++e) answers.honest[e * answers.orders + h] = numbers[e];
  }
  return answers;
}

Result<std::vector<double>> Reference::Numbers(const TimedCall& call, const Answers& answers, const Variant& variant) {
  if (answers.slices.empty()) return std::vector<double>();
  ASSAY_TRY_STATUS(state_->Load(call));
  return state_->Evaluate(call, answers, answers.slices.size(), variant);
}

Result<double> Reference::CountOperations(const TimedCall& call, std::span<const int64_t> slices) {
  ASSAY_TRY_STATUS(state_->Load(call));
  ASSAY_TRY(OracleQuery query, state_->Query(call, state_->precisions.front(), slices.size()));
  query.arithmetic = Arithmetic::kCount;
  ASSAY_TRY(const OracleAnswer answer, state_->oracle->Evaluate(query, slices));
  double operations = 0;
  for (size_t kind = 0; kind < answer.counts.size(); ++kind) {
    if (kind == static_cast<size_t>(Operation::kConvert) || kind == static_cast<size_t>(Operation::kIntegerAdd) ||
        kind == static_cast<size_t>(Operation::kIntegerMultiply)) {
      continue;  // conversions and index arithmetic are not what a contract's cost counts
    }
    operations += static_cast<double>(answer.counts[kind]);
  }
  return operations;
}

}  // namespace assay
