// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "contract/shape.h"
#include "contract/shape_search.h"

namespace assay {
namespace {

constexpr std::array<int64_t, 24> kPrimes = {2,  3,  5,  7,  11, 13, 17, 19,  23,  29,  31,  37,
                                             41, 47, 53, 61, 67, 79, 97, 113, 131, 191, 257, 509};
constexpr int64_t kRepairBudget = 4000;
constexpr int kShrinkSteps = 80;

bool Allowed(const Axis& axis, int64_t size) {
  return size >= axis.min && size <= axis.max && (axis.of.empty() || std::ranges::binary_search(axis.of, size));
}

// Sizes of one axis that have caught kernels before, each at most once.
std::vector<int64_t> Special(const Contract& contract, const Axis& axis, Stream& stream) {
  std::set<int64_t> sizes = {axis.min, 0, 1};
  for (const int64_t size : axis.of) sizes.insert(size);
  for (const int64_t near : axis.near) sizes.insert({near - 1, near, near + 1});
  // A few of them, or they would crowd out the rest.
  for (int i = 0; i < 4; ++i) sizes.insert(kPrimes[stream.Below(kPrimes.size())]);
  for (const Workload& workload : contract.workloads) {
    const auto found = workload.axes.find(axis.name);
    if (found != workload.axes.end()) sizes.insert({found->second - 1, found->second, found->second + 1});
  }
  std::erase_if(sizes, [&](int64_t size) { return !Allowed(axis, size); });
  return {sizes.begin(), sizes.end()};
}

template <typename T>
void Shuffle(std::vector<T>& list, Stream& stream) {
  for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[stream.Below(i)]);
}

class Drawer {
 public:
  Drawer(const Contract& contract, const ShapeLimits& limits, Stream& stream)
      : contract_(contract), limits_(limits), stream_(stream), search_(contract) {
    for (const Axis& axis : contract.axes) special_.push_back(Special(contract, axis, stream));
  }

  std::vector<Shape> Draw(int count) {
    std::vector<Shape> shapes;
    const auto add = [&](const std::optional<Shape>& shape) {
      if (shape && std::ranges::find(shapes, *shape) == shapes.end()) shapes.push_back(*shape);
    };
    std::vector<Feature> features = Features();
    size_t next = 0;
    const size_t wanted = static_cast<size_t>(std::max(count, 1));
    // Three tries per shape: small spaces run out of distinct shapes, and some features never fit.
    for (size_t tries = 0; shapes.size() + 1 < wanted && tries < 3 * wanted + features.size(); ++tries) {
      add(next < features.size() ? Around(features[next++]) : Around(std::nullopt));
    }
    add(Large());
    if (shapes.empty()) add(Smallest());
    return shapes;
  }

 private:
  struct Feature {
    size_t axis;
    int64_t size;
  };
  using Sizes = ShapeSearch::Sizes;

  // Every special size of every axis in random order; the empty sizes first, because a loop that
  // never runs is the most forgotten case.
  std::vector<Feature> Features() {
    std::vector<Feature> features;
    for (size_t a = 0; a < special_.size(); ++a) {
      for (const int64_t size : special_[a]) features.push_back({a, size});
    }
    Shuffle(features, stream_);
    std::stable_partition(features.begin(), features.end(), [](const Feature& feature) { return feature.size == 0; });
    return features;
  }

  int64_t LogUniform(int64_t low, int64_t high) {
    const double from = std::log(static_cast<double>(std::max<int64_t>(low, 1))),
                 to = std::log(static_cast<double>(std::max<int64_t>(high, 1)));
    return std::clamp(static_cast<int64_t>(std::llround(std::exp(from + (to - from) * stream_.Unit()))), low, high);
  }

  int64_t DrawSize(size_t a, int64_t cap) {
    const Axis& axis = contract_.axes[a];
    std::vector<int64_t> fitting;
    for (const int64_t size : special_[a]) {
      if (size <= cap) fitting.push_back(size);
    }
    const uint64_t kind = stream_.Below(4);
    if (!axis.of.empty() || (kind <= 1 && !fitting.empty()))
      return fitting.empty() ? axis.min : fitting[stream_.Below(fitting.size())];
    const int64_t high = std::max(axis.min, kind == 2 ? std::min<int64_t>(cap, 9) : cap);
    return LogUniform(std::max<int64_t>(axis.min, 1) <= high ? std::max<int64_t>(axis.min, 1) : axis.min, high);
  }

  // Sizes to fall back on when the drawn ones do not meet `require`: what other axes suggest
  // (equal, multiples, divisors), then the special ones in random order.
  Sizes Fallbacks(size_t a, const Sizes& drawn, int64_t cap) {
    Sizes list;
    for (size_t other = 0; other < drawn.size(); ++other) {
      const int64_t size = drawn[other];
      if (other == a || size <= 0) continue;
      list.insert(list.end(), {size, 2 * size, 3 * size, 4 * size, size / 2, size - 1, size + 1});
      for (int64_t divisor = 3; divisor < 12; ++divisor) {
        if (size % divisor == 0) list.push_back(size / divisor);
      }
    }
    list.insert(list.end(), special_[a].begin(), special_[a].end());
    for (int64_t small = 0; small < 16; ++small) list.push_back(contract_.axes[a].min + small);
    Shuffle(list, stream_);
    list.insert(list.begin(), drawn[a]);
    std::set<int64_t> seen;
    std::erase_if(list, [&](int64_t size) {
      return !Allowed(contract_.axes[a], size) || size > cap || !seen.insert(size).second;
    });
    if (list.empty()) list.push_back(contract_.axes[a].min);
    return list;
  }

  std::optional<Sizes> Repaired(const Sizes& drawn, const Sizes& caps, const std::optional<Feature>& feature) {
    ShapeSearch::Candidates candidates;
    for (size_t a = 0; a < drawn.size(); ++a) {
      candidates.push_back(feature && feature->axis == a ? Sizes{feature->size} : Fallbacks(a, drawn, caps[a]));
    }
    std::vector<size_t> order;
    for (size_t a = 0; a < drawn.size(); ++a) order.push_back(a);
    Shuffle(order, stream_);
    return search_.Find(candidates, kRepairBudget, {}, order).sizes;
  }

  std::map<std::string, int64_t> Axes(const Sizes& sizes) const {
    std::map<std::string, int64_t> axes;
    for (size_t a = 0; a < sizes.size(); ++a) axes[contract_.axes[a].name] = sizes[a];
    return axes;
  }

  bool Fits(const Shape& shape) const {
    double bytes = 0;
    for (const Tensor& tensor : contract_.tensors) {
      const Result<TensorLayout> layout = LayoutOf(contract_, tensor, shape);
      if (!layout.ok()) return false;
      bytes += static_cast<double>(layout.value().byte_span);
    }
    // Without a cost, the bytes are all that is known about the work.
    const Result<double> operations = Operations(contract_, shape);
    return bytes <= limits_.bytes && (!operations.ok() || operations.value() <= limits_.flops);
  }

  // The shape with strides and absent tensors drawn, if it is legal and fits.
  std::optional<Shape> Finished(const Sizes& sizes) {
    std::map<std::string, int64_t> pads;
    for (const ArgumentRef& argument : contract_.arguments) {
      constexpr std::array<int64_t, 10> kPads = {1, 2, 3, 4, 8, 16, 17, 32, 63, 64};
      if (argument.kind == ArgumentKind::kStride && stream_.Below(2) == 0)
        pads[argument.name] = kPads[stream_.Below(kPads.size())];
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
      Result<Shape> shape = PaddedShape(contract_, Axes(sizes), pads);
      if (shape.ok() && Fits(shape.value()) && Legal(contract_, shape.value())) {
        for (const Tensor& tensor : contract_.tensors) {
          if (tensor.optional && stream_.Below(2) == 0) shape.value().absent_tensors.insert(tensor.name);
        }
        DrawAliases(shape.value());
        return std::move(shape).value();
      }
      pads.clear();
    }
    return std::nullopt;
  }

  // An input lends its memory to one output at most.
  void DrawAliases(Shape& shape) {
    std::set<std::string> lent;
    for (const Tensor& output : contract_.tensors) {
      if (output.role != Role::kOut) continue;
      for (const Tensor& input : contract_.tensors) {
        if (input.role != Role::kIn || lent.contains(input.name) || shape.aliases.contains(output.name)) continue;
        if (!MayShare(contract_, output, input, shape) || stream_.Below(2) == 0) continue;
        shape.aliases[output.name] = input.name;
        lent.insert(input.name);
      }
    }
  }

  bool FitsDense(const Sizes& sizes) const {
    const Result<Shape> shape = DenseShape(contract_, Axes(sizes));
    return shape.ok() && Fits(shape.value());
  }

  // Halves random axes until the work fits, keeping the feature.
  std::optional<Sizes> Shrunk(Sizes drawn, const std::optional<Feature>& feature) {
    Sizes caps;
    for (const Axis& axis : contract_.axes) caps.push_back(axis.max);
    for (int step = 0; step < kShrinkSteps; ++step) {
      std::optional<Sizes> sizes = Repaired(drawn, caps, feature);
      if (sizes && FitsDense(*sizes)) return sizes;
      std::vector<size_t> shrinkable;
      const Sizes& now = sizes ? *sizes : drawn;
      for (size_t a = 0; a < drawn.size(); ++a) {
        if (!(feature && feature->axis == a) && caps[a] > contract_.axes[a].min) shrinkable.push_back(a);
      }
      if (shrinkable.empty()) return std::nullopt;
      const size_t a = shrinkable[stream_.Below(shrinkable.size())];
      caps[a] = std::max(contract_.axes[a].min, std::min(caps[a], now[a]) / 2);
      drawn = now;
      drawn[a] = std::min(now[a], caps[a]);
    }
    return std::nullopt;
  }

  std::optional<Shape> Around(std::optional<Feature> feature) {
    Sizes drawn;
    for (size_t a = 0; a < special_.size(); ++a)
      drawn.push_back(feature && feature->axis == a ? feature->size : DrawSize(a, contract_.axes[a].max));
    const std::optional<Sizes> sizes = Shrunk(drawn, feature);
    return sizes ? Finished(*sizes) : std::nullopt;
  }

  // A workload made small enough, or grown while it fits, and moved off its round sizes.
  std::optional<Shape> Large() {
    Sizes drawn;
    const Workload& workload = contract_.workloads[stream_.Below(contract_.workloads.size())];
    for (const Axis& axis : contract_.axes) drawn.push_back(workload.axes.at(axis.name));
    std::optional<Sizes> sizes = Shrunk(drawn, std::nullopt);
    if (!sizes) return std::nullopt;
    for (int step = 0; step < kShrinkSteps; ++step) {
      Sizes larger = *sizes;
      const size_t a = drawn.empty() ? 0 : static_cast<size_t>(stream_.Below(drawn.size()));
      if (drawn.empty()) break;
      const Axis& axis = contract_.axes[a];
      // Most growth is by factors; the last steps are by one, off the round sizes.
      larger[a] += step < kShrinkSteps / 2 ? std::max<int64_t>(larger[a] / 2, 1) : 1;
      if (Allowed(axis, larger[a]) && Holds(larger) && FitsDense(larger)) sizes = larger;
    }
    return Finished(*sizes);
  }

  bool Holds(const Sizes& sizes) const {
    ShapeSearch::Candidates candidates;
    for (const int64_t size : sizes) candidates.push_back({size});
    return search_.Find(candidates, kRepairBudget).sizes.has_value();
  }

  // When nothing fits the limits: the workload with the least work, so that there is always a shape.
  std::optional<Shape> Smallest() const {
    std::optional<Shape> smallest;
    double least = 0;
    for (const Workload& workload : contract_.workloads) {
      const Result<Shape> shape = WorkloadShape(contract_, workload);
      const double work = shape.ok() ? BytesTouched(contract_, shape.value()).value() : 0;
      if (shape.ok() && (!smallest || work < least)) {
        smallest = shape.value();
        least = work;
      }
    }
    return smallest;
  }

  const Contract& contract_;
  const ShapeLimits limits_;
  Stream& stream_;
  const ShapeSearch search_;
  std::vector<std::vector<int64_t>> special_;  // per axis
};

}  // namespace

std::vector<Shape> DrawShapes(const Contract& contract, int count, const ShapeLimits& limits, Stream& stream) {
  return Drawer(contract, limits, stream).Draw(count);
}

}  // namespace assay
