// SPDX-License-Identifier: Apache-2.0
#include "search/legal_set.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace assay {
namespace {

Expression Parse(const std::string& text) {
  auto parsed = Expression::Parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return std::move(parsed).value();
}

Knob Numbers(const char* name, int from, int to, const char* only_if = "") {
  Knob knob{name, {}, true, std::to_string(from), {}};
  for (int value = from; value <= to; ++value) knob.values.push_back(std::to_string(value));
  if (*only_if != '\0') knob.only_if = Parse(only_if);
  return knob;
}

using Setting = std::vector<uint16_t>;

std::vector<Setting> All(const LegalSet& set) {
  std::vector<Setting> all;
  for (size_t i = 0; i < set.size(); ++i) all.emplace_back(set.At(i).begin(), set.At(i).end());
  return all;
}

// Against the plain product of all values: conditions on two, on three knobs, a knob that hangs on another one, which
// is written behind it, and one that hangs on that.
TEST(LegalSet, IsWhatThePlainProductLeaves) {
  Template t;
  t.knobs = {Numbers("AA", 0, 3, "BB > 2"),
             Numbers("BB", 0, 5),
             Numbers("CC", 0, 4),
             Numbers("DD", 0, 3, "AA == 2"),
             {"WORD", {"none", "some"}, false, "none", {}}};
  t.when = {Parse("BB + CC != 6"), Parse("AA * CC <= 6"), Parse("WORD == 'none' or CC % 2 == 0"),
            Parse("DD != CC or DD == 0")};
  std::vector<Setting> expected;
  for (uint16_t a = 0; a < 4; ++a)
    for (uint16_t b = 0; b < 6; ++b)
      for (uint16_t c = 0; c < 5; ++c)
        for (uint16_t d = 0; d < 4; ++d)
          for (uint16_t w = 0; w < 2; ++w) {
            const bool normal = (b > 2 || a == 0) && (a == 2 || d == 0);
            const bool legal = b + c != 6 && a * c <= 6 && (w == 0 || c % 2 == 0) && (d != c || d == 0);
            if (normal && legal) expected.push_back({a, b, c, d, w});
          }
  const auto set = LegalSet::Of(t);
  ASSERT_TRUE(set.ok()) << set.error().message;
  ASSERT_TRUE(set.value().enumerated());
  EXPECT_EQ(All(set.value()), expected);
  EXPECT_GT(expected.size(), 100U);
  for (const Setting& one : expected) EXPECT_TRUE(set.value().Contains(one));
  EXPECT_FALSE(set.value().Contains(Setting{0, 4, 2, 0, 0}));  // BB + CC == 6
  EXPECT_FALSE(set.value().Contains(Setting{3, 1, 0, 0, 0}));  // AA is switched off
  Setting off{3, 1, 0, 3, 1};
  set.value().Normalise(off);
  EXPECT_EQ(off, (Setting{0, 1, 0, 0, 1}));
}

TEST(LegalSet, DrawsAreUniformOverLegalSettings) {
  Template t;
  t.knobs = {Numbers("AA", 0, 9), Numbers("BB", 0, 9)};
  t.when = {Parse("AA == 0 or BB == 0")};  // 19 of 100; the first knob's values are not equally frequent
  const LegalSet set = std::move(LegalSet::Of(t)).value();
  ASSERT_EQ(set.size(), 19U);
  Stream stream(Seed::FromNumber(1));
  std::map<Setting, int> seen;
  for (int i = 0; i < 19'000; ++i) seen[*set.Random(stream)] += 1;
  EXPECT_EQ(seen.size(), 19U);
  for (const auto& [setting, times] : seen) EXPECT_NEAR(times, 1000, 160) << setting[0] << " " << setting[1];
}

// One in ten thousand: a walk finds them all at once, where draws by rejection would give up.
TEST(LegalSet, ConditionsAreLookedAtAsSoonAsTheyCanBe) {
  Template t;
  for (int k = 0; k < 12; ++k) t.knobs.push_back(Numbers(("K" + std::to_string(k)).c_str(), 0, 9));
  for (int k = 0; k + 1 < 12; ++k) t.when.push_back(Parse("K" + std::to_string(k) + " == K" + std::to_string(k + 1)));
  const auto set = LegalSet::Of(t);
  ASSERT_TRUE(set.ok());
  ASSERT_TRUE(set.value().enumerated());
  EXPECT_EQ(set.value().size(), 10U);  // of 10^12
}

TEST(LegalSet, TooManyToKeepAreStillDrawnLegally) {
  Template t;
  for (int k = 0; k < 9; ++k) t.knobs.push_back(Numbers(("K" + std::to_string(k)).c_str(), 0, 9));
  t.when = {Parse("K0 + K1 + K2 == 3"), Parse("K3 == K4"), Parse("K5 == K6"), Parse("K7 * K8 == 12")};
  const auto set = LegalSet::Of(t, 1000);
  ASSERT_TRUE(set.ok());
  EXPECT_FALSE(set.value().enumerated());
  Stream stream(Seed::FromNumber(3));
  std::set<Setting> seen;
  for (int i = 0; i < 200; ++i) {
    const auto one = set.value().Random(stream);
    ASSERT_TRUE(one.has_value());
    const Setting& s = *one;
    EXPECT_TRUE(s[0] + s[1] + s[2] == 3 && s[3] == s[4] && s[5] == s[6] && s[7] * s[8] == 12);
    EXPECT_TRUE(set.value().Contains(s));
    seen.insert(s);
  }
  EXPECT_GT(seen.size(), 150U);
  Setting broken(9, 1);
  EXPECT_FALSE(set.value().Contains(broken));
}

TEST(LegalSet, SaysWhichConditionsContradictEachOther) {
  const struct {
    std::vector<const char*> when;
    const char* message;
  } cases[] = {
      {{"AA > BB", "CC < 2", "AA < BB"}, "no legal point is left: \"AA > BB\" contradicts \"AA < BB\""},
      {{"AA > BB", "BB > CC", "CC < 3", "CC > AA"},
       "no legal point is left: \"AA > BB\" and \"BB > CC\" contradict \"CC > AA\""},
      {{"CC < 2", "AA == 99"}, "no legal point is left: \"AA == 99\" holds nowhere"},
      {{"1 // (AA - AA) == 1"}, "no legal point is left: \"1 // (AA - AA) == 1\" holds nowhere"},
  };
  for (const auto& c : cases) {
    Template t;
    t.knobs = {Numbers("AA", 0, 5), Numbers("BB", 0, 5), Numbers("CC", 0, 5)};
    for (const char* when : c.when) t.when.push_back(Parse(when));
    const auto set = LegalSet::Of(t);
    ASSERT_FALSE(set.ok()) << c.message;
    EXPECT_EQ(set.error().message, c.message);
    EXPECT_EQ(set.error().code, ErrorCode::kInvalidInput);
  }
  Template cycle;
  cycle.knobs = {Numbers("AA", 0, 1, "BB == 1"), Numbers("BB", 0, 1, "AA == 1"), Numbers("CC", 0, 1)};
  const auto set = LegalSet::Of(cycle);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().message,
            "the `if`s of the knobs AA, BB depend on each other; let one of them stand without a condition");
}

TEST(LegalSet, WithoutKnobsThereIsOneSetting) {
  const auto set = LegalSet::Of(Template{});
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set.value().size(), 1U);
  EXPECT_TRUE(set.value().Contains({}));
  Stream stream(Seed::FromNumber(1));
  EXPECT_TRUE(set.value().Random(stream)->empty());
}

}  // namespace
}  // namespace assay
