// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reverse-mode rounding error analysis (Linnainmaa, Bauer): every operation is written on a tape with
// its own rounding; for one output an adjoint sweep weighs each rounding by how much the output
// depends on it.  Sharper than the forward bound wherever errors cancel, and dearer.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bounded.h"

namespace assay {

enum class TapeOp : uint8_t {
  kConstant,
  kAdd,
  kMultiply,
  kDivide,
  kSum,
  kDot,
  kMax,
  kMean,
  kVariance,
  kSoftmaxMean,
  kLogSumExp,
  kSumExp,
  kCast,
  kSelect,
  kFunction,
};
inline constexpr int kTapeOpCount = static_cast<int>(TapeOp::kFunction);
inline constexpr const char* kTapeOpNames[kTapeOpCount] = {
    "constant",    "add",       "multiply", "divide", "Sum",    "Dot", "Max", "mean of moments", "variance of moments",
    "SoftmaxMean", "LogSumExp", "SumExp",   "Cast",   "Select",
};

struct TapeNode {
  double value;
  double rounding;  // this operation's own
  uint32_t first_edge;
  uint8_t label;       // TapeOp, from kFunction on plus Fn
  int8_t left, right;  // tensors that a Dot reads, -1 for none
};

struct TapeEdge {
  int32_t parent;
  double derivative;
};

// A group of like operations and what they add to one output's bound.
struct TapeTerm {
  TapeNode node{};  // the one that contributes most
  double sensitivity = 0.0;
  double largest = 0.0;
  double contribution = 0.0;
  uint64_t count = 0;
};

struct Tape {
  std::vector<TapeNode> nodes;
  std::vector<TapeEdge> edges;
  std::vector<double> adjoints;
  uint64_t stride = 1, phase = 0, ordinal = 0;
  bool explain = false;
  int explain_tensor = -1;
  int64_t explain_element = 0;
  std::vector<TapeTerm> terms;
  uint64_t most_nodes = 0;

  void Clear() {
    most_nodes = std::max<uint64_t>(most_nodes, nodes.size());
    nodes.clear();
    edges.clear();
  }
  // Edges of a node are pushed before it.
  void Edge(int32_t parent, double derivative) {
    if (parent >= 0 && derivative != 0.0) edges.push_back({parent, derivative});
  }
  uint32_t FirstEdge() const { return static_cast<uint32_t>(edges.size()); }
  int32_t Push(uint8_t label, uint32_t first_edge, double value, double rounding, int left = -1, int right = -1) {
    // The difference of two infinities says nothing; it is no bound.
    if (!(rounding >= 0.0)) rounding = std::isnan(rounding) ? kNoBound : 0.0;
    if (nodes.size() >= 0x7FFFFFFF || edges.size() >= 0xFFFFFFFFU) FailReference("the slice is too long to be taped");
    nodes.push_back({value, rounding, first_edge, label, static_cast<int8_t>(left), static_cast<int8_t>(right)});
    return static_cast<int32_t>(nodes.size()) - 1;
  }

  // Sum over all operations of |d output / d operation| times its rounding.
  double Sweep(int32_t output) {
    adjoints.assign(nodes.size(), 0.0);
    adjoints[static_cast<size_t>(output)] = 1.0;
    double total = 0.0;
    for (size_t i = static_cast<size_t>(output) + 1; i-- > 0;) {
      const double adjoint = adjoints[i];
      if (adjoint == 0.0) continue;
      total += std::fabs(adjoint) * nodes[i].rounding;
      const size_t end = i + 1 < nodes.size() ? nodes[i + 1].first_edge : edges.size();
      for (size_t e = nodes[i].first_edge; e < end; ++e)
        adjoints[static_cast<size_t>(edges[e].parent)] += adjoint * edges[e].derivative;
    }
    return total;
  }

  // After Sweep: the contributions, like operations together.
  ASSAY_COLD void Explain(int32_t output) {
    terms.clear();
    for (size_t i = 0; i <= static_cast<size_t>(output); ++i) {
      const TapeNode& node = nodes[i];
      const double contribution = std::fabs(adjoints[i]) * node.rounding;
      if (!(contribution > 0.0)) continue;
      const auto same = [&node](const TapeTerm& t) {
        return t.node.label == node.label && t.node.left == node.left && t.node.right == node.right;
      };
      auto term = std::find_if(terms.begin(), terms.end(), same);
      if (term == terms.end()) term = terms.insert(terms.end(), TapeTerm{});
      if (term->count == 0 || contribution > term->largest) {
        term->node = node;
        term->sensitivity = std::fabs(adjoints[i]);
        term->largest = contribution;
      }
      term->contribution += contribution;
      ++term->count;
    }
    std::sort(terms.begin(), terms.end(),
              [](const TapeTerm& a, const TapeTerm& b) { return a.contribution > b.contribution; });
  }
};

struct Taped : Number<Taped> {
  Bounded forward;    // value, and the error that large arguments make second order of
  int32_t node = -1;  // -1: an input or exact constant

  Taped() = default;
  Taped(double constant) : forward(constant) {  // NOLINT
    if (forward.error > 0.0)
      node = environment.tape->Push(Label(TapeOp::kConstant), environment.tape->FirstEdge(), constant, forward.error);
  }
  Taped(const Bounded& value, int32_t at) : forward(value), node(at) {}

  static uint8_t Label(TapeOp op) { return static_cast<uint8_t>(op); }

  // The operation's own rounding is what its forward error has beyond the tangent's share of its
  // operands' errors; so each rule stands once, in Bounded, and second-order terms come along.
  static Taped Record(TapeOp op, const Bounded& result, const Taped& a, double da, const Taped& b, double db,
                      int function = 0) {
    if (result.integer) return {result, -1};
    Tape& tape = *environment.tape;
    const uint32_t first = tape.FirstEdge();
    double carried = 0.0;
    // An operand without a node is exact, or an integer whose conversion rounds here.
    if (a.node >= 0) carried += std::fabs(da) * a.forward.error;
    if (b.node >= 0) carried += std::fabs(db) * b.forward.error;
    tape.Edge(a.node, da);
    tape.Edge(b.node, db);
    return {result, tape.Push(static_cast<uint8_t>(Label(op) + function), first, result.value, result.error - carried)};
  }

  static Taped Add(const Taped& a, const Taped& b) {
    return Record(TapeOp::kAdd, Bounded::Add(a.forward, b.forward), a, 1.0, b, 1.0);
  }
  static Taped Subtract(const Taped& a, const Taped& b) {
    return Record(TapeOp::kAdd, Bounded::Subtract(a.forward, b.forward), a, 1.0, b, -1.0);
  }
  static Taped Multiply(const Taped& a, const Taped& b) {
    return Record(TapeOp::kMultiply, Bounded::Multiply(a.forward, b.forward), a, b.forward.value, b, a.forward.value);
  }
  static Taped Divide(const Taped& a, const Taped& b) {
    const Bounded v = Bounded::Divide(a.forward, b.forward);
    return Record(TapeOp::kDivide, v, a, 1.0 / b.forward.value, b, -v.value / b.forward.value);
  }
  static Taped Negate(const Taped& a) {
    if (a.node < 0) return {Bounded::Negate(a.forward), -1};
    return Record(TapeOp::kAdd, Bounded::Negate(a.forward), a, -1.0, Taped(), 0.0);
  }
  static Truth Less(const Taped& a, const Taped& b) { return Bounded::Less(a.forward, b.forward); }
  static Truth Equal(const Taped& a, const Taped& b) { return Bounded::Equal(a.forward, b.forward); }
};

template <>
struct Ops<Taped> {
  static Taped Leaf(double value, bool integer) { return {Bounded(value, 0.0, integer), -1}; }
  static Taped Element(const RawRow& row, int64_t i) { return {Ops<Bounded>::Element(row, i), -1}; }
  static Taped Apply(Fn fn, const Taped& x) {
    const Bounded fx = Ops<Bounded>::Apply(fn, x.forward);
    const double slope = x.node >= 0 ? Derivative(fn, x.forward.value, fx.value) : 0.0;
    return Taped::Record(TapeOp::kFunction, fx, x, std::isfinite(slope) ? slope : 0.0, Taped(), 0.0,
                         static_cast<int>(fn));
  }
  static Taped Abs(const Taped& x) { return x.forward.value < 0.0 ? Taped::Negate(x) : x; }
  static Taped Smaller(const Taped& a, const Taped& b) {
    return Pick(TapeOp::kMax, Ops<Bounded>::Smaller(a.forward, b.forward), b.forward.value < a.forward.value ? b : a);
  }
  static Taped Larger(const Taped& a, const Taped& b) {
    return Pick(TapeOp::kMax, Ops<Bounded>::Larger(a.forward, b.forward), a.forward.value < b.forward.value ? b : a);
  }
  static Taped Pick(TapeOp op, const Bounded& result, const Taped& chosen) {
    return result.error == chosen.forward.error ? chosen : Taped::Record(op, result, chosen, 1.0, Taped(), 0.0);
  }
  // What a rounding makes of an error is no tangent: all of it is the cast's own.
  static Taped Cast(DType format, const Taped& x) {
    return Taped::Record(TapeOp::kCast, Ops<Bounded>::Cast(format, x.forward), x, 0.0, Taped(), 0.0);
  }
  static Taped ToInteger(double (*round)(double), const Taped& x) {
    return Taped::Record(TapeOp::kCast, Ops<Bounded>::ToInteger(round, x.forward), x, 0.0, Taped(), 0.0);
  }
  static Taped Select(bool condition, const Taped& a, const Taped& b) { return condition ? a : b; }
  static Taped Select(Truth condition, const Taped& a, const Taped& b) {
    return Pick(TapeOp::kSelect, Ops<Bounded>::Select(condition, a.forward, b.forward), condition.value ? a : b);
  }

  template <class Term>
  static Taped Sum(int64_t n, Term&& term) {
    std::vector<Taped> terms;
    for (int64_t i = 0; i < n; ++i) terms.push_back(term(i));
    const Bounded result = Ops<Bounded>::Sum(n, [&](int64_t i) { return terms[static_cast<size_t>(i)].forward; });
    if (result.integer) return {result, -1};
    Tape& tape = *environment.tape;
    const uint32_t first = tape.FirstEdge();
    double carried = 0.0;
    for (const Taped& t : terms) carried += Share(t, 1.0);
    return {result, tape.Push(Taped::Label(TapeOp::kSum), first, result.value, result.error - carried)};
  }
  // Adds the edge and yields the operand's part of the forward error.
  static double Share(const Taped& operand, double derivative) {
    environment.tape->Edge(operand.node, derivative);
    return operand.node >= 0 ? std::fabs(derivative) * operand.forward.error : 0.0;
  }

  template <class A, class B>
  static Taped Dot(int64_t n, const A& a, const B& b) {
    std::vector<Taped> left, right;
    for (int64_t i = 0; i < n; ++i) {
      left.push_back(a(i));
      right.push_back(b(i));
    }
    const auto forward = [](const std::vector<Taped>& list) {
      return [&list](int64_t i) { return list[static_cast<size_t>(i)].forward; };
    };
    const Bounded result = Ops<Bounded>::Dot(n, forward(left), forward(right));
    if (result.integer) return {result, -1};
    Tape& tape = *environment.tape;
    const uint32_t first = tape.FirstEdge();
    double carried = 0.0;
    for (size_t i = 0; i < left.size(); ++i)
      carried += Share(left[i], right[i].forward.value) + Share(right[i], left[i].forward.value);
    return {result, tape.Push(Taped::Label(TapeOp::kDot), first, result.value, result.error - carried)};
  }
  static Taped DotRows(const RawRow& a, const RawRow& b) {
    const Bounded result = Ops<Bounded>::DotRows(a, b);
    if (result.integer) return {result, -1};
    Tape& tape = *environment.tape;
    return {result,
            tape.Push(Taped::Label(TapeOp::kDot), tape.FirstEdge(), result.value, result.error, a.tensor, b.tensor)};
  }

  template <class Term>
  static Taped Max(int64_t n, Term&& term) {
    Taped best(Bounded(-kNoBound, 0.0, true), -1);
    for (int64_t i = 0; i < n; ++i) best = Larger(best, term(i));
    return best;
  }
  template <class Term>
  static Choice ArgMax(int64_t n, Term&& term) {
    return Ops<Bounded>::ArgMax(n, [&](int64_t i) { return term(i).forward; });
  }

  template <class Term>
  static void Centred(int64_t n, Term&& term, Taped& mean, Taped& variance) {
    std::vector<Taped> terms;
    for (int64_t i = 0; i < n; ++i) terms.push_back(term(i));
    Bounded mu, square;
    Ops<Bounded>::Centred(
        n, [&](int64_t i) { return terms[static_cast<size_t>(i)].forward; }, mu, square);
    Tape& tape = *environment.tape;
    const double count = static_cast<double>(n);
    uint32_t first = tape.FirstEdge();
    double carried = 0.0;
    for (const Taped& t : terms) carried += Share(t, 1.0 / count);
    mean = {mu, tape.Push(Taped::Label(TapeOp::kMean), first, mu.value, mu.error - carried)};
    first = tape.FirstEdge();
    carried = 0.0;
    for (const Taped& t : terms) carried += Share(t, 2.0 * (t.forward.value - mu.value) / count);
    variance = {square, tape.Push(Taped::Label(TapeOp::kVariance), first, square.value, square.error - carried)};
  }

  static void SoftmaxFinish(const SoftmaxStore<Taped>& store, std::vector<Taped>& values, ExpSum<Taped>& sums);

  static Answer Report(const Taped& x, int tensor, int64_t element) {
    Tape& tape = *environment.tape;
    if (tensor < 0) return {0.0, 0.0, kAnswerSkipped};
    if (tape.explain) {
      if (tensor != tape.explain_tensor || element != tape.explain_element) return {0.0, 0.0, kAnswerSkipped};
    } else if (tape.ordinal++ % tape.stride != tape.phase) {
      return {0.0, 0.0, kAnswerSkipped};
    }
    tape.terms.clear();
    if (x.node < 0) return {x.forward.value, 0.0, 0};
    const double bound = tape.Sweep(x.node);
    if (tape.explain) tape.Explain(x.node);
    return {x.forward.value, bound < kNoBound ? bound : kNoBound, bound < kNoBound ? 0U : kAnswerExcluded};
  }
};

inline void Ops<Taped>::SoftmaxFinish(const SoftmaxStore<Taped>& store, std::vector<Taped>& values,
                                      ExpSum<Taped>& sums) {
  SoftmaxStore<Bounded> forward(store.width(), store.count());
  std::vector<Bounded> computed(static_cast<size_t>(store.width()));
  for (int64_t j = 0; j < store.count(); ++j) {
    if (store.raw()) {
      forward.Add(store.logit(j).forward, store.row(j));
      continue;
    }
    for (int64_t d = 0; d < store.width(); ++d) computed[static_cast<size_t>(d)] = store.value(j, d).forward;
    forward.Add(store.logit(j).forward, computed);
  }
  std::vector<Bounded> results;
  ExpSum<Bounded> found;
  Ops<Bounded>::SoftmaxFinish(forward, results, found);
  const std::vector<double> weights = environment.workspace->weights;
  Tape& tape = *environment.tape;
  values.clear();
  for (int64_t d = 0; d < store.width(); ++d) {
    const Bounded& result = results[static_cast<size_t>(d)];
    const uint32_t first = tape.FirstEdge();
    double carried = 0.0;
    for (int64_t j = 0; j < store.count(); ++j) {
      const double p = weights[static_cast<size_t>(j)];
      if (p == 0.0) continue;
      const Taped v = store.value(j, d);
      carried += Share(store.logit(j), p * (v.forward.value - result.value)) + Share(v, p);
    }
    values.push_back(
        {result, tape.Push(Taped::Label(TapeOp::kSoftmaxMean), first, result.value, result.error - carried)});
  }
  const auto push = [&](TapeOp op, const Bounded& result, double factor) {
    const uint32_t first = tape.FirstEdge();
    double carried = 0.0;
    for (int64_t j = 0; j < store.count(); ++j)
      carried += Share(store.logit(j), factor * weights[static_cast<size_t>(j)]);
    return Taped{result, tape.Push(Taped::Label(op), first, result.value, result.error - carried)};
  };
  sums.log = push(TapeOp::kLogSumExp, found.log, 1.0);
  sums.total = push(TapeOp::kSumExp, found.total, found.total.value);
  sums.top = Max(store.count(), [&](int64_t j) { return store.logit(j); });
}

}  // namespace assay
