// SPDX-License-Identifier: Apache-2.0
// The protocol from end to end, and what becomes of a reference or an oracle that misbehaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "numerics/testing/reference_run.h"

namespace assay {
namespace {

using testing::ReferenceRun;

struct GemmReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [i, j] = slice.index<2>();
    a.out("c", i, j) = Dot(a.row("a", i), a.row("b", all, j)) * a.scalar("alpha");
    a.publish("product", i, j, Real(2.0) * a.at("a", i, int64_t{0}));
  }
};

ReferenceRun SmallGemm() {
  ReferenceRun run;
  run.Axis("M", 2);
  run.Scalar("alpha", 2.0);
  run.In("a", DType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6});
  run.In("b", DType::kBf16, {3, 2}, {1, 0, 0, 1, 1, 1});
  run.Out("c", DType::kF32, {2, 2});
  run.query.slice_rank = 2;
  run.query.slices = {0, 0, 0, 1, 1, 0, 1, 1};
  return run;
}

TEST(Oracle, ComputesSlicesInEveryArithmetic) {
  ReferenceRun run = SmallGemm();
  const double expected[] = {8, 10, 20, 22};
  for (uint32_t arithmetic = 0; arithmetic < wire::kArithmeticCount; ++arithmetic) {
    run.query.arithmetic = static_cast<Arithmetic>(arithmetic);
    if (run.query.arithmetic == Arithmetic::kExplain) continue;
    SCOPED_TRACE(arithmetic);
    const auto result = run.Run(GemmReference{}, 1, 1);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const OracleAnswer& answer = result.value();
    ASSERT_EQ(answer.outputs.size(), 4U);
    for (size_t s = 0; s < 4; ++s) {
      ASSERT_EQ(answer.slice(s).size(), 1U);
      EXPECT_EQ(answer.slice(s)[0].value, expected[s]);
      EXPECT_EQ(answer.slice(s)[0].tensor, 2);
      EXPECT_EQ(answer.slice(s)[0].element, static_cast<int64_t>(s));
      EXPECT_EQ(answer.slice(s)[0].exact, run.query.arithmetic == Arithmetic::kExact);
    }
    if (run.query.arithmetic == Arithmetic::kTaped) continue;  // it is asked for outputs alone
    ASSERT_EQ(answer.published.size(), 4U);
    EXPECT_EQ(answer.published[2].name, "product");
    EXPECT_THAT(answer.published[2].index, ::testing::ElementsAre(1, 0));
    EXPECT_EQ(answer.published[2].value, 8.0);
    EXPECT_EQ(answer.published[2].slice, 2U);
  }
}

TEST(Oracle, CountsOperationsAndBytes) {
  ReferenceRun run = SmallGemm();
  run.query.arithmetic = Arithmetic::kCount;
  const auto result = run.Run(GemmReference{}, 1, 1);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().counts[static_cast<size_t>(Operation::kAdd)], 12U);
  EXPECT_EQ(result.value().counts[static_cast<size_t>(Operation::kMultiply)], 12U + 4U + 4U);
  EXPECT_EQ(result.value().touched_bytes, (std::vector<uint64_t>{24, 12, 0}));
}

TEST(Oracle, ExplainsOneElement) {
  ReferenceRun run = SmallGemm();
  run.query.arithmetic = Arithmetic::kExplain;
  run.query.explain_tensor = 2;
  run.query.explain_element = 3;
  const auto result = run.Run(GemmReference{}, 1, 1);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.value().outputs.size(), 1U);
  ASSERT_EQ(result.value().terms.size(), 2U);
  EXPECT_EQ(result.value().terms[0].label, "Dot(a, b)");
  EXPECT_NEAR(result.value().terms[0].contribution, 2.0 * 3 * 11 * 0x1p-24, 1e-12);
  const std::string text = ExplainTolerance(run.query, result.value());
  EXPECT_NE(text.find("c[3] = 22"), std::string::npos) << text;
  EXPECT_NE(text.find("multiply"), std::string::npos) << text;
}

// What an author can get wrong, one row each.
struct Mistaken {
  int which;
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [i, j] = slice.index<2>();
    switch (which) {
      case 0:
        a.out("c", i, j) = Real(static_cast<double>(a.axis("Q")));
        break;
      case 1:
        a.out("c", i, j) = a.scalar("beta");
        break;
      case 2:
        a.out("d", i, j) = Real(0.0);
        break;
      case 3:
        a.out("c", i, int64_t{2}) = Real(0.0);
        break;
      case 4:
        a.out("c", i) = Real(0.0);
        break;
      case 5:
        a.out("a", i, j) = Real(0.0);
        break;
      case 6:
        a.out("c", i, j) = a.at("c", i, j);
        break;
      case 7:
        a.out("c", i, j) = a.row("a", i)[3];
        break;
      case 8:
        a.out("c", i, j) = a.at("a", i, j - 1);
        break;
      case 9:
        a.out("c", i, j) = Dot(a.row("a", i), a.row("a", all, j));
        break;
      case 10:
        a.out("c", i, j) = Real(static_cast<double>(slice.index<3>()[0]));
        break;
      case 11:
        a.out("c", i, j) = Max(0, [](int64_t) { return Real(0.0); });
        break;
      case 12:
        a.out("c", i, j) = a.row("a", all, all)[0];
        break;
      case 13:
        throw std::runtime_error("an author's own exception");
        break;
      default:
        a.out("c", i, j) = Lookup(a.row("a", i), int64_t{-1});
        break;
    }
  }
};

TEST(Oracle, NamesTheAuthorsMistake) {
  const char* const expected[] = {
      "axis \"Q\", which the contract does not have",
      "scalar \"beta\"",
      "tensor \"d\"",
      "tensor \"c\": index 1 is 2, but that dimension has 2 elements",
      "tensor \"c\" has 2 dimensions, the reference gives 1 indices",
      "tensor \"a\" is no output",
      "tensor \"c\" is an output; the reference may not read it",
      "element 3 of 3",
      "tensor \"a\": index 1 is negative",
      "Dot of rows with 3 and 2 elements",
      "slice has 2 axes, the reference takes 3",
      "Max over 0 terms",
      "only one dimension",
      "an author's own exception",
      "Lookup: entry -1 of 3",
  };
  const ReferenceRun run = SmallGemm();
  for (int which = 0; which < 15; ++which) {
    SCOPED_TRACE(expected[which]);
    const auto result = run.Run(Mistaken{which}, 1);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(result.error().message.find(expected[which]), std::string::npos) << result.error().message;
  }
}

struct Optional {
  template <class Real>
  void Run(const Args<Real>& a, const Slice&) const {
    a.out("c", int64_t{0}, int64_t{0}) = Real(a.has("b") ? 1.0 : 0.0);
    if (!a.has("b")) a.out("c", int64_t{0}, int64_t{1}) = a.at("b", int64_t{0}, int64_t{0});
  }
};

TEST(Oracle, KnowsWhatIsAbsent) {
  ReferenceRun run = SmallGemm();
  EXPECT_TRUE(run.Run(Optional{}, 2).ok());
  run.query.tensors[1].present = false;
  const auto result = run.Run(Optional{}, 2);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("tensor \"b\" is absent"), std::string::npos);
}

TEST(Oracle, StopsWhereTheResponseEnds) {
  const ReferenceRun run = SmallGemm();
  std::vector<std::byte> response(ResponseBytes(run.query, 1) - 8);
  const auto result = run.RunInto(GemmReference{}, response);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
}

TEST(Oracle, RefusesQueriesThatMakeNoSense) {
  struct Case {
    const char* name;
    void (*spoil)(OracleQuery&);
  };
  const Case cases[] = {
      {"data outside the inputs", [](OracleQuery& q) { q.tensors[0].data = 1 << 20; }},
      {"data misaligned", [](OracleQuery& q) { q.tensors[0].data = 4; }},
      {"rank of shape and stride", [](OracleQuery& q) { q.tensors[0].stride.pop_back(); }},
      {"shape beyond memory", [](OracleQuery& q) { q.tensors[0].shape[0] = INT64_MAX; }},
      {"negative shape", [](OracleQuery& q) { q.tensors[2].shape[0] = -1; }},
      {"half a slice", [](OracleQuery& q) { q.slices.pop_back(); }},
      {"stride leads outside", [](OracleQuery& q) { q.tensors[1].stride[0] = 1000; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ReferenceRun run = SmallGemm();
    c.spoil(run.query);
    const auto result = run.Run(GemmReference{}, 1, 1);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
  }
}

// A hostile oracle may write anything: flip bytes and words everywhere; nothing may crash, and what is
// accepted must stay inside the tensors.
TEST(Oracle, ResponsesAreNotBelieved) {
  const ReferenceRun run = SmallGemm();
  std::vector<std::byte> good(ResponseBytes(run.query, 1, 1));
  ASSERT_TRUE(run.RunInto(GemmReference{}, good).ok());
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bad = good;
    for (int n = static_cast<int>(random() % 3); n >= 0; --n) {
      const size_t at = random() % (bad.size() - 8) / 8 * 8;
      const uint64_t words[] = {random(), ~uint64_t{0}, 0, random() % 300, uint64_t{1} << 63, 0x7FF8000000000000U};
      std::memcpy(bad.data() + at, &words[random() % 6], 8);
    }
    const auto result = DecodeResponse(run.query, bad);
    if (!result.ok()) continue;
    for (const OracleOutput& output : result.value().outputs) {
      ASSERT_EQ(output.tensor, 2);
      ASSERT_LE(output.element, 3);
      ASSERT_GE(output.bound, 0.0);
    }
  }
  for (size_t length = 0; length < good.size(); length += 13)
    EXPECT_FALSE(DecodeResponse(run.query, std::span(good).first(length)).ok());
}

TEST(Oracle, SourceIncludesTheReference) {
  const std::string source = OracleSource("reference.h");
  EXPECT_NE(source.find("#include \"reference.h\""), std::string::npos);
  EXPECT_NE(source.find("ASSAY_ORACLE(Reference)"), std::string::npos);
}

}  // namespace
}  // namespace assay
