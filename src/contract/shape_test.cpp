// SPDX-License-Identifier: Apache-2.0
#include "contract/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "contract/load.h"

namespace assay {
namespace {

using testing::HasSubstr;

Contract Load(const char* name) {
  return LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/contracts" / name,
                      {.allow_unsupported = true})
      .value();
}

Tensor MakeTensor(std::vector<std::string> shape, std::vector<std::string> stride = {}, DType dtype = DType::kF32) {
  Tensor tensor;
  tensor.name = "x";
  tensor.dtype = dtype;
  for (const std::string& extent : shape) tensor.shape.push_back(Expression::Parse(extent).value());
  tensor.stride = std::move(stride);
  return tensor;
}

TEST(WorkloadShape, IsDenseAndComplete) {
  const Contract contract = Load("gqa_attention");
  const Shape shape = WorkloadShape(contract, contract.workloads[0]).value();
  EXPECT_EQ(shape.axes.at("T"), 1024);
  EXPECT_EQ(shape.strides.at("ldk"), 8 * 128);
  EXPECT_TRUE(shape.absent_tensors.empty());
  EXPECT_EQ(Describe(contract, shape), "B=1 T=1024 H=16 KV=8 D=128 ldk=1024");
  EXPECT_EQ(Operations(contract, shape).value(), 2.0 * 16 * 1024 * 1025 * 128);
  EXPECT_EQ(BytesTouched(contract, shape).value(), 4.0 * (2 * 1024 * 16 * 128 + 2 * 1024 * 8 * 128 + 1024 * 16));
  EXPECT_EQ(SliceCount(contract, shape), 1024 * 16);
  EXPECT_EQ(SliceIndex(contract, shape, 37), (std::vector<int64_t>{0, 2, 5}));
}

TEST(LayoutOf, CountsGapsAndEdges) {
  const Contract contract;
  struct Case {
    const char* name;
    std::vector<std::string> shape, stride;
    Shape at;
    int64_t count, bytes;
    bool padded;
  };
  const Case cases[] = {
      {"scalar", {}, {}, {}, 1, 4, false},
      {"dense", {"3", "4"}, {}, {}, 12, 48, false},
      {"padded rows", {"3", "4"}, {"ld", ""}, {{}, {{"ld", 7}}, {}}, 12, 4 * (2 * 7 + 4), true},
      {"dense by name", {"3", "4"}, {"ld", ""}, {{}, {{"ld", 4}}, {}}, 12, 48, false},
      {"one row has no gap", {"1", "4"}, {"ld", ""}, {{}, {{"ld", 7}}, {}}, 4, 16, false},
      {"strided elements", {"3"}, {"inc"}, {{}, {{"inc", 2}}, {}}, 3, 20, true},
      {"outer follows padded inner",
       {"2", "3", "4"},
       {"", "ld", ""},
       {{}, {{"ld", 5}}, {}},
       24,
       4 * (15 + 10 + 4),
       true},
      {"empty", {"0", "4"}, {"ld", ""}, {{}, {{"ld", 7}}, {}}, 0, 0, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const TensorLayout layout = LayoutOf(contract, MakeTensor(c.shape, c.stride), c.at).value();
    EXPECT_EQ(layout.element_count, c.count);
    EXPECT_EQ(layout.byte_span, c.bytes);
    EXPECT_EQ(layout.padded, c.padded);
  }
  EXPECT_EQ(LayoutOf(contract, MakeTensor({"5"}, {}, DType::kI4), {}).value().byte_span, 3);
  EXPECT_THAT(LayoutOf(contract, MakeTensor({"3", "4"}, {"ld", ""}), {{}, {{"ld", 3}}, {}}).error().message,
              HasSubstr("below 4"));
  EXPECT_TRUE(LayoutOf(contract, MakeTensor({"2**38"}), {}).ok());
  EXPECT_FALSE(LayoutOf(contract, MakeTensor({"2**40"}), {}).ok());
  EXPECT_FALSE(LayoutOf(contract, MakeTensor({"2**40", "2**40"}), {}).ok());
}

TEST(LayoutOf, FindsElements) {
  const Contract contract;
  const TensorLayout layout =
      LayoutOf(contract, MakeTensor({"2", "3", "4"}, {"", "ld", ""}), {{}, {{"ld", 5}}, {}}).value();
  const std::vector<int64_t> index = {1, 2, 3};
  EXPECT_EQ(ElementOffset(layout, index), 15 + 10 + 3);
  EXPECT_EQ(ElementOffset(layout, int64_t{23}), 28);
  EXPECT_EQ(ElementOffset(layout, int64_t{0}), 0);
}

TEST(Legal, HoldsTheEdges) {
  const Contract contract = Load("topk_softmax_router");
  const auto at = [&](int64_t t, int64_t e, int64_t k) {
    return Legal(contract, {{{"T", t}, {"E", e}, {"K", k}}, {}, {}});
  };
  EXPECT_TRUE(at(1, 16, 16));
  EXPECT_FALSE(at(1, 15, 16));
  EXPECT_FALSE(at(0, 16, 16));
  EXPECT_TRUE(at(65536, 512, 1));
  EXPECT_FALSE(at(65537, 512, 1));
  EXPECT_FALSE(Legal(contract, {{{"T", 1}, {"E", 1}}, {}, {}}));
}

class DrawShapesTest : public testing::TestWithParam<const char*> {};

TEST_P(DrawShapesTest, IsLegalDistinctAndWithinLimits) {
  const Contract contract = Load(GetParam());
  const ShapeLimits limits;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Stream stream(Seed::FromNumber(seed));
    const std::vector<Shape> shapes = DrawShapes(contract, 24, limits, stream);
    EXPECT_EQ(shapes.size(), 24U);
    double most = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      EXPECT_TRUE(Legal(contract, shapes[i])) << Describe(contract, shapes[i]);
      EXPECT_LE(Operations(contract, shapes[i]).value(), limits.flops);
      most = std::max(most, Operations(contract, shapes[i]).value());
      for (size_t j = 0; j < i; ++j) EXPECT_FALSE(shapes[i] == shapes[j]);
    }
    EXPECT_GE(Operations(contract, shapes.back()).value(), limits.flops / 16) << Describe(contract, shapes.back());
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, DrawShapesTest,
                         testing::Values("gqa_attention", "quantized_gemm", "topk_softmax_router"));

TEST(DrawShapes, VisitsWhatBreaksKernels) {
  const Contract contract = Load("gqa_attention");
  std::set<int64_t> t_sizes, groups;
  int padded = 0, absent = 0, count = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Stream stream(Seed::FromNumber(seed));
    for (const Shape& shape : DrawShapes(contract, 40, {}, stream)) {
      t_sizes.insert(shape.axes.at("T"));
      groups.insert(shape.axes.at("H") / shape.axes.at("KV"));
      padded += shape.strides.at("ldk") > shape.axes.at("KV") * shape.axes.at("D") ? 1 : 0;
      absent += static_cast<int>(shape.absent_tensors.size());
      ++count;
    }
  }
  for (const int64_t wanted : {1, 63, 64, 65, 127, 128, 129}) EXPECT_TRUE(t_sizes.contains(wanted)) << wanted;
  EXPECT_GT(groups.size(), 5U);
  EXPECT_NEAR(padded, count / 2, count / 8);
  EXPECT_NEAR(absent, count / 2, count / 8);
}

TEST(DrawShapes, PutsOutputsAtTheAddressOfAnInput) {
  const Contract contract =
      LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/toy/toy_neighbours").value();
  Stream stream(Seed::FromNumber(1));
  int shared = 0, apart = 0;
  for (const Shape& shape : DrawShapes(contract, 40, {}, stream)) {
    (shape.aliases.empty() ? apart : shared) += 1;
    if (shape.aliases.empty()) continue;
    EXPECT_EQ(shape.aliases, (std::map<std::string, std::string>{{"y", "x"}}));
    EXPECT_THAT(Describe(contract, shape), HasSubstr(" y@x"));
  }
  EXPECT_GT(shared, 8);
  EXPECT_GT(apart, 8);
  // What is timed lies apart, with the scalar that the workload fixes.
  const Shape timed = WorkloadShape(contract, contract.workloads[0]).value();
  EXPECT_TRUE(timed.aliases.empty());
  EXPECT_EQ(timed.scalars, (std::map<std::string, double>{{"a", 0.5}}));
  EXPECT_THAT(Describe(contract, timed), HasSubstr(" a=0.5"));
  // Only where both lie in memory alike, and are there.
  Shape absent = timed;
  EXPECT_TRUE(MayShare(contract, *contract.FindTensor("y"), *contract.FindTensor("x"), absent));
  absent.absent_tensors.insert("x");
  EXPECT_FALSE(MayShare(contract, *contract.FindTensor("y"), *contract.FindTensor("x"), absent));
}

TEST(DrawShapes, DrawsEmptySizesWhereTheyAreAllowed) {
  Contract contract = Load("topk_softmax_router");
  contract.axes[0].min = 0;
  Stream stream(Seed::FromNumber(1));
  const std::vector<Shape> shapes = DrawShapes(contract, 4, {}, stream);
  EXPECT_TRUE(std::ranges::any_of(shapes, [](const Shape& shape) { return shape.axes.at("T") == 0; }));
}

TEST(DrawShapes, EndsWhereThereIsLittleToDraw) {
  Contract contract = Load("topk_softmax_router");
  contract.axes = {{"T", 4, 4, {4}, {}}, {"E", 8, 8, {8}, {}}, {"K", 2, 2, {2}, {}}};
  contract.workloads = {contract.workloads[0]};
  contract.workloads[0].axes = {{"T", 4}, {"E", 8}, {"K", 2}};
  Stream stream(Seed::FromNumber(1));
  const std::vector<Shape> few = DrawShapes(contract, 50, {}, stream);
  EXPECT_LE(few.size(), 2U);  // with and without the bias
  EXPECT_GE(few.size(), 1U);
  EXPECT_EQ(DrawShapes(contract, 5, {1.0, 1.0}, stream).size(), 1U);  // nothing fits, so the smallest workload
}

TEST(DrawShapes, IsReproducible) {
  const Contract contract = Load("gqa_attention");
  Stream one(Seed::FromNumber(3)), two(Seed::FromNumber(3)), other(Seed::FromNumber(4));
  const std::vector<Shape> shapes = DrawShapes(contract, 12, {}, one);
  EXPECT_EQ(shapes, DrawShapes(contract, 12, {}, two));
  EXPECT_NE(shapes, DrawShapes(contract, 12, {}, other));
}

}  // namespace
}  // namespace assay
