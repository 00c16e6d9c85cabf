// SPDX-License-Identifier: Apache-2.0
#include "contract/relation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "contract/given.h"
#include "contract/shape.h"
#include "contract/values.h"
#include "verify/check.h"

namespace assay {
namespace {

// Small: every slice is asked of the reference, for each call once.
constexpr ShapeLimits kLimits{.flops = 5e5, .bytes = 1 << 17};
constexpr int kShapes = 8;
// Below this a power of two is no longer exact in a product's parts.
constexpr double kTiny = 0x1p-100;
// The reference computes in double; a relation may lose this much of a value there.
constexpr double kReferenceRounding = 1e-10;

using Grid = std::vector<std::vector<const ExpectedElement*>>;  // by tensor and offset; null: not an element

// One call in a process of its own: right, and what the reference and the candidate say.
struct Ran {
  std::optional<Rejected> refused;
  CallInputs inputs;
  Answers answers;
  Grid expected;
  std::vector<std::vector<std::byte>> outputs;  // by tensor; empty where there is none
};

size_t ElementsIn(const Tensor& tensor, size_t bytes) {
  return bytes * 8 / static_cast<size_t>(Info(tensor.dtype).bits);
}

bool SameBits(DType dtype, std::span<const std::byte> one, int64_t first, std::span<const std::byte> other,
              int64_t second) {
  if (Info(dtype).bits < 8) return LoadElement(dtype, one, first) == LoadElement(dtype, other, second);
  const size_t width = static_cast<size_t>(Info(dtype).bits) / 8;
  return std::memcmp(one.data() + static_cast<size_t>(first) * width,
                     other.data() + static_cast<size_t>(second) * width, width) == 0;
}

// Whether the reference computes this output from the inputs alone.  Where it follows what the candidate returned
// (a residual, weights at its own indices) its answer stays the same though the output must change.
bool FromInputsAlone(const Tensor& tensor) {
  if (!tensor.compare || !tensor.compare->given.empty() || !tensor.compare->along.empty()) return false;
  const CompareClass kind = tensor.compare->kind;
  return kind == CompareClass::kAccumulate || kind == CompareClass::kExact || kind == CompareClass::kRequantise;
}

// Whose elements have a value that another call's could be compared with: codes stand for a range of values.
bool HasValues(const Tensor& tensor) {
  return FromInputsAlone(tensor) && tensor.compare->kind != CompareClass::kRequantise;
}

// What a relation demands, whoever wrote it down.
struct Demand {
  std::string name;  // "relation past_only", "perturbation of k"
  bool equal = false;
};

// Compares the two calls of one relation.
class Comparison {
 public:
  Comparison(const Contract& contract, const Demand& demand, const RelatedCall& related, const Ran& first,
             const Ran& second)
      : contract_(contract), demand_(demand), related_(related), first_(first), second_(second) {}

  // The violation; an Error when the reference itself does not keep the relation.
  Result<std::optional<std::string>> Violation() {
    follows_.assign(contract_.tensors.size(), false);
    if (related_.factor != 1 || related_.shift != 0) Classify();
    for (const Tie& tie : related_.ties) {
      const ExpectedElement* const one = first_.expected[tie.tensor][static_cast<size_t>(tie.first)];
      const ExpectedElement* const other = second_.expected[tie.tensor][static_cast<size_t>(tie.second)];
      if (one == nullptr || other == nullptr || one->no_information || other->no_information) continue;
      if (related_.unchanged_only && !FromInputsAlone(contract_.tensors[tie.tensor])) continue;
      if (related_.unchanged_only && !(one->value == other->value && one->bound == other->bound)) continue;
      ASSAY_TRY_STATUS(AskReference(tie, *one, *other));
      if (auto violation = Judge(tie, *one, *other)) return violation;
    }
    return std::optional<std::string>();
  }

 private:
  double Image(size_t tensor, double value) const {
    return follows_[tensor] ? related_.factor * value + related_.shift : value;
  }

  // An output follows the inputs where the reference's values fit that better than staying.
  void Classify() {
    std::vector<double> stays(contract_.tensors.size(), 0), follows(contract_.tensors.size(), 0);
    for (const Tie& tie : related_.ties) {
      const ExpectedElement* const one = first_.expected[tie.tensor][static_cast<size_t>(tie.first)];
      const ExpectedElement* const other = second_.expected[tie.tensor][static_cast<size_t>(tie.second)];
      if (one == nullptr || other == nullptr || one->no_information || other->no_information) continue;
      stays[tie.tensor] += std::abs(other->value - one->value);
      follows[tie.tensor] += std::abs(other->value - (related_.factor * one->value + related_.shift));
    }
    for (size_t t = 0; t < stays.size(); ++t) follows_[t] = follows[t] < stays[t];
  }

  Status AskReference(const Tie& tie, const ExpectedElement& one, const ExpectedElement& other) const {
    if (related_.unchanged_only || !HasValues(contract_.tensors[tie.tensor])) return Ok();
    const double image = Image(tie.tensor, one.value);
    if (std::isnan(image) && std::isnan(other.value)) return Ok();
    const double room = std::abs(related_.factor) * one.bound + other.bound + kReferenceRounding * std::abs(image);
    if (image == other.value || std::abs(other.value - image) <= room) return Ok();
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}: {} does not hold in reference.h: {} at {} gives {:.9g} where {:.9g} would follow "
                             "({}); mend the reference, or take the relation out of contract.toml",
                             contract_.name, demand_.name, contract_.tensors[tie.tensor].name, tie.second, other.value,
                             image, related_.what)};
  }

  std::optional<std::string> Judge(const Tie& tie, const ExpectedElement& one, const ExpectedElement& other) const {
    const Tensor& tensor = contract_.tensors[tie.tensor];
    const std::span<const std::byte> before = first_.outputs[tie.tensor], after = second_.outputs[tie.tensor];
    if (demand_.equal && !follows_[tie.tensor]) {
      if (SameBits(tensor.dtype, before, tie.first, after, tie.second)) return std::nullopt;
      return Told(tie, LoadElement(tensor.dtype, before, tie.first), LoadElement(tensor.dtype, after, tie.second),
                  "must be the same bits");
    }
    if (!HasValues(tensor)) return std::nullopt;
    const double was = LoadElement(tensor.dtype, before, tie.first), is = LoadElement(tensor.dtype, after, tie.second);
    const double image = Image(tie.tensor, was);
    if (demand_.equal) {
      if (is == image || std::min(std::abs(is), std::abs(image)) < kTiny) return std::nullopt;
      return Told(tie, was, is, fmt::format("must be {:.9g}", image));
    }
    const OutputRule rule{tensor.compare->kind, tensor.dtype, tensor.compare->in, contract_.policy.subnormals_flush};
    const double room = std::abs(related_.factor) * JudgeElement(rule, one, was).limit +
                        JudgeElement(rule, other, is).limit + std::abs(other.value - Image(tie.tensor, one.value));
    if (is == image || (std::isnan(is) && std::isnan(image)) || std::abs(is - image) <= room) return std::nullopt;
    return Told(tie, was, is, fmt::format("may differ from {:.9g} by {:.3g}", image, room));
  }

  std::string Told(const Tie& tie, double was, double is, std::string_view rule) const {
    return fmt::format("{} ({}): {} at offset {} was {:.9g}, and at offset {} of the second call is {:.9g}; it {}",
                       demand_.name, related_.what, contract_.tensors[tie.tensor].name, tie.first, was, tie.second, is,
                       rule);
  }

  const Contract& contract_;
  const Demand& demand_;
  const RelatedCall& related_;
  const Ran& first_;
  const Ran& second_;
  std::vector<bool> follows_;  // by tensor
};

// Sums of outputs, and what an in-place kernel must leave alone: claims about one call.
Result<std::optional<std::string>> ViolationAlone(const Contract& contract, const Demand& demand,
                                                  const RelatedCall& related, const Ran& first) {
  for (const SumClaim& claim : related.sums) {
    const Tensor& tensor = contract.tensors[claim.tensor];
    if (!HasValues(tensor)) continue;
    const OutputRule rule{tensor.compare->kind, tensor.dtype, tensor.compare->in, contract.policy.subnormals_flush};
    double sum = 0, of_reference = 0, room = 0, bounds = 0;
    bool told = true;
    for (const int64_t offset : claim.offsets) {
      const ExpectedElement* const expected = first.expected[claim.tensor][static_cast<size_t>(offset)];
      told = told && expected != nullptr && !expected->no_information;
      if (!told) break;
      const double got = LoadElement(tensor.dtype, first.outputs[claim.tensor], offset);
      sum += got;
      of_reference += expected->value;
      bounds += expected->bound;
      room += JudgeElement(rule, *expected, got).limit;
    }
    if (!told || claim.offsets.empty()) continue;
    if (!(std::abs(of_reference - claim.value) <= bounds + kReferenceRounding * std::abs(claim.value))) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("{}: {} does not hold in reference.h: {} adds up to {:.9g} and not to {:g}; mend the "
                               "reference, or take the relation out of contract.toml",
                               contract.name, demand.name, tensor.name, of_reference, claim.value)};
    }
    if (demand.equal ? sum == claim.value : std::abs(sum - claim.value) <= room + std::abs(of_reference - claim.value))
      continue;
    return std::optional(fmt::format("{}: {} from offset {} on adds up to {:.9g}; {:g} is due, within {:.3g}",
                                     demand.name, tensor.name, claim.offsets.front(), sum, claim.value,
                                     demand.equal ? 0.0 : room));
  }
  for (const size_t t : related.kept) {
    const Tensor& tensor = contract.tensors[t];
    for (size_t offset = 0; offset < first.expected[t].size(); ++offset) {
      const ExpectedElement* const expected = first.expected[t][offset];
      const auto at = static_cast<int64_t>(offset);
      const double was = LoadElement(tensor.dtype, first.inputs.tensors[t], at);
      if (expected != nullptr && !(expected->value == was && expected->bound == 0)) continue;
      if (SameBits(tensor.dtype, first.inputs.tensors[t], at, first.outputs[t], at)) continue;
      return std::optional(
          fmt::format("{}: {} at offset {} held {:.9g}, which the operator leaves alone, and now holds "
                      "{:.9g}",
                      demand.name, tensor.name, at, was, LoadElement(tensor.dtype, first.outputs[t], at)));
    }
  }
  return std::optional<std::string>();
}

// Check 6.  The contract's relations, and for every input one element changed: what does not depend on it stays.
// Each call runs in a fresh process at the same placement, because a process that saw both could answer one
// from the other.
class RelationsCheck : public Check {
 public:
  std::string_view name() const override { return "relations"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    const Contract& contract = examination.contract();
    Stream stream = examination.Draws(name());
    Bench bench{examination, DrawShapes(contract, kShapes, kLimits, stream), {}, {}};
    for (Shape& shape : bench.shapes) {
      shape.aliases.clear();  // what a second call reads must not be what the first one wrote
      bench.placements.push_back(stream.Next());
    }
    for (const Relation& relation : contract.relations) {
      ASSAY_TRY(std::optional<Rejected> refused, Ask(bench, relation));
      if (refused) return refused;
    }
    return PerturbAll(bench);
  }

 private:
  struct Bench {
    Examination& examination;
    std::vector<Shape> shapes;
    std::vector<uint64_t> placements;
    std::map<size_t, Ran> first;  // by shape
  };

  static bool Wanted(const Contract& contract, const Relation& relation) {
    return !(relation.kind == RelationKind::kPerturbOne && contract.policy.deterministic == Determinism::kNo);
  }

  Result<std::optional<Rejected>> Ask(Bench& bench, const Relation& relation) {
    const Contract& contract = bench.examination.contract();
    if (!Wanted(contract, relation)) return std::optional<Rejected>();
    const std::unique_ptr<RelationRule> rule = MakeRelation(contract, relation);
    const auto shape = Fittest(bench, [&](const Shape& s) { return rule->Shows(s); });
    if (!shape) {
      bench.examination.NotChecked("relation " + relation.name + ": no drawn shape can show it");
      return std::optional<Rejected>();
    }
    const Demand demand{"relation " + relation.name,
                        relation.expect_equal && contract.policy.deterministic != Determinism::kNo};
    const Seed seed = bench.examination.CaseSeed(name(), *shape).Derive(relation.name);
    return Twice(bench, *shape, demand, seed,
                 [&](CallInputs& first, Stream& stream) { return rule->Draw(first, stream); });
  }

  Result<std::optional<Rejected>> PerturbAll(Bench& bench) {
    const Contract& contract = bench.examination.contract();
    if (contract.policy.deterministic == Determinism::kNo) return std::optional<Rejected>();
    for (size_t t = 0; t < contract.tensors.size(); ++t) {
      const Tensor& tensor = contract.tensors[t];
      // What inputs.cpp fills may hang together: one element of it alone may be no input at all.
      if (tensor.role == Role::kOut || tensor.from_program() || StatesItself(contract, tensor)) continue;
      const auto shape = Fittest(bench, [&](const Shape& s) {
        return !s.absent_tensors.contains(tensor.name) && SliceCount(contract, s) > 1;
      });
      if (!shape) continue;
      const Demand demand{"perturbation of " + tensor.name, true};
      const Seed seed = bench.examination.CaseSeed(name(), *shape).Derive("perturb", t);
      ASSAY_TRY(std::optional<Rejected> refused,
                Twice(bench, *shape, demand, seed,
                      [&](CallInputs& first, Stream& stream) { return PerturbOne(contract, first, t, stream); }));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

  // The contract says itself what one element of this tensor may change.
  static bool StatesItself(const Contract& contract, const Tensor& tensor) {
    return std::any_of(contract.relations.begin(), contract.relations.end(), [&](const Relation& relation) {
      return relation.kind == RelationKind::kPerturbOne &&
             std::find(relation.of.begin(), relation.of.end(), tensor.name) != relation.of.end();
    });
  }

  // Of the shapes that show something the one with the most in it: many slices of many outputs each, so that there is
  // something to lean on and something that leans.  All tensors present, if there is such a one.
  static std::optional<size_t> Fittest(const Bench& bench, const std::function<bool(const Shape&)>& shows) {
    const Contract& contract = bench.examination.contract();
    std::optional<size_t> best;
    for (size_t s = 0; s < bench.shapes.size(); ++s) {
      if (!shows(bench.shapes[s])) continue;
      const auto rank = [&](const Shape& shape) {
        return std::pair(-static_cast<int64_t>(shape.absent_tensors.size()), Breadth(contract, shape));
      };
      if (!best || rank(bench.shapes[s]) > rank(bench.shapes[*best])) best = s;
    }
    return best;
  }

  // The smaller of the number of slices and of the outputs of one.
  static int64_t Breadth(const Contract& contract, const Shape& shape) {
    const int64_t slices = std::max<int64_t>(SliceCount(contract, shape), 1);
    int64_t outputs = 0;
    for (const Tensor& tensor : contract.tensors) {
      if (tensor.role == Role::kIn || shape.absent_tensors.contains(tensor.name)) continue;
      const auto layout = LayoutOf(contract, tensor, shape);
      if (layout.ok()) outputs += layout.value().element_count;
    }
    return std::min(slices, outputs / slices);
  }

  using Drawer = std::function<Result<RelatedCall>(CallInputs& first, Stream& stream)>;

  struct Found {
    std::optional<Rejected> refused;
    bool between_calls = false;  // each call is right by itself
  };

  // A single difference in outputs that should not care may be a branch that one value happened to cross for a whole
  // vector of others; what leaks from one output into another does so again at the next draw.
  Result<std::optional<Rejected>> Twice(Bench& bench, size_t shape, const Demand& demand, const Seed& seed,
                                        const Drawer& draw) {
    ASSAY_TRY(Found found, Once(bench, shape, demand, seed, draw));
    if (found.refused && found.between_calls) {
      ASSAY_TRY(found, Once(bench, shape, demand, seed.Derive("again"), draw));
    }
    return std::move(found.refused);
  }

  Result<Found> Once(Bench& bench, size_t shape, const Demand& demand, const Seed& seed, const Drawer& draw) {
    Examination& examination = bench.examination;
    if (!bench.first.contains(shape)) {
      const Seed own = examination.CaseSeed(name(), shape);
      ASSAY_TRY(CallInputs inputs, DrawInputs(examination.contract(), bench.shapes[shape], own));
      ASSAY_TRY(bench.first[shape], RunOne(bench, shape, std::move(inputs), own));
    }
    const Ran* first = &bench.first[shape];
    if (first->refused) return Found{first->refused};
    Stream stream(seed.Derive("draw"));
    CallInputs inputs = first->inputs;
    auto drawn = draw(inputs, stream);
    if (!drawn.ok()) {
      // A tensor of one value only has no other to be changed to.
      if (drawn.error().code == ErrorCode::kNotFound) return Found{};
      return drawn.error();
    }
    const RelatedCall& related = drawn.value();
    Ran own_first;
    if (inputs.tensors != first->inputs.tensors) {
      ASSAY_TRY(own_first, RunOne(bench, shape, std::move(inputs), seed.Derive("first")));
      if (own_first.refused) return Found{std::move(own_first.refused)};
      first = &own_first;
    }
    std::optional<std::string> violation;
    if (related.second) {
      ASSAY_TRY(Ran second, RunOne(bench, shape, *related.second, seed.Derive("second")));
      if (second.refused) {
        second.refused->evidence = fmt::format("{} ({}): {}", demand.name, related.what, second.refused->evidence);
        return Found{std::move(second.refused)};
      }
      ASSAY_TRY(violation, Comparison(examination.contract(), demand, related, *first, second).Violation());
    } else {
      ASSAY_TRY(violation, ViolationAlone(examination.contract(), demand, related, *first));
    }
    if (!violation) return Found{};
    return Found{examination.Annotated(examination.Refuse(Reason::kWrongAnswer, std::move(*violation)),
                                       CaseOf(bench, shape, bench.shapes[shape], seed), ""),
                 true};
  }

  static Case CaseOf(const Bench& bench, size_t shape, const Shape& at, const Seed& seed) {
    Case c;
    c.shape = at;
    c.calls = {Values::kFirst};
    c.seed = seed;
    c.placement = bench.placements[shape];
    c.honest = false;
    return c;
  }

  static Result<CallInputs> DrawInputs(const Contract& contract, const Shape& shape, const Seed& seed) {
    CallInputs inputs{shape, {}, std::vector<std::vector<std::byte>>(contract.tensors.size())};
    for (size_t t = 0; t < contract.tensors.size(); ++t) {
      if (contract.tensors[t].role == Role::kOut || shape.absent_tensors.contains(contract.tensors[t].name)) continue;
      ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, contract.tensors[t], shape));
      inputs.tensors[t].resize(static_cast<size_t>(layout.byte_span));
    }
    ASSAY_TRY(const DrawnCall drawn,
              DrawCall(contract, shape, Values::kFirst, seed, [&](size_t t) { return std::span(inputs.tensors[t]); }));
    inputs.scalars = drawn.scalars;
    return inputs;
  }

  // The call in a fresh process: ends well, and right by itself.
  static Result<Ran> RunOne(Bench& bench, size_t shape, CallInputs inputs, const Seed& seed) {
    Examination& examination = bench.examination;
    const Contract& contract = examination.contract();
    Ran ran;
    ran.inputs = std::move(inputs);
    const Case c = CaseOf(bench, shape, ran.inputs.shape, seed);
    ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
    if (auto* rejected = std::get_if<Rejected>(&started)) {
      ran.refused = examination.Annotated(std::move(*rejected), c, "");
      return ran;
    }
    Probe& probe = std::get<Probe>(started);
    TimedCall given{.contract = &contract,
                    .shape = &ran.inputs.shape,
                    .scalars = ran.inputs.scalars,
                    .tensors = {},
                    .before = {},
                    .structured = false};
    for (const auto& bytes : ran.inputs.tensors) given.tensors.emplace_back(bytes);
    probe.LoadBytes(0, given);
    examination.CountCase();
    ASSAY_TRY(ran.refused, probe.Run(0));
    if (ran.refused) {
      ran.refused = examination.Annotated(std::move(*ran.refused), c, "");
      return ran;
    }
    ASSAY_TRY(ran.refused, examination.CheckWritten(probe, c, 0));
    if (ran.refused) return ran;
    ASSAY_TRY(ran.answers, AnswersTo(examination, probe.Call(0), seed));
    const Judgement judgement = Judge(contract, ran.answers, probe.Call(0).tensors);
    if (judgement.finding) {
      ran.refused = examination.Annotated(
          examination.Refuse(Reason::kWrongAnswer, Describe(contract, ran.inputs.shape, *judgement.finding)), c, "");
      return ran;
    }
    Keep(contract, probe.Call(0), ran);
    return ran;
  }

  // Every slice; of a contract whose answers do not hang on the candidate's, once for all candidates.
  static Result<Answers> AnswersTo(Examination& examination, const TimedCall& call, const Seed& seed) {
    AnswerBank* const bank = examination.answer_bank();
    if (bank != nullptr) {
      if (const Answers* const known = bank->Find(seed, 0)) return *known;
    }
    const std::vector<int64_t> slices = AllSlices(SliceCount(examination.contract(), *call.shape));
    ASSAY_TRY(Answers answers, examination.subject().reference->Ask(call, slices, 0));
    answers.texture = TextureOf(Values::kFirst, true);
    if (bank != nullptr) return bank->Keep(seed, 0, std::move(answers));
    return answers;
  }

  static void Keep(const Contract& contract, const TimedCall& call, Ran& ran) {
    ran.outputs.resize(contract.tensors.size());
    ran.expected.resize(contract.tensors.size());
    for (size_t t = 0; t < contract.tensors.size(); ++t) {
      if (contract.tensors[t].role == Role::kIn) continue;
      ran.outputs[t].assign(call.tensors[t].begin(), call.tensors[t].end());
      ran.expected[t].assign(ElementsIn(contract.tensors[t], call.tensors[t].size()), nullptr);
    }
    for (const AnswerElement& element : ran.answers.elements)
      ran.expected[element.tensor][static_cast<size_t>(element.offset)] = &element.expected;
  }
};

}  // namespace

std::unique_ptr<Check> MakeRelationsCheck() { return std::make_unique<RelationsCheck>(); }

}  // namespace assay
