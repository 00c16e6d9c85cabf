// SPDX-License-Identifier: Apache-2.0
#include "verify/chance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"

namespace assay {
namespace {

constexpr OutputRule kF32{CompareClass::kStochastic, DType::kF32, DType::kF32, false};

ExpectedElement Chance(double kept, double otherwise, double probability) {
  ExpectedElement expected{kept, 1e-6};
  expected.other = otherwise;
  expected.scale = 0.0;
  expected.probability = probability;
  return expected;
}

TEST(JudgeSupport, KnowsBothValuesAndNoOther) {
  constexpr auto kRight = ElementResult::kRight;
  constexpr auto kWrong = ElementResult::kWrong;
  EXPECT_EQ(JudgeSupport(kF32, Chance(2, 0, 0.5), 2).result, kRight);
  EXPECT_EQ(JudgeSupport(kF32, Chance(2, 0, 0.5), 0).result, kRight);
  EXPECT_EQ(JudgeSupport(kF32, Chance(2, 0, 0.5), 1).result, kWrong);
  EXPECT_EQ(JudgeSupport(kF32, Chance(2, 0, 0.5), std::nan("")).result, kWrong);
  EXPECT_EQ(JudgeSupport(kF32, Chance(2, 0, 1.0), 0).result, kWrong);
  EXPECT_EQ(JudgeSupport(kF32, Chance(2, 0, 0.0), 2).result, kWrong);
  EXPECT_EQ(JudgeSupport(kF32, Chance(2, 0, std::nan("")), 2).result, ElementResult::kExcluded);
}

using Keeps = std::function<bool(int slice, int i, double value, Stream& stream)>;

std::vector<DrawnSlice> Drawn(double p, const Keeps& keeps, int slices = 32, int length = 512, uint64_t seed = 1) {
  Stream stream(Seed::FromNumber(seed));
  std::vector<DrawnSlice> drawn;
  for (int s = 0; s < slices; ++s) {
    DrawnSlice slice;
    slice.slice = s;
    for (int i = 0; i < length; ++i) {
      const double value = 1.0 + stream.Normal();
      slice.Add(kF32, Chance(value, 0.0, p), s * length + i, keeps(s, i, value, stream) ? value : 0.0);
    }
    drawn.push_back(std::move(slice));
  }
  return drawn;
}

TEST(JudgeDraws, AcceptsRealDraws) {
  for (const double p : {0.9, 0.5, 0.1, 0.01}) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      const auto drawn = Drawn(
          p, [&](int, int, double, Stream& s) { return s.Unit() < p; }, 32, 512, seed);
      const PrecisionVerdict verdict = JudgeDraws(drawn);
      EXPECT_TRUE(verdict.ok) << p << ": " << verdict.rule << " " << verdict.worst;
      EXPECT_LT(verdict.worst, 1.0);
    }
  }
}

TEST(JudgeDraws, RefusesWhatOnlyLooksRandom) {
  struct Case {
    const char* name;
    Keeps keeps;
  };
  const Case cases[] = {
      {"keeps everything", [](int, int, double, Stream&) { return true; }},
      {"keeps five percent too much", [](int, int, double, Stream& s) { return s.Unit() < 0.55; }},
      {"every second one", [](int, int i, double, Stream&) { return i % 2 == 0; }},
      {"a period of 64", [](int, int i, double, Stream&) { return (i % 64 * 2654435761U >> 7) % 2 == 0; }},
      {"the same mask in each slice", [](int, int i, double, Stream&) { return (i * 2654435761U >> 13) % 2 == 0; }},
      {"drops what is small", [](int, int, double x, Stream&) { return std::abs(x) > 1.05; }},
      {"drops what is negative more often",
       [](int, int, double x, Stream& s) { return s.Unit() < (x < 0 ? 0.3 : 0.55); }},
      {"the same in pairs",
       [last = false](int, int i, double, Stream& s) mutable {
         if (i % 2 == 0) last = s.Unit() < 0.5;
         return last;
       }},
      {"exactly half of each sixty-four",
       [left = 0, kept = 0](int, int i, double, Stream& s) mutable {
         if (i % 64 == 0) left = 64, kept = 32;
         const bool keep = s.Unit() * left < kept;
         --left;
         kept -= keep ? 1 : 0;
         return keep;
       }},
  };
  for (const Case& c : cases) {
    const PrecisionVerdict verdict = JudgeDraws(Drawn(0.5, c.keeps));
    EXPECT_FALSE(verdict.ok) << c.name << " " << verdict.rule << " " << verdict.worst;
  }
}

// As many kept as dropped, and as many large as small: only the sign of the data tells.
TEST(JudgeDraws, SeesWhatHangsOnTheSignAlone) {
  Stream stream(Seed::FromNumber(3));
  DrawnSlice slice;
  for (int i = 0; i < 16384; ++i) {
    const double value = stream.Unit() < 0.5 ? 1.0 : -1.0;
    const bool keeps = stream.Unit() < (value > 0 ? 0.6 : 0.4);
    slice.Add(kF32, Chance(value, 0.0, 0.5), i, keeps ? value : 0.0);
  }
  const PrecisionVerdict verdict = JudgeDraws(std::span(&slice, 1));
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.rule, "dependence on the sign of the data");
}

// Neighbours have nothing in common, every seventh has.
TEST(JudgeDraws, SeesRepetitionsThatLieApart) {
  std::vector<bool> kept;
  const auto drawn = Drawn(0.5, [&](int, int, double, Stream& s) {
    const bool fresh = kept.size() < 7 || s.Unit() < 0.5;
    kept.push_back(fresh ? s.Unit() < 0.5 : kept[kept.size() - 7]);
    return static_cast<bool>(kept.back());
  });
  const PrecisionVerdict verdict = JudgeDraws(drawn);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.rule, "repetition along the sequence");
  EXPECT_EQ(verdict.slice, 7);
}

TEST(JudgeApart, ComparesSeedsElementByElement) {
  const auto one = Drawn(
      0.5, [](int, int, double, Stream& s) { return s.Unit() < 0.5; }, 1, 4096, 1);
  const auto other = Drawn(
      0.5, [](int, int, double, Stream& s) { return s.Unit() < 0.5; }, 1, 4096, 2);
  EXPECT_TRUE(JudgeApart(one[0].draws, other[0].draws).ok);
  EXPECT_FALSE(JudgeApart(one[0].draws, one[0].draws).ok);
  std::vector<ChanceDraw> some;
  for (size_t i = 0; i < other[0].draws.size(); i += 3) some.push_back(one[0].draws[i]);
  EXPECT_FALSE(JudgeApart(other[0].draws, std::vector<ChanceDraw>()).worst > 0.0);
  EXPECT_FALSE(JudgeApart(one[0].draws, some).ok) << "a third of the elements is enough";
}

// Three draws in a hundred too many is less than one call of this size can tell, and not less than forty can.
TEST(AllDraws, ABiasThatOneCallHidesAddsUp) {
  const auto drawn = [](double kept, uint64_t seed) {
    return Drawn(
        0.5, [kept](int, int, double, Stream& s) { return s.Unit() < kept; }, 1, 16384, seed);
  };
  AllDraws honest, biased;
  bool refused = false;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const std::vector<double> seeds{static_cast<double>(seed)};
    EXPECT_TRUE(honest.Add(0, seeds, "n=16384", drawn(0.5, seed)[0].draws).ok);
    const auto more = drawn(0.515, seed);
    EXPECT_TRUE(JudgeDraws(more).ok) << "alone it looks honest";
    const PrecisionVerdict verdict = biased.Add(0, seeds, "n=16384", more[0].draws);
    refused = refused || !verdict.ok;
  }
  EXPECT_TRUE(refused);
}

TEST(AllDraws, TheSameMaskIsOneDraw) {
  const auto once = Drawn(
      0.5, [](int, int, double, Stream& s) { return s.Unit() < 0.52; }, 1, 16384, 3);
  ASSERT_TRUE(JudgeDraws(once).ok);
  AllDraws seen;
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(seen.Add(0, {7.0}, "n=16384", once[0].draws).ok) << "looked at again";
    EXPECT_TRUE(seen.Add(0, {7.0}, "n=8192", std::span(once[0].draws).first(8192)).ok) << "under the same seed";
  }
  // Later places of one call are draws of their own.
  AllDraws parts;
  const std::span<const ChanceDraw> all(once[0].draws);
  EXPECT_TRUE(parts.Add(0, {7.0}, "n=16384", all.first(8192)).ok);
  EXPECT_GT(parts.Add(0, {7.0}, "n=16384", all.subspan(8192)).worst, 0.0);
  EXPECT_EQ(parts.Add(0, {7.0}, "n=16384", all.subspan(8192)).worst, 0.0);
}

}  // namespace
}  // namespace assay
