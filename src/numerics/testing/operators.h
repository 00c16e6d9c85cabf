// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a few operators as an author would write them, and the data that tries them.

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "numerics/testing/reference_run.h"

namespace assay::testing {

struct DotReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    a.out("y", r) = Dot(a.row("x", r), a.row("w", r));
  }
};

// The same in a loop, as somebody's own kernel has it.
struct LoopDotReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const auto x = a.row("x", r), w = a.row("w", r);
    Real sum = 0.0;
    for (int64_t i = 0; i < x.size(); ++i) sum += x[i] * w[i];
    a.out("y", r) = sum;
  }
};

// One row of softmax(q k) v; keys are the second index of k and v.
struct AttentionReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const int64_t keys = a.axis("T"), width = a.axis("D");
    const auto q = a.row("q", r);
    const Real scale = a.scalar("scale");
    SoftmaxMean<Real> out(width, keys);
    for (int64_t j = 0; j < keys; ++j) out.add(Dot(q, a.row("k", r, j)) * scale, a.row("v", r, j));
    for (int64_t d = 0; d < width; ++d) a.out("o", r, d) = out.value(d);
    a.out("lse", r) = out.log_sum_exp();
  }
};

// The same from scalars alone, as an author would write who does not know the primitive.
struct PlainAttentionReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const int64_t keys = a.axis("T"), width = a.axis("D");
    const Real scale = a.scalar("scale");
    std::vector<Real> weights;
    for (int64_t j = 0; j < keys; ++j) weights.push_back(Dot(a.row("q", r), a.row("k", r, j)) * scale);
    const Real top = Max(weights);
    for (Real& w : weights) w = assay::exp(Real(w - top));
    const Real total = Sum(weights);
    for (int64_t d = 0; d < width; ++d) a.out("o", r, d) = Real(Dot(weights, a.row("v", r, all, d)) / total);
    a.out("lse", r) = Real(top + assay::log(total));
  }
};

struct RmsNormReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const auto x = a.row("x", r);
    const auto w = a.row("w", r);
    const Real inverse = rsqrt(Real(Dot(x, x) / Real(static_cast<double>(x.size())) + Real(1e-6)));
    for (int64_t c = 0; c < x.size(); ++c) a.out("y", r, c) = x[c] * inverse * w[c];
  }
};

struct LayerNormReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const auto x = a.row("x", r);
    const auto moments = CentredMoments(x);
    const Real inverse = rsqrt(Real(moments.variance + Real(1e-5)));
    for (int64_t c = 0; c < x.size(); ++c) a.out("y", r, c) = (x[c] - moments.mean) * inverse;
  }
};

struct LogSumExpReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    a.out("y", r) = LogSumExp(a.row("x", r));
  }
};

// A probability, so that maximum and total both count.
struct SumExpReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const auto x = a.row("x", r);
    const auto sum = SumExp(x);
    a.out("y", r) = exp(Real(x[x.size() / 2] - sum.top)) / sum.total;
  }
};

// The value regimes of the design, as far as one row is concerned.
enum class Data { kNormal, kConstant, kLarge, kOffset100, kOffset1e4, kOutliers, kAscending, kLadder, kTiny };
inline constexpr std::pair<Data, const char*> kAllData[] = {
    {Data::kNormal, "normal"},        {Data::kConstant, "constant"},    {Data::kLarge, "large"},
    {Data::kOffset100, "offset 100"}, {Data::kOffset1e4, "offset 1e4"}, {Data::kOutliers, "outliers"},
    {Data::kAscending, "ascending"},  {Data::kLadder, "ladder"},        {Data::kTiny, "near underflow"},
};

// `row` is the length of one row; what depends on the row (a ladder's magnitude) is drawn for each.
inline std::vector<double> Draw(Data data, size_t count, size_t row, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  double magnitude = 1.0;
  for (size_t i = 0; i < count; ++i) {
    const double n = normal(random);
    if (i % row == 0) magnitude = std::pow(10.0, 8.0 * static_cast<double>(random() % 1000) / 1000.0 - 4.0);
    switch (data) {
      case Data::kNormal:
        values[i] = n;
        break;
      case Data::kConstant:
        values[i] = 0.1;
        break;
      case Data::kLarge:
        values[i] = 4.0 * n;
        break;
      case Data::kOffset100:
        values[i] = n + 100.0;
        break;
      case Data::kOffset1e4:
        values[i] = n + 1e4;
        break;
      case Data::kOutliers:
        values[i] = random() % 1000 == 0 ? 1000.0 * n : n;
        break;
      case Data::kAscending:
        values[i] = 2.0 * static_cast<double>(i % row) / static_cast<double>(row) - 1.0;
        break;
      case Data::kLadder:
        values[i] = magnitude * n;
        break;
      case Data::kTiny:
        values[i] = 1e-24 * n;
        break;
    }
    values[i] = static_cast<double>(static_cast<float>(values[i]));
  }
  return values;
}

inline void AllSlices(ReferenceRun& run, int64_t rows) {
  run.query.slice_rank = 1;
  for (int64_t r = 0; r < rows; ++r) run.query.slices.push_back(r);
}

// Two inputs x and w of rows x width and one output y, per row or per element.
inline ReferenceRun Rows(Data data, int64_t rows, int64_t width, bool per_element, uint64_t seed) {
  ReferenceRun run;
  const auto count = static_cast<size_t>(rows * width), row = static_cast<size_t>(width);
  run.In("x", DType::kF32, {rows, width}, Draw(data, count, row, seed));
  run.In("w", DType::kF32, {rows, width}, Draw(data, count, row, seed + 1));
  run.Out("y", DType::kF32, per_element ? std::vector<int64_t>{rows, width} : std::vector<int64_t>{rows});
  AllSlices(run, rows);
  return run;
}

inline ReferenceRun Attention(Data keys, Data values, int64_t rows, int64_t length, int64_t width, uint64_t seed) {
  ReferenceRun run;
  const auto w = static_cast<size_t>(width), all_keys = static_cast<size_t>(rows * length * width);
  run.Axis("T", length);
  run.Axis("D", width);
  run.Scalar("scale", static_cast<double>(1.0F / std::sqrt(static_cast<float>(width))));
  run.In("q", DType::kF32, {rows, width}, Draw(keys, static_cast<size_t>(rows) * w, w, seed));
  run.In("k", DType::kF32, {rows, length, width}, Draw(keys, all_keys, w, seed + 1));
  run.In("v", DType::kF32, {rows, length, width}, Draw(values, all_keys, w, seed + 2));
  run.Out("o", DType::kF32, {rows, width});
  run.Out("lse", DType::kF32, {rows});
  AllSlices(run, rows);
  return run;
}

}  // namespace assay::testing
