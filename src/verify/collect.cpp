// SPDX-License-Identifier: Apache-2.0
#include "verify/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Collector {
 public:
  Collector(const Contract& contract, const Shape& shape, const OracleAnswer& answer, std::optional<size_t> own)
      : contract_(contract), shape_(shape), answer_(answer), own_(own) {}

  Result<Collected> Run() {
    ASSAY_TRY_STATUS(FindRankings());
    size_t published = 0;
    for (size_t s = 0; s + 1 < answer_.slice_begin.size(); ++s) {
      collected_.begin.push_back(collected_.elements.size());
      for (const OracleOutput& output : answer_.slice(s)) ASSAY_TRY_STATUS(Take(output));
      const size_t first = published;
      while (published < answer_.published.size() && answer_.published[published].slice == s) ++published;
      ASSAY_TRY_STATUS(Rank(s, std::span(answer_.published).subspan(first, published - first)));
    }
    collected_.begin.push_back(collected_.elements.size());
    return std::move(collected_);
  }

 private:
  struct Ranking {
    size_t tensor;
    TensorLayout layout;
  };

  bool Belongs(const Tensor& tensor) const {
    return tensor.compare->own_slice ? own_ && &contract_.tensors[*own_] == &tensor : !own_;
  }

  Status FindRankings() {
    for (size_t t = 0; t < contract_.tensors.size(); ++t) {
      const Tensor& tensor = contract_.tensors[t];
      if (!tensor.compare || tensor.compare->kind != CompareClass::kIndex || !Belongs(tensor)) continue;
      if (shape_.absent_tensors.contains(tensor.name)) continue;
      ASSAY_TRY(TensorLayout layout, LayoutOf(contract_, tensor, shape_));
      rankings_.push_back({t, std::move(layout)});
    }
    return Ok();
  }

  Status Take(const OracleOutput& output) {
    const auto t = static_cast<size_t>(output.tensor);
    if (t >= contract_.tensors.size() || !contract_.tensors[t].compare) {
      return Error{ErrorCode::kCorrupt, contract_.name + ": the reference answered for a tensor that is no output"};
    }
    const Tensor& tensor = contract_.tensors[t];
    // What stands for an index are its keys.
    if (!Belongs(tensor) || tensor.compare->kind == CompareClass::kIndex) return Ok();
    if (output.part == 0 || collected_.elements.empty() || collected_.elements.back().tensor != t ||
        collected_.elements.back().offset != output.element) {
      collected_.elements.push_back({t, output.element, {}});
    }
    ExpectedElement& expected = collected_.elements.back().expected;
    // A residual is made of the answer itself: one without end or number must not excuse its equation.
    const bool excused = tensor.compare->kind != CompareClass::kSolve || contract_.policy.special_propagates;
    expected.no_information = expected.no_information || (excused && output.excluded) || output.ambiguous;
    switch (output.part) {
      case 0:
        expected.value = output.value;
        expected.bound = output.bound;
        expected.exact = output.exact;
        break;
      case 1:
        expected.other = output.value;
        expected.scale = output.bound;
        break;
      default:
        expected.probability = output.value;
        break;
    }
    return Ok();
  }

  // The rows of every index output that this slice's keys belong to.
  Status Rank(size_t slice, std::span<const OraclePublished> published) {
    for (const Ranking& ranking : rankings_) {
      const Tensor& tensor = contract_.tensors[ranking.tensor];
      std::map<std::vector<int64_t>, std::vector<std::pair<int64_t, Key>>> rows;
      auto row = rows.end();
      for (const OraclePublished& p : published) {
        if (p.name != tensor.compare->keys) continue;
        if (p.index.empty()) return Wrong(tensor, "needs the indices of its key");
        const Key key{p.value, p.exact ? 0.0 : p.excluded || p.ambiguous ? kInfinity : p.bound, p.exact};
        // Keys of a row come together: long rows would else be looked up a hundred thousand times.
        if (row == rows.end() || !std::equal(row->first.begin(), row->first.end(), p.index.begin(), p.index.end() - 1))
          row = rows.try_emplace({p.index.begin(), p.index.end() - 1}).first;
        row->second.emplace_back(p.index.back(), key);
      }
      if (rows.empty()) return Wrong(tensor, "is published in no call of the reference");
      for (auto& [leading, keys] : rows) ASSAY_TRY_STATUS(AddRow(ranking, slice, leading, std::move(keys)));
    }
    return Ok();
  }

  Status AddRow(const Ranking& ranking, size_t slice, const std::vector<int64_t>& leading,
                std::vector<std::pair<int64_t, Key>> keys) {
    const Tensor& tensor = contract_.tensors[ranking.tensor];
    const size_t rank = ranking.layout.extents.size();
    const bool single = leading.size() == rank;
    if (!single && leading.size() + 1 != rank) {
      return Wrong(tensor, fmt::format("has {} indices, {} or {} are needed", leading.size() + 1, rank, rank + 1));
    }
    const auto number = [](const auto& entry) { return entry.first; };
    if (!std::ranges::is_sorted(keys, {}, number)) std::ranges::sort(keys, {}, number);
    RankedRow row;
    row.tensor = ranking.tensor;
    row.slice = slice;
    row.first = collected_.elements.size();
    row.keys.reserve(keys.size());
    for (size_t k = 0; k < keys.size(); ++k) {
      if (keys[k].first != static_cast<int64_t>(k)) return Wrong(tensor, fmt::format("lacks or repeats key {}", k));
      row.keys.push_back(keys[k].second);
    }
    std::vector<int64_t> index = leading;
    for (size_t d = 0; d < leading.size(); ++d) {
      if (leading[d] < 0 || leading[d] >= ranking.layout.extents[d])
        return Wrong(tensor, fmt::format("has index {} where {} are", leading[d], ranking.layout.extents[d]));
    }
    const int64_t count = single ? 1 : ranking.layout.extents.back();
    row.count = static_cast<size_t>(count);
    const std::vector<double> best = RankedIndices(RankRuleOf(*tensor.compare), row.keys, row.count);
    if (!single) index.push_back(0);
    for (int64_t p = 0; p < count; ++p) {
      if (!single) index.back() = p;
      collected_.elements.push_back(
          {ranking.tensor, ElementOffset(ranking.layout, index), {best[static_cast<size_t>(p)], 0.0, true, false}});
    }
    collected_.rows.push_back(std::move(row));
    return Ok();
  }

  Error Wrong(const Tensor& tensor, const std::string& what) const {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("{}: \"{}\", the keys of {}, {}; write a.publish(\"{}\", indices..., key, value)",
                    contract_.reference.string(), tensor.compare->keys, tensor.name, what, tensor.compare->keys)};
  }

  const Contract& contract_;
  const Shape& shape_;
  const OracleAnswer& answer_;
  std::optional<size_t> own_;
  std::vector<Ranking> rankings_;
  Collected collected_;
};

}  // namespace

Result<Collected> Collect(const Contract& contract, const Shape& shape, const OracleAnswer& answer,
                          std::optional<size_t> own) {
  return Collector(contract, shape, answer, own).Run();
}

}  // namespace assay
