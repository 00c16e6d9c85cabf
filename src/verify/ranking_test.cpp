// SPDX-License-Identifier: Apache-2.0
#include "verify/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr RankRule kLargest{true, TiePolicy::kLowest};
constexpr RankRule kLargestHighest{true, TiePolicy::kHighest};
constexpr RankRule kLargestAny{true, TiePolicy::kAny};
constexpr RankRule kSmallest{false, TiePolicy::kLowest};

std::vector<Key> Exact(std::initializer_list<double> values) {
  std::vector<Key> keys;
  for (const double value : values) keys.push_back({value, 0.0, true});
  return keys;
}
std::vector<Key> Within(std::initializer_list<double> values, double bound) {
  std::vector<Key> keys;
  for (const double value : values) keys.push_back({value, bound, false});
  return keys;
}

TEST(JudgeRanking, SettlesEveryKindOfRow) {
  constexpr auto kRight = ElementResult::kRight;
  constexpr auto kWrong = ElementResult::kWrong;
  constexpr auto kExcluded = ElementResult::kExcluded;
  struct Case {
    const char* name;
    RankRule rule;
    std::vector<Key> keys;
    std::vector<double> indices;
    ElementResult result;
    const char* because;
  };
  const Case cases[] = {
      {"the two largest", kLargest, Exact({1, 4, 3, 2}), {1, 2}, kRight, ""},
      {"the two smallest", kSmallest, Exact({1, 4, 3, 2}), {0, 3}, kRight, ""},
      {"in the wrong order", kLargest, Exact({1, 4, 3, 2}), {2, 1}, kWrong, "order of keys"},
      {"a better one left out", kLargest, Exact({1, 4, 3, 2}), {1, 3}, kWrong, "a better key left out"},
      {"the worst instead of the best", kLargest, Exact({1, 4, 3, 2}), {0}, kWrong, "a better key left out"},
      {"all of them, sorted", kLargest, Exact({1, 4, 3, 2}), {1, 2, 3, 0}, kRight, ""},
      {"all of them, the last two swapped", kLargest, Exact({1, 4, 3, 2}), {1, 2, 0, 3}, kWrong, "order of keys"},
      {"below the range", kLargest, Exact({1, 4}), {-1}, kWrong, "range"},
      {"above the range", kLargest, Exact({1, 4}), {2}, kWrong, "range"},
      {"no number", kLargest, Exact({1, 4}), {kNaN}, kWrong, "range"},
      {"twice the best", kLargest, Exact({1, 4, 4}), {1, 1}, kWrong, "an index twice"},
      {"equal keys, the lowest", kLargest, Exact({4, 1, 4}), {0}, kRight, ""},
      {"equal keys, the highest where the lowest is due",
       kLargest,
       Exact({4, 1, 4}),
       {2},
       kWrong,
       "order of equal keys"},
      {"equal keys, the highest where it is due", kLargestHighest, Exact({4, 1, 4}), {2}, kRight, ""},
      {"equal keys, the lowest where the highest is due",
       kLargestHighest,
       Exact({4, 1, 4}),
       {0},
       kWrong,
       "order of equal keys"},
      {"equal keys, any", kLargestAny, Exact({4, 1, 4}), {2}, kRight, ""},
      {"equal keys both chosen, out of order", kLargest, Exact({4, 1, 4}), {2, 0}, kWrong, "order of equal keys"},
      {"zeros of both signs are equal", kLargest, Exact({-0.0, 0.0}), {1}, kWrong, "order of equal keys"},
      {"three equal, the middle left out", kLargest, Exact({4, 4, 4}), {0, 2}, kWrong, "order of equal keys"},
      {"keys equal within their bounds, either first", kLargest, Within({1.0, 1.01, 0.0}, 0.01), {0, 1}, kRight, ""},
      {"keys apart by more than their bounds",
       kLargest,
       Within({1.0, 1.03, 0.0}, 0.01),
       {0, 1},
       kWrong,
       "order of keys"},
      {"left out though within the bounds", kLargest, Within({1.0, 1.01, 0.0}, 0.01), {0}, kRight, ""},
      {"left out beyond the bounds", kLargest, Within({1.0, 1.03, 0.0}, 0.01), {0}, kWrong, "a better key left out"},
      {"equal computed keys go either way", kLargest, Within({1.0, 1.0, 0.0}, 0.01), {1}, kRight, ""},
      {"an infinite key comes first", kLargest, Exact({1, kInf, 3}), {1, 2}, kRight, ""},
      {"an infinite key left out", kLargest, Exact({1, kInf, 3}), {2, 0}, kWrong, "a better key left out"},
      {"a key that is no number", kLargest, Exact({1, kNaN, 3}), {0}, kExcluded, ""},
      {"a key without a bound", kLargest, {{1, 0, true}, {2, kInf, false}}, {0}, kExcluded, ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const RankVerdict verdict = JudgeRanking(c.rule, c.keys, c.indices);
    EXPECT_EQ(verdict.result, c.result);
    if (c.result == kExcluded) continue;
    EXPECT_EQ(c.result == kWrong, verdict.ratio > 1.0);
    if (c.result == kWrong) {
      EXPECT_EQ(verdict.rule, c.because);
    }
  }
}

// Errors within the bound pass in any order that they bring about; twice the bound does not always.
TEST(JudgeRanking, AcceptsWhateverLegalErrorsMake) {
  Stream stream(Seed::FromNumber(5));
  int wrong_beyond = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<Key> keys, legal, illegal;
    for (int k = 0; k < 40; ++k) {
      const double value = stream.Normal(), noise = 2.0 * stream.Unit() - 1.0;
      keys.push_back({value, 0.1, false});
      legal.push_back({value + 0.0999 * noise, 0.0, false});
      illegal.push_back({value + 0.3 * noise, 0.0, false});
    }
    for (const size_t count : {size_t{1}, size_t{8}, size_t{40}}) {
      EXPECT_EQ(JudgeRanking(kLargest, keys, RankedIndices(kLargest, legal, count)).result, ElementResult::kRight);
      if (JudgeRanking(kLargest, keys, RankedIndices(kLargest, illegal, count)).result == ElementResult::kWrong)
        ++wrong_beyond;
    }
  }
  EXPECT_GT(wrong_beyond, 500);
}

TEST(RankedIndices, BreaksTiesByTheRule) {
  const std::vector<Key> keys = Exact({2, 5, 5, 1, 5});
  EXPECT_EQ(RankedIndices(kLargest, keys, 3), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(RankedIndices(kLargestHighest, keys, 2), (std::vector<double>{4, 2}));
  EXPECT_EQ(RankedIndices(kSmallest, keys, 2), (std::vector<double>{3, 0}));
}

}  // namespace
}  // namespace assay
