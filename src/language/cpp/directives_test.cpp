// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/directives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/testing/toy_contract.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::ToyContract;

Result<Template> Parse(const std::string& text, FpPolicy fp = FpPolicy::kReassociate) {
  return ParseTemplate(text, "templates/blocked.cpp", ToyContract(fp));
}

struct Case {
  const char* name;
  std::string text;
  const char* error;  // part of it; "" = accepted
};

void Check(std::span<const Case> cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto parsed = Parse(c.text);
    if (*c.error == '\0') {
      EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
    } else {
      ASSERT_FALSE(parsed.ok());
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
      EXPECT_THAT(parsed.error().message, StartsWith("templates/blocked.cpp"));
      EXPECT_THAT(parsed.error().message, HasSubstr(c.error));
    }
  }
}

// Each refused row stands beside its accepted neighbour.
TEST(Directives, WhereALineIsOne) {
  const Case cases[] = {
      {"plain", "// assay:knob TILE = 1 | 2\n", ""},
      {"blanks and tabs before, doubled leader", " \t ///  assay:knob TILE = 1\n", ""},
      {"CRLF", "// assay:knob TILE = 1 | 2\r\n// assay:when TILE > 1\r\n", ""},
      {"byte order mark", "\xEF\xBB\xBF// assay:knob TILE = 1\n", ""},
      {"without a last newline", "// assay:knob TILE = 1", ""},
      {"no directive at all", "int x;\n", ""},
      {"empty file", "", ""},
      {"prose about directives", "// the knob is read from assay:knob lines\n", ""},
      {"behind code", "int x;  // assay:knob TILE = 1\n", ":1: a directive stands alone on its line"},
      {"in a string, behind code", "const char* s = \"// assay:knob TILE\";\n", ""},
      {"behind a digit separator", "int x = 1'000;  // assay:knob TILE = 1\n", "stands alone"},
      {"under #if 0 counts", "#if 0\n// assay:knob tile = 1\n#endif\n",
       ":2: assay:knob tile: write the name in capitals"},
      {"in a block comment counts", "/*\n// assay:knob tile = 1\n*/\n", ":2:"},
      {"star of a block comment", "/*\n * assay:knob TILE = 1\n */\n",
       ":2: a directive in C++ is a whole line that starts with //"},
      {"leader of another language", "# assay:knob TILE = 1\n", "starts with //"},
      {"leader of a third language", "-- assay:knob TILE = 1\n", "starts with //"},
      {"backslash at the end", "// assay:knob TILE = 1 \\\n| 2\n", ":1: a backslash at the end"},
      {"backslash and blanks at the end", "// assay:knob TILE = 1 \\  \n", "a backslash at the end"},
      {"blank after the colon", "// assay: knob TILE = 1\n", "right behind the colon"},
      {"unknown word", "// assay:knop TILE = 1\n", "assay:knop is no directive; did you mean assay:knob?"},
      {"note", "// assay:note anything at all: knob = 0x10\n", ""},
      {"4 kB line", "// assay:note " + std::string(4000, 'x') + "\n", ""},
      {"above 4 kB", "// assay:note " + std::string(4096, 'x') + "\n", "at most 4 kB"},
      {"just before 64 kB", std::string(65000, '\n') + "// assay:knob TILE = 1\n", ""},
      {"behind 64 kB", std::string(65536, '\n') + "// assay:knob TILE = 1\n", "behind the first 64 kB"},
      {"two templates", "// assay:template a\n// assay:template b\n", ":2: assay:template: already named in line 1"},
      {"template with text", "// assay:template blocked keys in blocks\n", ""},
      {"template without a name", "// assay:template 8way\n", "is no name"},
      {"not a text file", std::string("\0x", 2), "not a text file"},
  };
  Check(cases);
  std::string many;
  for (int i = 0; i < 256; ++i) many += "// assay:note x\n";
  EXPECT_TRUE(Parse(many).ok());
  EXPECT_FALSE(Parse(many + "// assay:note x\n").ok());
}

TEST(Directives, KnobNames) {
  const Case cases[] = {
      {"two letters", "// assay:knob MR = 1\n", ""},
      {"one letter", "// assay:knob M = 1\n", "2 to 32 characters; choose a longer one, for example TILE_M"},
      {"32 letters", "// assay:knob " + std::string(32, 'A') + " = 1\n", ""},
      {"33 letters", "// assay:knob " + std::string(33, 'A') + " = 1\n", "shorter"},
      {"lower case", "// assay:knob tile = 1\n", "capitals"},
      {"digit first", "// assay:knob 2X = 1\n", "capitals"},
      {"an argument", "// assay:knob T = 1\n",
       "assay:knob T: also an argument of toy; choose a longer name, for example TILE_T"},
      {"its neighbour", "// assay:knob TILE_T = 1\n", ""},
      {"a macro of the compiler", "// assay:knob INT_MAX = 1\n", "defines this macro"},
      {"of the harness", "// assay:knob ASSAY_X = 1\n", "belong to the harness"},
      {"twice", "// assay:knob MR = 1\n// assay:knob MR = 2\n", ":2: assay:knob MR: already a knob in line 1"},
      {"missing", "// assay:knob\n", "a name is missing"},
      {"no equals sign", "// assay:knob MR 1 | 2\n", "write ="},
  };
  Check(cases);
}

TEST(Directives, KnobValues) {
  const auto knob = [](const std::string& rest) { return "// assay:knob TILE = " + rest + "\n"; };
  const Case cases[] = {
      {"one", knob("4"), ""},
      {"list", knob("4|6 | 8"), ""},
      {"zero and negative", knob("0 | -4"), ""},
      {"words", knob("ijk | ikj"), ""},
      {"hexadecimal", knob("0x10"), "0x10: write the number in decimal"},
      {"octal", knob("010"), "leading zero"},
      {"plus", knob("+4"), "without a plus"},
      {"minus zero", knob("-0"), "write 0"},
      {"float", knob("1.5"), "whole numbers"},
      {"suffix", knob("4u"), "digits only"},
      {"2^31 - 1", knob("2147483647"), ""},
      {"2^31", knob("2147483648"), "below 2^31"},
      {"-2^31", knob("-2147483648"), "below 2^31"},
      {"far above", knob("99999999999999999999"), "below 2^31"},
      {"none", knob(""), "a value is missing"},
      {"empty between", knob("1 | | 2"), "a value is missing"},
      {"empty at the end", knob("1 |"), "a value is missing"},
      {"twice", knob("1 | 2 | 1"), "1 is given twice"},
      {"mixed", knob("1 | fast"), "do not mix"},
      {"a word with a dash", knob("i-j"), "letters, digits and underscores"},
      {"range", knob("1 .. 8"), ""},
      {"range without blanks", knob("1..8"), ""},
      {"range with step", knob("4 .. 18 step 4"), ""},
      {"range of powers", knob("1 .. 64 pow2"), ""},
      {"range without an end", knob("1 .."), "both ends"},
      {"range without a start", knob(".. 8"), "both ends"},
      {"range backwards", knob("8 .. 1"), "is empty"},
      {"range of words", knob("a .. c"), "between numbers"},
      {"step zero", knob("1 .. 8 step 0"), "at least 1"},
      {"powers from 3", knob("3 .. 64 pow2"), "power of two"},
      {"list and range", knob("1 | 4 .. 8"), "do not mix"},
      {"1024 values", knob("1 .. 1024"), ""},
      {"1025 values", knob("1 .. 1025"), "more than 1024"},
      {"default", knob("1 | 2 default 2"), ""},
      {"default missing", knob("1 | 2 default"), "a value is missing"},
      {"default not a value", knob("1 | 2 default 3"), "the default 3 is not one of"},
      {"trailing word", knob("1 | 2 3"), "one too many"},
      {"condition missing", knob("1 | 2 if"), "a condition is missing"},
      {"word becomes a taken macro", "// assay:knob TILE_A = 1\n" + knob("A | B"),
       "the word A becomes the macro TILE_A"},
  };
  Check(cases);
  const auto parsed = Parse("// assay:knob TILE = 4 .. 18 step 4 default 8\n// assay:knob UNROLL = 1..8 pow2\n");
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(parsed.value().knobs[0].values, ElementsAre("4", "8", "12", "16"));
  EXPECT_EQ(parsed.value().knobs[0].default_value, "8");
  EXPECT_THAT(parsed.value().knobs[1].values, ElementsAre("1", "2", "4", "8"));
}

TEST(Directives, Conditions) {
  const std::string knobs =
      "// assay:knob MR = 2 | 4 | 8\n// assay:knob NR = 1 | 2 | 4\n// assay:knob ORDER = ijk | ikj\n";
  const Case cases[] = {
      {"over knobs", knobs + "// assay:when MR * NR <= 16\n", ""},
      {"above its knobs", "// assay:when MR > 2\n" + knobs, ""},
      {"words", knobs + "// assay:when ORDER == 'ijk' or MR < 8\n", ""},
      {"unknown name", knobs + "// assay:when ORDR == 'ijk'\n",
       ":4: assay:when uses ORDR, which is no knob; did you mean ORDER?"},
      {"an axis", knobs + "// assay:when T > 4\n", "uses T, an argument of toy"},
      {"missing", knobs + "// assay:when\n", "a condition is missing"},
      {"C operators", knobs + "// assay:when MR > 2 && NR > 1\n", "write and"},
      {"never true", knobs + "// assay:when MR > 8\n", "no legal point is left: \"MR > 8\" is never true"},
      {"contradiction", knobs + "// assay:when MR * NR <= 4\n// assay:when MR >= 8\n",
       "no legal point is left: \"MR * NR <= 4\" contradicts \"MR >= 8\""},
      {"its neighbour", knobs + "// assay:when MR * NR <= 8\n// assay:when MR >= 8\n", ""},
      {"three that hold in pairs",
       knobs + "// assay:when MR == 2 or NR == 1\n// assay:when MR == 4 or NR == 1\n// assay:when NR > 1 or MR == "
               "8\n// assay:when MR < 8\n",
       "no legal point is left"},
      {"a constant", knobs + "// assay:when 1 > 2\n", "is never true"},
      {"if over an earlier knob", "// assay:knob BLOCK = 0 | 1\n// assay:knob SIZE = 4 | 8 if BLOCK == 1\n", ""},
      {"if over a later knob", "// assay:knob SIZE = 4 | 8 if BLOCK == 1\n// assay:knob BLOCK = 0 | 1\n",
       "uses BLOCK, which is no knob"},
      {"if over itself", "// assay:knob SIZE = 4 | 8 if SIZE == 4\n", "uses SIZE"},
  };
  Check(cases);
}

TEST(Directives, Flags) {
  struct Row {
    const char* name;
    std::string text;
    FpPolicy fp;
    const char* error;
  };
  const Row rows[] = {
      {"choice", "// assay:flag -O2 | -O3", FpPolicy::kStrict, ""},
      {"none", "// assay:flag none | -funroll-loops", FpPolicy::kStrict, ""},
      {"march", "// assay:flag -march=native | -march=x86-64-v3", FpPolicy::kStrict, ""},
      {"march of another machine", "// assay:flag -march=sapphirerapids", FpPolicy::kStrict, "write -march={"},
      {"mtune", "// assay:flag -mtune=znver3", FpPolicy::kStrict, ""},
      {"mtune with a path", "// assay:flag -mtune=/etc/x", FpPolicy::kStrict, "not an allowed option"},
      {"alignment", "// assay:flag -falign-loops=32:16", FpPolicy::kStrict, ""},
      {"alignment text", "// assay:flag -falign-loops=x", FpPolicy::kStrict, "not an allowed option"},
      {"a bare -march", "// assay:flag -march", FpPolicy::kStrict, "not an allowed option"},
      {"plug-in", "// assay:flag -fplugin=x.so", FpPolicy::kFinite, "not an allowed option"},
      {"linker", "// assay:flag -Wl,-init=f", FpPolicy::kFinite, "not an allowed option"},
      {"response file", "// assay:flag @file", FpPolicy::kFinite, "not an allowed option"},
      {"include folder", "// assay:flag -I/etc", FpPolicy::kFinite, "not an allowed option"},
      {"definition", "// assay:flag -DX=1", FpPolicy::kFinite, "not an allowed option"},
      {"joined by a blank", "// assay:flag -O2 -O3", FpPolicy::kStrict, "one option is one word"},
      {"the same twice", "// assay:flag -O2 | -O2", FpPolicy::kStrict, "given twice"},
      {"two groups of one kind", "// assay:flag -O2 | -O3\n// assay:flag none | -O3", FpPolicy::kStrict,
       "line 1 already chooses -O"},
      {"empty option", "// assay:flag -O2 |", FpPolicy::kStrict, "an option is missing"},
      {"contraction under strict", "// assay:flag -ffp-contract=fast", FpPolicy::kStrict, "needs fp = \"contract\""},
      {"contraction under contract", "// assay:flag -ffp-contract=fast", FpPolicy::kContract, ""},
      {"association under contract", "// assay:flag -fassociative-math", FpPolicy::kContract,
       "needs fp = \"reassociate\""},
      {"association under reassociate", "// assay:flag -fassociative-math", FpPolicy::kReassociate, ""},
      {"fast math under reassociate", "// assay:flag -ffast-math", FpPolicy::kReassociate, "needs fp = \"finite\""},
      {"fast math under finite", "// assay:flag -ffast-math", FpPolicy::kFinite, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto parsed = Parse(row.text + "\n", row.fp);
    if (*row.error == '\0') {
      EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
    } else {
      ASSERT_FALSE(parsed.ok());
      EXPECT_THAT(parsed.error().message, HasSubstr(row.error));
    }
  }
}

TEST(Directives, Expectations) {
  const Case cases[] = {
      {"rejected", "// assay:expect rejected wrong_answer\n", ""},
      {"verified", "// assay:expect verified\n", ""},
      {"no gain", "// assay:expect no_gain\n", ""},
      {"unknown reason", "// assay:expect rejected wrong_anser\n", "did you mean wrong_answer?"},
      {"no reason", "// assay:expect rejected\n", "no such reason"},
      {"unknown verdict", "// assay:expect failed\n", "write rejected REASON, verified or no_gain"},
      {"text behind it", "// assay:expect verified always\n", "nothing may follow"},
      {"two", "// assay:expect verified\n// assay:expect no_gain\n", "keep one"},
  };
  Check(cases);
  EXPECT_EQ(Parse("// assay:expect rejected policy\n").value().expectation->reason, Reason::kPolicy);
}

TEST(MakeCandidate, FillsDropsAndRefuses) {
  const auto family = Parse(
      "// assay:template blocked\n// assay:knob MR = 4 | 8 default 8\n// assay:knob PACK = no | yes\n// assay:knob "
      "DEPTH = 1 | 2 if PACK == 'yes'\n"
      "// assay:when MR < 8 or PACK == 'no'\n// assay:flag -O3 | -O2\n// assay:flag none | -funroll-loops\n");
  ASSERT_TRUE(family.ok()) << family.error().message;
  struct Row {
    const char* name;
    KnobValues set;
    std::vector<std::string> flags;
    KnobValues knobs;                  // expected
    std::vector<std::string> options;  // expected
    const char* error;
  };
  const Row rows[] = {
      {"defaults", {}, {}, {{"MR", "8"}, {"PACK", "no"}}, {"-O3"}, ""},
      {"active knob", {{"MR", "4"}, {"PACK", "yes"}}, {}, {{"DEPTH", "1"}, {"MR", "4"}, {"PACK", "yes"}}, {"-O3"}, ""},
      {"inactive knob set", {{"DEPTH", "2"}}, {}, {{"MR", "8"}, {"PACK", "no"}}, {"-O3"}, ""},
      {"flag of a group", {}, {"-O2"}, {{"MR", "8"}, {"PACK", "no"}}, {"-O2"}, ""},
      {"two groups", {}, {"-funroll-loops", "-O2"}, {{"MR", "8"}, {"PACK", "no"}}, {"-O2", "-funroll-loops"}, ""},
      {"flag of no group", {}, {"-fno-math-errno"}, {{"MR", "8"}, {"PACK", "no"}}, {"-O3", "-fno-math-errno"}, ""},
      {"two of one group", {}, {"-O2", "-O3"}, {}, {}, "are of one group"},
      {"flag that is never allowed", {}, {"-fplugin=x"}, {}, {}, "not an allowed option"},
      {"unknown knob", {{"MRR", "4"}}, {}, {}, {}, "MRR is no knob; did you mean MR?"},
      {"value that is none", {{"MR", "6"}}, {}, {}, {}, "knob MR: 6 is not one of 4, 8"},
      {"broken condition", {{"PACK", "yes"}}, {}, {}, {}, "\"MR < 8 or PACK == 'no'\" does not hold at MR=8, PACK=yes"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto made = MakeCandidate(family.value(), row.set, row.flags);
    if (*row.error != '\0') {
      ASSERT_FALSE(made.ok());
      EXPECT_THAT(made.error().message, HasSubstr(row.error));
      continue;
    }
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made.value().knobs, row.knobs);
    EXPECT_EQ(made.value().flags, row.options);
    EXPECT_EQ(made.value().id.size(), 64U);
  }
  EXPECT_EQ(MakeCandidate(family.value(), {{"DEPTH", "2"}}, {}).value().id,
            MakeCandidate(family.value(), {}, {}).value().id);
  const Candidate packed = MakeCandidate(family.value(), {{"MR", "4"}, {"PACK", "yes"}}, {}).value();
  EXPECT_THAT(KnobDefinitions(family.value(), packed),
              ElementsAre("-DMR=4", "-DPACK_no=0", "-DPACK_yes=1", "-DPACK=1", "-DDEPTH=1"));
}

}  // namespace
}  // namespace assay
