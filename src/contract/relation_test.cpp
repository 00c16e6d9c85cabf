// SPDX-License-Identifier: Apache-2.0
#include "contract/relation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "contract/generator.h"
#include "contract/load.h"
#include "contract/values.h"

namespace assay {
namespace {

using testing::HasSubstr;

// y[T, N] and s[T] from x[T, N], w[N], and z[T, N] changed in place.
Contract Toy() {
  Contract contract;
  for (const char* name : {"T", "N"}) {
    Axis axis;
    axis.name = name;
    axis.min = 1;
    axis.max = 64;
    contract.axes.push_back(axis);
  }
  const auto add = [&](const char* name, Role role, std::vector<const char*> shape) {
    Tensor tensor;
    tensor.name = name;
    tensor.role = role;
    for (const char* extent : shape) tensor.shape.push_back(Expression::Parse(extent).value());
    if (role != Role::kOut) tensor.values = {ParseGenerator("normal(0, 1)").value()};
    if (role != Role::kIn) tensor.compare = Compare{};
    contract.tensors.push_back(tensor);
  };
  add("x", Role::kIn, {"T", "N"});
  add("w", Role::kIn, {"N"});
  add("y", Role::kOut, {"T", "N"});
  add("s", Role::kOut, {"T"});
  add("z", Role::kInOut, {"T", "N"});
  return contract;
}
enum { kX, kW, kY, kS, kZ };

CallInputs Inputs(const Contract& contract, int64_t t = 5, int64_t n = 3) {
  CallInputs inputs{DenseShape(contract, {{"T", t}, {"N", n}}).value(), {}, {}};
  Stream stream(Seed::FromNumber(1));
  for (const Tensor& tensor : contract.tensors) {
    const TensorLayout layout = LayoutOf(contract, tensor, inputs.shape).value();
    std::vector<std::byte> bytes;
    if (tensor.role != Role::kOut) {
      bytes.resize(static_cast<size_t>(layout.byte_span));
      FillTensor(tensor, layout, tensor.values.front(), inputs.shape, bytes, stream);
    }
    inputs.tensors.push_back(std::move(bytes));
  }
  return inputs;
}

float Value(const std::vector<std::byte>& bytes, int64_t offset) {
  return static_cast<float>(LoadElement(DType::kF32, bytes, offset));
}

Relation Make(RelationKind kind, std::vector<std::string> of, std::string axis = "") {
  Relation relation;
  relation.name = "r";
  relation.kind = kind;
  relation.of = std::move(of);
  relation.axis = std::move(axis);
  relation.with = "redrawn";
  return relation;
}

RelatedCall Drawn(const Contract& contract, const Relation& relation, CallInputs& first, uint64_t seed = 2) {
  Stream stream(Seed::FromNumber(seed));
  auto related = MakeRelation(contract, relation)->Draw(first, stream);
  EXPECT_TRUE(related.ok()) << (related.ok() ? "" : related.error().message);
  return related.ok() ? std::move(related).value() : RelatedCall{};
}

TEST(Relation, CausalRedrawsWhatLiesBehindAndTiesWhatLiesBefore) {
  const Contract contract = Toy();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CallInputs first = Inputs(contract);
    const RelatedCall related = Drawn(contract, Make(RelationKind::kCausal, {"x"}, "T"), first, seed);
    ASSERT_TRUE(related.second);
    int64_t from = 0;
    while (from < 15 && Value(first.tensors[kX], from) == Value(related.second->tensors[kX], from)) ++from;
    ASSERT_EQ(from % 3, 0);
    from /= 3;
    ASSERT_GE(from, 1);
    ASSERT_LE(from, 4);
    for (int64_t i = 3 * from; i < 15; ++i)
      EXPECT_NE(Value(first.tensors[kX], i), Value(related.second->tensors[kX], i));
    EXPECT_EQ(first.tensors[kW], related.second->tensors[kW]);
    EXPECT_EQ(first.tensors[kZ], related.second->tensors[kZ]);
    // y and z have N elements for each T, s one.
    EXPECT_EQ(related.ties.size(), static_cast<size_t>(from * (3 + 1 + 3)));
    for (const Tie& tie : related.ties) {
      EXPECT_EQ(tie.first, tie.second);
      EXPECT_LT(tie.first, tie.tensor == kS ? from : 3 * from);
    }
  }
}

TEST(Relation, CausalWithNanMakesNan) {
  const Contract contract = Toy();
  CallInputs first = Inputs(contract);
  Relation relation = Make(RelationKind::kCausal, {"x"}, "T");
  relation.with = "nan";
  const RelatedCall related = Drawn(contract, relation, first);
  EXPECT_TRUE(std::isnan(Value(related.second->tensors[kX], 14)));
  EXPECT_FALSE(std::isnan(Value(related.second->tensors[kX], 0)));
}

TEST(Relation, PermuteMovesRowsAndTheirAnswers) {
  const Contract contract = Toy();
  CallInputs first = Inputs(contract);
  const RelatedCall related = Drawn(contract, Make(RelationKind::kPermute, {}, "T"), first);
  std::set<int64_t> places;
  bool moved = false;
  for (const Tie& tie : related.ties) {
    if (tie.tensor != kS) continue;
    places.insert(tie.second);
    moved = moved || tie.first != tie.second;
    for (int64_t n = 0; n < 3; ++n) {
      EXPECT_EQ(Value(first.tensors[kX], tie.first * 3 + n), Value(related.second->tensors[kX], tie.second * 3 + n));
      EXPECT_EQ(Value(first.tensors[kZ], tie.first * 3 + n), Value(related.second->tensors[kZ], tie.second * 3 + n));
    }
  }
  EXPECT_EQ(places.size(), 5U);
  EXPECT_TRUE(moved);
  EXPECT_EQ(first.tensors[kW], related.second->tensors[kW]);
}

TEST(Relation, PermuteCarriesBlocks) {
  const Contract contract = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "contracts/gqa_attention").value();
  CallInputs first;
  first.shape = DenseShape(contract, {{"B", 1}, {"T", 2}, {"H", 6}, {"KV", 3}, {"D", 64}}).value();
  for (const Tensor& tensor : contract.tensors) {
    const TensorLayout layout = LayoutOf(contract, tensor, first.shape).value();
    first.tensors.emplace_back(tensor.role == Role::kIn ? static_cast<size_t>(layout.byte_span) : 0);
  }
  const auto relation = std::find_if(contract.relations.begin(), contract.relations.end(),
                                     [](const Relation& r) { return r.kind == RelationKind::kPermute; });
  ASSERT_NE(relation, contract.relations.end());
  const auto lse = static_cast<size_t>(contract.FindTensor("lse") - contract.tensors.data());
  const RelatedCall related = Drawn(contract, *relation, first);
  for (const Tie& tie : related.ties) {
    if (tie.tensor != lse) continue;
    EXPECT_EQ(tie.first / 6, tie.second / 6);          // the same token
    EXPECT_EQ(tie.first % 6 % 2, tie.second % 6 % 2);  // the same head of its group
  }
  Relation wrong = *relation;
  wrong.carries["H"] = Expression::Parse("KV").value();
  Stream stream(Seed::FromNumber(3));
  const auto refused = MakeRelation(contract, wrong)->Draw(first, stream);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("carries: H = \"KV\" gives 3 of H=6"));
}

TEST(Relation, ScaleMultipliesByAPowerOfTwo) {
  const Contract contract = Toy();
  CallInputs first = Inputs(contract);
  Relation relation = Make(RelationKind::kScale, {"x"});
  relation.by = "2^k";
  std::set<double> factors;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const RelatedCall related = Drawn(contract, relation, first, seed);
    int exponent = 0;
    EXPECT_EQ(std::frexp(related.factor, &exponent), 0.5);
    EXPECT_NE(related.factor, 1);
    factors.insert(related.factor);
    for (int64_t i = 0; i < 15; ++i)
      EXPECT_EQ(Value(related.second->tensors[kX], i), Value(first.tensors[kX], i) * related.factor);
    EXPECT_EQ(related.ties.size(), 15U + 5U + 15U);
  }
  EXPECT_GT(factors.size(), 3U);
}

TEST(Relation, ShiftIsExactInTheFormat) {
  const Contract contract = Toy();
  CallInputs first = Inputs(contract);
  const CallInputs drawn = first;
  Relation relation = Make(RelationKind::kShift, {"x"});
  relation.by = "100.3";
  const RelatedCall related = Drawn(contract, relation, first);
  EXPECT_NEAR(related.shift, 100.3, 1e-4);
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_NEAR(Value(first.tensors[kX], i), Value(drawn.tensors[kX], i), 1e-4);
    EXPECT_EQ(double{Value(related.second->tensors[kX], i)}, double{Value(first.tensors[kX], i)} + related.shift);
  }
}

TEST(Relation, PadKeepsTheOldPlaces) {
  const Contract contract = Toy();
  CallInputs first = Inputs(contract);
  const RelatedCall related = Drawn(contract, Make(RelationKind::kPad, {}, "N"), first);
  EXPECT_EQ(related.second->shape.axes.at("N"), 4);
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t n = 0; n < 3; ++n)
      EXPECT_EQ(Value(related.second->tensors[kX], t * 4 + n), Value(first.tensors[kX], t * 3 + n));
  }
  for (const Tie& tie : related.ties) {
    EXPECT_EQ(tie.second, tie.tensor == kS ? tie.first : tie.first / 3 * 4 + tie.first % 3);
  }
}

TEST(Relation, SumsToNamesEveryLineOnce) {
  const Contract contract = Toy();
  CallInputs first = Inputs(contract);
  Relation relation = Make(RelationKind::kSumsTo, {"y"}, "N");
  relation.value = 1;
  const RelatedCall related = Drawn(contract, relation, first);
  EXPECT_FALSE(related.second);
  ASSERT_EQ(related.sums.size(), 5U);
  for (size_t line = 0; line < 5; ++line) {
    EXPECT_EQ(related.sums[line].value, 1);
    const auto base = static_cast<int64_t>(3 * line);
    EXPECT_EQ(related.sums[line].offsets, (std::vector<int64_t>{base, base + 1, base + 2}));
  }
}

TEST(Relation, PerturbOneChangesOneElement) {
  const Contract contract = Toy();
  const CallInputs first = Inputs(contract);
  Stream stream(Seed::FromNumber(4));
  const RelatedCall related = PerturbOne(contract, first, kX, stream).value();
  int changed = 0;
  for (int64_t i = 0; i < 15; ++i) changed += Value(first.tensors[kX], i) != Value(related.second->tensors[kX], i);
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(first.tensors[kZ], related.second->tensors[kZ]);
  EXPECT_TRUE(related.unchanged_only);
  Contract constant = contract;
  constant.tensors[kW].values = {ParseGenerator("constant(1)").value()};
  CallInputs same = first;
  for (int64_t i = 0; i < 3; ++i) StoreElement(DType::kF32, same.tensors[kW], i, 1);
  EXPECT_EQ(PerturbOne(constant, same, kW, stream).error().code, ErrorCode::kNotFound);
}

TEST(Relation, ComplaintsNameTheKey) {
  Contract contract = Toy();
  contract.tensors[kW].shape = {Expression::Parse("2*N").value()};
  Relation scale = Make(RelationKind::kScale, {"x"});
  scale.by = "2^j";
  const struct {
    Relation relation;
    const char* key;
    const char* text;
  } cases[] = {
      {Make(RelationKind::kPermute, {}, "N"), "axis", "w hides N in \"2*N\""},
      {Make(RelationKind::kCausal, {"y"}, "T"), "of", "y is an output"},
      {Make(RelationKind::kCausal, {"w"}, "T"), "axis", "no input that the relation is about has a dimension T"},
      {Make(RelationKind::kSumsTo, {"x"}, "T"), "of", "x is an input"},
      {Make(RelationKind::kUntouched, {"y"}), "of", "y is not changed in place"},
      {Make(RelationKind::kSumsTo, {"s"}, "N"), "axis", "s has no dimension N"},
      {scale, "by", "write a number"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto complaint = ComplaintAbout(contract, c.relation);
    ASSERT_TRUE(complaint);
    EXPECT_EQ(complaint->key, c.key);
    EXPECT_THAT(complaint->text, HasSubstr(c.text));
  }
  EXPECT_FALSE(ComplaintAbout(contract, Make(RelationKind::kPermute, {}, "T")));
  EXPECT_FALSE(ComplaintAbout(contract, Make(RelationKind::kUntouched, {"z"})));
}

}  // namespace
}  // namespace assay
