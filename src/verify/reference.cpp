// SPDX-License-Identifier: Apache-2.0
#include "verify/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "contract/given.h"
#include "contract/values.h"
#include "language/oracle.h"
#include "numerics/assay/count.h"
#include "verify/collect.h"

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

bool SameElements(const Collected& a, const Collected& b) {
  return std::ranges::equal(a.elements, b.elements, [](const AnswerElement& x, const AnswerElement& y) {
    return x.tensor == y.tensor && x.offset == y.offset;
  });
}

// A reference that writes other elements under another arithmetic cannot be compared with itself.
Status CheckSame(const TimedCall& call, const Collected& one, const Collected& other) {
  if (SameElements(one, other)) return Ok();
  return Error{ErrorCode::kInvalidInput,
               call.contract->name + ": the reference wrote other elements in another arithmetic"};
}

// The elements' numbers; those of class stochastic drawn, in one way for each call.
std::vector<double> NumbersOf(const TimedCall& call, const Collected& collected) {
  Seed seed = Seed::FromNumber(collected.elements.size());
  for (const double scalar : call.scalars) seed = seed.Derive("scalar", std::bit_cast<uint64_t>(scalar));
  Stream stream(seed);
  std::vector<double> numbers;
  for (const AnswerElement& element : collected.elements) {
    const ExpectedElement& expected = element.expected;
    const bool drawn = IsOf(CompareClass::kStochastic, call.contract->tensors[element.tensor]);
    numbers.push_back(drawn && stream.Unit() >= expected.probability ? expected.other : expected.value);
  }
  return numbers;
}

// Slices of an output's own are few numbers each; so many of them when not all slices are compared.
constexpr int64_t kFewestOwnSlices = 4;
constexpr int64_t kMostOwnSlices = 512;

// The present outputs that have slices of their own.
std::vector<size_t> WithOwnSlices(const Contract& contract, const Shape& shape) {
  std::vector<size_t> outputs;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (tensor.compare && tensor.compare->own_slice && !shape.absent_tensors.contains(tensor.name))
      outputs.push_back(t);
  }
  return outputs;
}

// The outputs with slices of their own are compared with everything else.  Which of their slices
// follows from the secret draw of the others.
std::vector<AnswerPart> PartsOf(const Contract& contract, const Shape& shape, std::span<const int64_t> slices) {
  std::vector<AnswerPart> parts{{std::nullopt, {slices.begin(), slices.end()}}};
  const bool every = static_cast<int64_t>(slices.size()) == SliceCount(contract, shape);
  uint64_t drawn = slices.size();
  for (const int64_t slice : slices) drawn = (drawn ^ static_cast<uint64_t>(slice)) * 0x100000001B3U;
  for (const size_t t : WithOwnSlices(contract, shape)) {
    Stream stream(Seed::FromNumber(drawn).Derive("own slices", t));
    const int64_t most =
        every ? kMostOwnSlices : std::clamp(static_cast<int64_t>(slices.size()), kFewestOwnSlices, kMostOwnSlices);
    parts.push_back({t, DrawSlices(SliceCount(contract, contract.tensors[t], shape), most, stream)});
  }
  return parts;
}

// What is asked about, one part after the other.
void SetParts(std::vector<AnswerPart> parts, Answers& answers) {
  answers.parts = std::move(parts);
  for (const AnswerPart& part : answers.parts)
    answers.slices.insert(answers.slices.end(), part.slices.begin(), part.slices.end());
}

std::vector<AnswerPart> AllParts(const Contract& contract, const Shape& shape) {
  std::vector<AnswerPart> parts{{std::nullopt, AllSlices(SliceCount(contract, shape))}};
  for (const size_t t : WithOwnSlices(contract, shape))
    parts.push_back({t, AllSlices(SliceCount(contract, contract.tensors[t], shape))});
  return parts;
}

// An index that the reference is about to use must be one.
Result<std::optional<Finding>> FindUnusable(const TimedCall& call) {
  const Contract& contract = *call.contract;
  const ShapeNames names(*call.shape);
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (!IsGiven(contract, tensor) || tensor.range.size() != 2 || call.tensors[t].empty()) continue;
    ASSAY_TRY(const double low, tensor.range[0].EvaluateNumber(names.names()));
    ASSAY_TRY(const double high, tensor.range[1].EvaluateNumber(names.names()));
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, *call.shape));
    for (int64_t e = 0; e < layout.element_count; ++e) {
      const int64_t offset = ElementOffset(layout, e);
      const double got = LoadElement(tensor.dtype, call.tensors[t], offset);
      if (got >= low && got <= high) continue;
      const double nearest = got < low ? low : high;
      return std::optional(Finding{t, offset, 0, got, nearest, std::abs(got - nearest), 0.0, "range"});
    }
  }
  return std::optional<Finding>();
}

}  // namespace

std::span<const Variant> HonestVariants() { return kHonest; }

void SetOutput(TimedCall& call, size_t tensor, std::span<const std::byte> output) {
  if (call.contract->tensors[tensor].role == Role::kInOut) {
    call.before.resize(call.tensors.size());
    call.before[tensor] = call.Read(tensor);
  }
  call.tensors[tensor] = output;
}

struct Reference::State {
  std::unique_ptr<Oracle> oracle;
  std::vector<DType> precisions;
  bool needs_exactness = false;  // an output of class requantise or index
  // Only what is rounded is compared with what honest orders leave; indices, draws and exact outputs are
  // judged by their keys, chances and values alone.
  bool compared_with_orders = false;
  std::vector<std::vector<std::byte>> nothing;  // stands for given outputs where there is no candidate

  Status Load(const TimedCall& call);
  OracleQuery Query(const TimedCall& call, Arithmetic arithmetic, size_t slices) const;
  OracleQuery Query(const TimedCall& call, const Variant& variant, size_t slices) const;
  // One evaluation of the loaded call, one part after the other.
  Result<Collected> EvaluateIn(const TimedCall& call, DType precision, OracleQuery how,
                               std::span<const AnswerPart> parts);
  // In every precision that an output names; the elements of each output come from its own.
  Result<Collected> Evaluate(const TimedCall& call, const OracleQuery& how, std::span<const AnswerPart> parts);
  // What the answers' parts come to: values, bounds, and where it matters whether every order gives these very bits.
  Status Answer(const TimedCall& call, Answers& answers);
  Status MarkExact(const TimedCall& call, Answers& answers);
  Status AddEnsemble(const TimedCall& call, size_t honest_slices, Answers& answers);
  // Replaces honest solutions in `honest` by the backward errors that they leave.
  Status MeasureSolutions(const TimedCall& call, std::span<const AnswerPart> parts, std::span<AnswerElement> honest);
  Status WidenResiduals(const TimedCall& call, Answers& answers);
};

Reference::Reference(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reference::~Reference() = default;

Result<std::unique_ptr<Reference>> Reference::Start(const Contract& contract, const std::filesystem::path& cache,
                                                    int processes) {
  auto state = std::make_unique<State>();
  ASSAY_TRY(state->oracle, Oracle::Start(contract, cache, processes));
  state->precisions = PrecisionsOf(contract);
  state->needs_exactness =
      HasOutputOf(CompareClass::kRequantise, contract) || HasOutputOf(CompareClass::kIndex, contract);
  state->compared_with_orders = HasOutputOf(CompareClass::kAccumulate, contract) ||
                                HasOutputOf(CompareClass::kRequantise, contract) ||
                                HasOutputOf(CompareClass::kSolve, contract);
  return std::unique_ptr<Reference>(new Reference(std::move(state)));
}

Status Reference::State::Load(const TimedCall& call) {
  const Contract& contract = *call.contract;
  std::vector<std::span<const std::byte>> tensors;
  for (size_t t = 0; t < call.tensors.size(); ++t) tensors.push_back(call.Read(t));
  nothing.resize(tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (!tensors[t].empty() || !IsGiven(contract, tensor) || call.shape->absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, *call.shape));
    nothing[t].assign(static_cast<size_t>(layout.byte_span), std::byte{0});
    tensors[t] = nothing[t];
  }
  return oracle->Load({call.shape, call.scalars, tensors});
}

OracleQuery Reference::State::Query(const TimedCall& call, Arithmetic arithmetic, size_t slices) const {
  OracleQuery query;
  query.arithmetic = arithmetic;
  query.regime = call.structured ? Regime::kStructured : Regime::kRandom;
  query.flush = call.contract->policy.subnormals_flush;
  query.outputs = ElementsOf(call, slices);
  return query;
}

OracleQuery Reference::State::Query(const TimedCall& call, const Variant& variant, size_t slices) const {
  OracleQuery query = Query(call, Arithmetic::kHonest, slices);
  query.order = variant.order;
  query.fma = variant.fma;
  query.elementary = variant.elementary;
  query.mutant = variant.mutant;
  return query;
}

Result<Collected> Reference::State::EvaluateIn(const TimedCall& call, DType precision, OracleQuery how,
                                               std::span<const AnswerPart> parts) {
  const Contract& contract = *call.contract;
  how.format = precision;
  Collected joined;
  size_t slices = 0;
  for (const AnswerPart& part : parts) {
    const Tensor* const own = part.own ? &contract.tensors[*part.own] : nullptr;
    ASSAY_TRY(const OracleAnswer answer, oracle->Evaluate(how, part.slices, own));
    ASSAY_TRY(Collected collected, Collect(contract, *call.shape, answer, part.own));
    if (own != nullptr && collected.elements.empty() && !part.slices.empty()) {
      return Error{ErrorCode::kInvalidInput,
                   contract.reference.string() + ": nothing of " + own->name +
                       " was written in the calls for its own slices; they are those with slice.of(\"" + own->name +
                       "\")"};
    }
    for (size_t s = 0; s < part.slices.size(); ++s) joined.begin.push_back(collected.begin[s] + joined.elements.size());
    for (RankedRow& row : collected.rows) {
      row.slice += slices;
      row.first += joined.elements.size();
      joined.rows.push_back(std::move(row));
    }
    joined.elements.insert(joined.elements.end(), collected.elements.begin(), collected.elements.end());
    slices += part.slices.size();
  }
  joined.begin.push_back(joined.elements.size());
  return joined;
}

Result<Collected> Reference::State::Evaluate(const TimedCall& call, const OracleQuery& how,
                                             std::span<const AnswerPart> parts) {
  const Contract& contract = *call.contract;
  const auto in = [&](size_t tensor) { return contract.tensors[tensor].compare->in; };
  ASSAY_TRY(Collected joined, EvaluateIn(call, precisions.front(), how, parts));
  for (const DType precision : std::span(precisions).subspan(1)) {
    ASSAY_TRY(Collected collected, EvaluateIn(call, precision, how, parts));
    if (!SameElements(joined, collected)) {
      return Error{ErrorCode::kInvalidInput,
                   contract.name + ": the reference wrote other elements in another precision"};
    }
    for (size_t e = 0; e < joined.elements.size(); ++e) {
      if (in(joined.elements[e].tensor) == precision) joined.elements[e] = collected.elements[e];
    }
    for (size_t r = 0; r < joined.rows.size(); ++r) {
      if (in(joined.rows[r].tensor) == precision) joined.rows[r] = std::move(collected.rows[r]);
    }
  }
  return joined;
}

Status Reference::State::Answer(const TimedCall& call, Answers& answers) {
  const OracleQuery bounded = Query(call, Arithmetic::kBounded, answers.slices.size());
  ASSAY_TRY(static_cast<Collected&>(answers), Evaluate(call, bounded, answers.parts));
  // Random mantissas are never exact in any order, and asking would double the cost; but integers are
  // not random, and ties are decided by exactness alone.
  return call.structured || needs_exactness ? MarkExact(call, answers) : Ok();
}

Status Reference::State::MarkExact(const TimedCall& call, Answers& answers) {
  ASSAY_TRY(const Collected exact,
            Evaluate(call, Query(call, Arithmetic::kExact, answers.slices.size()), answers.parts));
  ASSAY_TRY_STATUS(CheckSame(call, answers, exact));
  for (size_t e = 0; e < answers.elements.size(); ++e) {
    ExpectedElement& expected = answers.elements[e].expected;
    expected.exact = expected.exact || exact.elements[e].expected.exact;
  }
  for (size_t r = 0; r < answers.rows.size(); ++r) {
    for (size_t k = 0; k < answers.rows[r].keys.size(); ++k) {
      // Exact keys come back with a bound of nothing.
      double& bound = answers.rows[r].keys[k].bound;
      if (exact.rows[r].keys[k].exact) bound = 0.0;
    }
  }
  return Ok();
}

Status Reference::State::MeasureSolutions(const TimedCall& call, std::span<const AnswerPart> parts,
                                          std::span<AnswerElement> honest) {
  const Contract& contract = *call.contract;
  Outputs outputs(contract.tensors.size());
  TimedCall own = call;
  const auto solved = [&](const AnswerElement& element) {
    return IsOf(CompareClass::kSolve, contract.tensors[element.tensor]);
  };
  for (const AnswerElement& element : honest) {
    if (!solved(element)) continue;
    const Tensor& tensor = contract.tensors[element.tensor];
    std::vector<std::byte>& bytes = outputs[element.tensor];
    if (bytes.empty()) {
      bytes.assign(call.tensors[element.tensor].begin(), call.tensors[element.tensor].end());
      own.tensors[element.tensor] = bytes;
    }
    StoreElement(tensor.dtype, bytes, element.offset, StoredAs(RuleOf(contract, tensor), element.expected.value));
  }
  ASSAY_TRY_STATUS(Load(own));
  ASSAY_TRY(const Collected left, Evaluate(own, Query(own, Arithmetic::kBounded, parts[0].slices.size()), parts));
  for (size_t e = 0; e < honest.size(); ++e) {
    if (!solved(honest[e])) continue;
    const ExpectedElement& measured = left.elements[e].expected;
    honest[e].expected.value = measured.scale > 0.0 ? std::abs(measured.other) / measured.scale : 0.0;
  }
  return Ok();
}

// In the arithmetic of the candidate itself a residual would be as wrong as the solution.
Status Reference::State::WidenResiduals(const TimedCall& call, Answers& answers) {
  const Contract& contract = *call.contract;
  const auto solved = [](const Tensor& tensor) { return IsOf(CompareClass::kSolve, tensor); };
  for (const AnswerElement& element : answers.elements) {
    const Tensor& tensor = contract.tensors[element.tensor];
    if (!solved(tensor) || element.expected.scale >= 0.0) continue;
    return Error{ErrorCode::kInvalidInput, contract.reference.string() + ": " + tensor.name +
                                               " has no residual; write an assay::Residual where a.judging() holds"};
  }
  const bool wide = std::ranges::any_of(
      contract.tensors, [&](const Tensor& tensor) { return solved(tensor) && tensor.compare->in == DType::kF64; });
  if (!wide) return Ok();
  ASSAY_TRY(const Collected widened,
            Evaluate(call, Query(call, Arithmetic::kWide, answers.slices.size()), answers.parts));
  ASSAY_TRY_STATUS(CheckSame(call, answers, widened));
  for (size_t e = 0; e < answers.elements.size(); ++e) {
    if (!solved(contract.tensors[answers.elements[e].tensor])) continue;
    answers.elements[e].expected.other = widened.elements[e].expected.other;
    answers.elements[e].expected.scale = widened.elements[e].expected.scale;
  }
  return Ok();
}

Status Reference::State::AddEnsemble(const TimedCall& call, size_t honest_slices, Answers& answers) {
  std::vector<AnswerPart> parts{answers.parts.front()};
  parts[0].slices.resize(honest_slices);
  const size_t count = answers.begin[honest_slices];
  answers.honest_slices = honest_slices;
  answers.orders = std::size(kHonest);
  answers.honest.resize(count * answers.orders);
  const bool solves = HasOutputOf(CompareClass::kSolve, *call.contract);
  for (size_t h = 0; h < answers.orders; ++h) {
    if (solves) ASSAY_TRY_STATUS(Load(call));
    ASSAY_TRY(Collected honest, Evaluate(call, Query(call, kHonest[h], honest_slices), parts));
    Collected asked;
    asked.elements.assign(answers.elements.begin(), answers.elements.begin() + static_cast<std::ptrdiff_t>(count));
    ASSAY_TRY_STATUS(CheckSame(call, asked, honest));
    if (solves) ASSAY_TRY_STATUS(MeasureSolutions(call, parts, honest.elements));
    for (size_t e = 0; e < count; ++e) answers.honest[e * answers.orders + h] = honest.elements[e].expected.value;
  }
  return Ok();
}

Result<Answers> Reference::Ask(const TimedCall& call, std::span<const int64_t> slices, size_t honest_slices) {
  Answers answers;
  SetParts(PartsOf(*call.contract, *call.shape, slices), answers);
  answers.begin.assign(answers.slices.size() + 1, 0);
  if (answers.slices.empty()) return answers;
  ASSAY_TRY(answers.unusable, FindUnusable(call));
  if (answers.unusable) return answers;
  ASSAY_TRY_STATUS(state_->Load(call));
  ASSAY_TRY_STATUS(state_->Answer(call, answers));
  ASSAY_TRY_STATUS(state_->WidenResiduals(call, answers));
  honest_slices = state_->compared_with_orders ? std::min(honest_slices, slices.size()) : 0;
  if (honest_slices > 0) ASSAY_TRY_STATUS(state_->AddEnsemble(call, honest_slices, answers));
  return answers;
}

Result<std::vector<double>> Reference::Numbers(const TimedCall& call, const Answers& answers, const Variant& variant) {
  if (answers.slices.empty()) return std::vector<double>();
  ASSAY_TRY_STATUS(state_->Load(call));
  const OracleQuery how = state_->Query(call, variant, answers.slices.size());
  ASSAY_TRY(const Collected collected, state_->Evaluate(call, how, answers.parts));
  ASSAY_TRY_STATUS(CheckSame(call, answers, collected));
  return NumbersOf(call, collected);
}

Result<Outputs> Reference::Produce(const TimedCall& call, const Variant& variant, const NumbersFault& fault) {
  const Contract& contract = *call.contract;
  Outputs outputs(contract.tensors.size());
  TimedCall own = call;
  int deepest = 0;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (tensor.role == Role::kIn || call.shape->absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, *call.shape));
    outputs[t].resize(static_cast<size_t>(layout.byte_span));
    SetOutput(own, t, outputs[t]);
    deepest = std::max(deepest, GivenDepth(contract, tensor));
  }
  Answers answers;
  SetParts(AllParts(contract, *call.shape), answers);
  // What an output is computed from is there before it.
  for (int depth = 0; depth <= deepest; ++depth) {
    ASSAY_TRY_STATUS(state_->Load(own));
    const OracleQuery how = state_->Query(call, variant, answers.slices.size());
    ASSAY_TRY(static_cast<Collected&>(answers), state_->Evaluate(call, how, answers.parts));
    std::vector<double> numbers = NumbersOf(call, answers);
    if (fault) {
      // A fault asks what is certain; one evaluation does not know what another order would have left.
      Answers bounded = answers;
      ASSAY_TRY_STATUS(state_->Answer(call, bounded));
      ASSAY_TRY_STATUS(CheckSame(call, answers, bounded));
      fault(bounded, numbers);
    }
    for (size_t e = 0; e < numbers.size(); ++e) {
      const Tensor& tensor = contract.tensors[answers.elements[e].tensor];
      if (GivenDepth(contract, tensor) != depth) continue;
      StoreElement(tensor.dtype, outputs[answers.elements[e].tensor], answers.elements[e].offset,
                   StoredAs(RuleOf(contract, tensor), numbers[e]));
    }
  }
  return outputs;
}

Result<double> Reference::CountOperations(const TimedCall& call, std::span<const int64_t> slices) {
  ASSAY_TRY_STATUS(state_->Load(call));
  OracleQuery query = state_->Query(call, Arithmetic::kCount, slices.size());
  query.format = state_->precisions.front();
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
