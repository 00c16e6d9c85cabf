// SPDX-License-Identifier: Apache-2.0
#include "base/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

namespace assay {
namespace {

const std::map<std::string, Value, std::less<>> kNames = {
    {"H", {int64_t{16}}}, {"KV", {int64_t{8}}},   {"Z", {int64_t{0}}}, {"N", {int64_t{-7}}},
    {"big", {INT64_MAX}}, {"small", {INT64_MIN}}, {"x", {0.5}},        {"mode", {std::string("rows")}},
    {"yes", {true}}};

const Value* Find(std::string_view name) {
  const auto found = kNames.find(name);
  return found == kNames.end() ? nullptr : &found->second;
}

std::string Show(const Result<Value>& result) {
  if (!result.ok()) return "error: " + result.error().message;
  const auto& data = result.value().data;
  if (const auto* integer = std::get_if<int64_t>(&data)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&data)) return "real " + std::to_string(*real);
  if (const auto* truth = std::get_if<bool>(&data)) return *truth ? "true" : "false";
  return "'" + std::get<std::string>(data) + "'";
}

std::string Evaluated(std::string_view text) {
  const Result<Expression> parsed = Expression::Parse(text);
  if (!parsed.ok()) return "parse error: " + parsed.error().message;
  return Show(parsed.value().Evaluate(Find));
}

TEST(Expression, GivesTheValueOfEachRule) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 + 2*3", "7"},
      {"(1 + 2)*3", "9"},
      {"10 - 3 - 2", "5"},
      {"2*KV*H", "256"},
      {"7 / 2", "real 3.500000"},
      {"8 / 2", "real 4.000000"},
      {"7 // 2", "3"},
      {"-7 // 2", "-4"},
      {"N // 2", "-4"},
      {"N % 3", "2"},
      {"7 % -3", "-2"},
      {"-6 % 3", "0"},
      {"small % -1", "0"},
      {"big % small", "-1"},
      {"x // 0.2", "real 2.000000"},
      {"-x % 2", "real 1.500000"},
      {"2 ** 10", "1024"},
      {"-2 ** 2", "-4"},
      {"2 ** -1", "real 0.500000"},
      {"2 ** 3 ** 2", "512"},
      {"0 ** 0", "1"},
      {"2 * -3", "-6"},
      {"1.5e2", "real 150.000000"},
      {"1e3 + 1", "real 1001.000000"},
      {"min(3, 1, 2)", "1"},
      {"max(1, x)", "1"},
      {"abs(N)", "7"},
      {"ceil_div(7, 2)", "4"},
      {"ceil_div(8, 2)", "4"},
      {"log2(KV)", "real 3.000000"},
      {"sqrt(H)", "real 4.000000"},
      {"H % KV == 0", "true"},
      {"1 <= KV < H", "true"},
      {"1 < KV < 8", "false"},
      {"1 < 2 > 1 != 3", "true"},
      {"H in [8, 16]", "true"},
      {"H in [8, 16*2]", "false"},
      {"H not in [8, 32]", "true"},
      {"N in [-7]", "true"},
      {"mode == 'rows'", "true"},
      {"mode in ['cols', 'rows']", "true"},
      {"mode != 'rows' or H == 16", "true"},
      {"not H == 16", "false"},
      {"H == 1 or KV == 8 and x < 1", "true"},
      {"(H == 1 or KV == 8) and x > 1", "false"},
      {"Z == 0 or H % Z == 0", "true"},
      {"big == 9223372036854775807.0", "false"},
      {"yes and H > 1", "true"},
      {"'text'", "'text'"},
      {"index + 1", "error: \"index + 1\": index is not known here; use a name that is declared"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Evaluated(text), expected) << text;
}

TEST(Expression, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"H % Z", "division by zero; H = 16, Z = 0"},
      {"H / Z", "division by zero"},
      {"H // Z", "division by zero"},
      {"Z ** -1", "division by zero"},
      {"big + 1", "9223372036854775807 and 1 give a number beyond 64 bits; big = 9223372036854775807"},
      {"small // -1", "beyond 64 bits"},
      {"abs(small)", "beyond 64 bits"},
      {"-small", "beyond 64 bits"},
      {"2 ** 63", "beyond 64 bits"},
      {"1e300 * 1e300", "beyond the range"},
      {"log2(Z)", "log2 of 0"},
      {"sqrt(N)", "sqrt of -7"},
      {"mode + 1", "'rows' is not a number"},
      {"mode < 'z'", "have no order"},
      {"mode == 1", "different kinds"},
      {"not H", "16 is not a condition"},
      {"H and 1 == 1", "not a condition"},
      {"(H == 1) + 1", "false is not a number"},
      {"a && b", "column 3: && is not an operator here; write and, or, not"},
      {"a || b", "|| is not an operator here; write and, or, not"},
      {"!a", "! is not an operator here; write and, or, not"},
      {"a = b", "write =="},
      {"", "empty"},
      {"1 +", "found the end where a value should stand"},
      {"1 2", "found \"2\" where an operator should stand"},
      {"(1", "where \")\" should stand"},
      {"1)", "found \")\""},
      {"f(1)", "f is no function"},
      {"abs(1, 2)", "abs takes 1 argument"},
      {"ceil_div(1)", "ceil_div takes 2 arguments"},
      {"min()", "where a value should stand"},
      {"H in []", "where a value should stand"},
      {"H in 8", "where \"[\" should stand"},
      {"H not 8", "found \"not\""},
      {"--1", "where a value should stand"},
      {"not not 1 == 1", "where a value should stand"},
      {"010", "leading zero"},
      {"0x10", "not a number"},
      {"12f", "not a number"},
      {"1.2.3", "not a number"},
      {"99999999999999999999", "does not fit into 64 bits"},
      {"1e999", "outside the range of double"},
      {"'open", "no closing"},
      {"a # b", "unexpected \"#\""},
      {"a \x01 b", "unexpected \"\\x01\""},
      {"a and", "where a value should stand"},
      {"in", "where a value should stand"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(Evaluated(text), testing::HasSubstr(expected)) << text;
}

std::string Nested(int depth) {
  return std::string(static_cast<size_t>(depth), '(') + "1" + std::string(static_cast<size_t>(depth), ')');
}

TEST(Expression, BoundsDepthAndLength) {
  EXPECT_EQ(Evaluated(Nested(63)), "1");
  EXPECT_THAT(Evaluated(Nested(64)), testing::HasSubstr("nested deeper than 64"));
  std::string powers = "1";
  for (int i = 0; i < 63; ++i) powers += "**1";
  EXPECT_EQ(Evaluated(powers), "1");
  EXPECT_THAT(Evaluated(powers + "**1"), testing::HasSubstr("nested deeper"));
  std::string sum = "1";
  while (sum.size() + 2 <= 4096) sum += "+1";
  EXPECT_EQ(Evaluated(sum), "2048");
  EXPECT_EQ(Evaluated(sum + " "), "2048");
  EXPECT_THAT(Evaluated(sum + "  "), testing::HasSubstr("at most 4096 bytes"));
}

TEST(Expression, ConvertsToWhatIsWanted) {
  const auto parse = [](std::string_view text) { return Expression::Parse(text).value(); };
  EXPECT_EQ(parse("H / KV").EvaluateInteger(Find).value(), 2);
  EXPECT_THAT(parse("H / 3").EvaluateInteger(Find).error().message, testing::HasSubstr("not a whole number; H = 16"));
  EXPECT_FALSE(parse("2.0 ** 63").EvaluateInteger(Find).ok());
  EXPECT_EQ(parse("2 ** 62").EvaluateInteger(Find).value(), int64_t{1} << 62);
  EXPECT_EQ(parse("H").EvaluateNumber(Find).value(), 16.0);
  EXPECT_FALSE(parse("mode").EvaluateNumber(Find).ok());
  EXPECT_TRUE(parse("H > 1").EvaluateCondition(Find).value());
  EXPECT_THAT(parse("H % KV").EvaluateCondition(Find).error().message, testing::HasSubstr("not a condition"));
}

TEST(Expression, ListsItsNames) {
  const Expression expression = Expression::Parse("b*a + min(b, c) > 'd'").value();
  EXPECT_EQ(expression.NamesUsed(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(expression.text(), "b*a + min(b, c) > 'd'");
  EXPECT_TRUE(Expression().empty());
}

TEST(Expression, BindsNamesToPositions) {
  const std::vector<std::string> names = {"A", "B", "C"};
  const Expression expression = Expression::Parse("C*A <= 12 and B == 'x'").value();
  const BoundExpression bound = expression.Bind(names).value();
  const std::vector<Value> inside = {{int64_t{3}}, {std::string("x")}, {int64_t{4}}};
  const std::vector<Value> outside = {{int64_t{3}}, {std::string("x")}, {int64_t{5}}};
  EXPECT_TRUE(bound.EvaluateCondition(inside).value());
  EXPECT_FALSE(bound.EvaluateCondition(outside).value());
  EXPECT_FALSE(Expression::Parse("D").value().Bind(names).ok());
}

TEST(Expression, SurvivesNoise) {
  constexpr std::string_view kAlphabet = "HKVZ01 +-*/%<>=!&|()[],.'e_minorandt\"\\#\n\x80";
  std::mt19937 random(7);  // NOLINT: a fixed seed on purpose
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const size_t length = random() % 40;
    for (size_t i = 0; i < length; ++i) text += kAlphabet[random() % kAlphabet.size()];
    EXPECT_FALSE(Evaluated(text).empty());
  }
}

}  // namespace
}  // namespace assay
