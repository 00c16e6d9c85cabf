// SPDX-License-Identifier: Apache-2.0
#include "contract/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "contract/element.h"
#include "contract/generator.h"
#include "contract/normal_fill.h"
#include "contract/recording.h"

namespace assay {
namespace {

constexpr int64_t kRows = 64, kColumns = 128;

Tensor MakeTensor(DType dtype, std::string_view rows = "R", std::string_view columns = "C") {
  Tensor tensor;
  tensor.name = "x";
  tensor.dtype = dtype;
  tensor.shape = {Expression::Parse(rows).value(), Expression::Parse(columns).value()};
  return tensor;
}

Shape MakeShape(int64_t rows = kRows, int64_t columns = kColumns) { return {{{"R", rows}, {"C", columns}}, {}, {}}; }

std::vector<double> Filled(DType dtype, std::string_view generator, uint64_t seed = 1, int64_t rows = kRows) {
  const Tensor tensor = MakeTensor(dtype);
  const Shape shape = MakeShape(rows);
  const TensorLayout layout = LayoutOf({}, tensor, shape).value();
  std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span) + 64, std::byte{0x5A});
  Stream stream(Seed::FromNumber(seed));
  FillTensor(tensor, layout, ParseGenerator(generator).value(), shape, bytes, stream);
  for (size_t i = static_cast<size_t>(layout.byte_span); i < bytes.size(); ++i) EXPECT_EQ(bytes[i], std::byte{0x5A});
  std::vector<double> values;
  for (int64_t i = 0; i < layout.element_count; ++i) values.push_back(LoadElement(dtype, bytes, i));
  return values;
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0, most = 0;
};
Moments MomentsOf(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.mean += v / static_cast<double>(values.size());
  for (const double v : values) {
    const double d = v - m.mean;
    m.variance += d * d / static_cast<double>(values.size());
    m.fourth += d * d * d * d / static_cast<double>(values.size());
    m.most = std::max(m.most, std::abs(v));
  }
  return m;
}

TEST(FillNormal, IsNormal) {
  std::vector<float> values(1 << 20);
  Stream stream(Seed::FromNumber(1));
  FillNormal(std::span(values), stream);
  const Moments m = MomentsOf({values.begin(), values.end()});
  EXPECT_NEAR(m.mean, 0, 0.005);
  EXPECT_NEAR(m.variance, 1, 0.01);
  EXPECT_NEAR(m.fourth, 3, 0.05);
  EXPECT_GT(m.most, 4.5);
  EXPECT_LT(m.most, 6.5);
  // The largest gap between the two distribution functions; 1.95/sqrt(n) is its 0.1 % limit.
  std::ranges::sort(values);
  double gap = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = 0.5 * std::erfc(-double{values[i]} / std::sqrt(2.0));
    gap = std::max(gap, std::abs(expected - static_cast<double>(i) / static_cast<double>(values.size())));
  }
  EXPECT_LT(gap, 1.95 / std::sqrt(static_cast<double>(values.size())));
}

TEST(FillNormal, HasTheStatedAccuracy) {
  for (double tail = 0.4999; tail > 3e-9; tail *= 0.97) {
    const auto draw = static_cast<uint32_t>(tail * 0x1p32);
    float value = std::bit_cast<float>(draw);
    NormalFromBits(std::span(&value, 1));
    const double p = (draw + 0.5) * 0x1p-32;
    const double error = std::abs(0.5 * std::erfc(double{value} / std::sqrt(2.0)) - p);
    // One part in 10^4 of z, as a change of the tail probability.
    const double density = std::exp(-0.5 * value * value) / std::sqrt(2 * 3.14159265358979);
    EXPECT_LE(error, 1.2e-4 * value * density + 1e-7) << p;
  }
}

TEST(FillNormal, GivesTheSameBitsWithAndWithoutExtensions) {
  std::vector<float> one(100003), two;
  Stream stream(Seed::FromNumber(2));
  stream.Fill(std::as_writable_bytes(std::span(one)));
  two = one;
  NormalFromBits(one);
  NormalFromBitsPlainly(two);
  EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0);
}

TEST(FillTensor, FollowsEachGenerator) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBf16, DType::kF16}) {
    SCOPED_TRACE(Info(dtype).name);
    const Moments shifted = MomentsOf(Filled(dtype, "normal(3, 2)"));
    EXPECT_NEAR(shifted.mean, 3, 0.15);
    EXPECT_NEAR(shifted.variance, 4, 0.3);
    const std::vector<double> uniform = Filled(dtype, "uniform(-1, 3)");
    EXPECT_NEAR(MomentsOf(uniform).mean, 1, 0.1);
    EXPECT_NEAR(MomentsOf(uniform).variance, 16.0 / 12, 0.1);
    EXPECT_THAT(uniform, testing::Each(testing::AllOf(testing::Ge(-1.0), testing::Le(3.0))));
    EXPECT_THAT(Filled(dtype, "loguniform(1e-3, 1)"),
                testing::Each(testing::AllOf(testing::Ge(0.99e-3), testing::Le(1.0))));
    EXPECT_THAT(Filled(dtype, "constant(-2)"), testing::Each(-2.0));
    EXPECT_NEAR(MomentsOf(Filled(dtype, "offset(10)")).mean, 10, 0.1);
  }
}

TEST(FillTensor, MakesRowsThatDiffer) {
  const std::vector<double> ladder = Filled(DType::kF32, "ladder(1e-4, 1e4)");
  double smallest = 1e9, largest = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    const std::vector<double> row(ladder.begin() + r * kColumns, ladder.begin() + (r + 1) * kColumns);
    const double deviation = std::sqrt(MomentsOf(row).variance);
    smallest = std::min(smallest, deviation);
    largest = std::max(largest, deviation);
  }
  EXPECT_LT(smallest, 1e-2);
  EXPECT_GT(largest, 1e2);

  const std::vector<double> outliers = Filled(DType::kF32, "outliers(0.01, 1e6)", 1, 1024);
  const auto big = std::ranges::count_if(outliers, [](double v) { return std::abs(v) > 100; });
  EXPECT_NEAR(static_cast<double>(big), 1311, 150);

  const std::vector<double> sorted = Filled(DType::kF32, "sorted");
  const std::vector<double> ties = Filled(DType::kF32, "ties(0.5)");
  const std::vector<double> clustered = Filled(DType::kF32, "clustered");
  for (int64_t r = 0; r < kRows; ++r) {
    const auto begin = r * kColumns, end = begin + kColumns;
    EXPECT_TRUE(std::is_sorted(sorted.begin() + begin, sorted.begin() + end));
    const size_t distinct = std::set<double>(ties.begin() + begin, ties.begin() + end).size();
    EXPECT_LT(distinct, static_cast<size_t>(kColumns));
    EXPECT_GT(distinct, static_cast<size_t>(kColumns) / 2);
    EXPECT_LE(std::set<double>(clustered.begin() + begin, clustered.begin() + end).size(), 8U);
  }
  EXPECT_NEAR(MomentsOf(sorted).variance, 1, 0.05);
}

TEST(FillTensor, ReachesTheEdgesOfTheFormat) {
  for (const auto& [dtype, normal] : std::map<DType, double>{{DType::kF32, 0x1p-126},
                                                             {DType::kBf16, 0x1p-126},
                                                             {DType::kF16, 0x1p-14},
                                                             {DType::kE4m3, 0x1p-6},
                                                             {DType::kF64, 0x1p-1022}}) {
    const std::vector<double> values = Filled(dtype, "subnormal");
    EXPECT_TRUE(std::ranges::all_of(values, [&, n = normal](double v) { return std::abs(v) < n; })) << Info(dtype).name;
    EXPECT_TRUE(std::ranges::any_of(values, [](double v) { return v != 0; })) << Info(dtype).name;
    const std::vector<double> special = Filled(dtype, "special");
    EXPECT_TRUE(std::ranges::any_of(special, [](double v) { return std::isnan(v); })) << Info(dtype).name;
    EXPECT_TRUE(std::ranges::any_of(special, [](double v) { return v == 0 && std::signbit(v); })) << Info(dtype).name;
    // Nothing else leaves the finite numbers, however large its factors.
    EXPECT_TRUE(std::ranges::all_of(Filled(dtype, "ladder(1e30, 1e30)"), [](double v) { return std::isfinite(v); }))
        << Info(dtype).name;
  }
}

TEST(FillTensor, KeepsIntegersInRange) {
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI4, DType::kI32, DType::kI64}) {
    SCOPED_TRACE(Info(dtype).name);
    const std::vector<double> all = Filled(dtype, "any", 1, 1024);
    EXPECT_THAT(all, testing::Each(testing::AllOf(testing::Ge(LowestOf(dtype)), testing::Le(HighestOf(dtype)))));
    const std::vector<double> few = Filled(dtype, "uniform(1, 3)");
    EXPECT_EQ(std::set<double>(few.begin(), few.end()), (std::set<double>{1, 2, 3}));
    EXPECT_THAT(Filled(dtype, "constant(5)"), testing::Each(5.0));
    EXPECT_THAT(Filled(dtype, "uniform(-1e30, 1e30)"),
                testing::Each(testing::AllOf(testing::Ge(LowestOf(dtype)), testing::Le(HighestOf(dtype)))));
  }
  const std::vector<double> bytes = Filled(DType::kI8, "uniform(-128, 127)", 1, 1024);
  EXPECT_EQ(std::set<double>(bytes.begin(), bytes.end()).size(), 256U);
}

TEST(FillTensor, KeepsIndicesInTheirRange) {
  Tensor tensor = MakeTensor(DType::kI32);
  tensor.range = {Expression::Parse("0").value(), Expression::Parse("C - 1").value()};
  const Shape shape = MakeShape();
  const TensorLayout layout = LayoutOf({}, tensor, shape).value();
  std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
  Stream stream(Seed::FromNumber(1));
  for (const char* generator : {"any", "normal(0, 1e6)", "uniform(-5, 1e9)"}) {
    FillTensor(tensor, layout, ParseGenerator(generator).value(), shape, bytes, stream);
    for (int64_t i = 0; i < layout.element_count; ++i) {
      const double value = LoadElement(DType::kI32, bytes, i);
      ASSERT_TRUE(value >= 0 && value < kColumns);
    }
  }
}

TEST(FillTensor, DrawsStretchesOfWhatWasRecorded) {
  // Row r of ten holds 100 r, 100 r + 1, ...: every element says where it came from.
  auto recorded = std::make_shared<Recording>();
  recorded->row_length = 100;
  for (int64_t i = 0; i < 1000; ++i) recorded->values.push_back(static_cast<double>(i));
  Generator generator = ParseGenerator("captured").value();
  generator.recorded = recorded;
  for (const int64_t columns : {7, 100, 250}) {
    const Tensor tensor = MakeTensor(DType::kF32);
    const Shape shape = MakeShape(kRows, columns);
    const TensorLayout layout = LayoutOf({}, tensor, shape).value();
    std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
    Stream stream(Seed::FromNumber(1));
    FillTensor(tensor, layout, generator, shape, bytes, stream);
    std::set<double> starts;
    for (int64_t r = 0; r < kRows; ++r) {
      const double first = LoadElement(DType::kF32, bytes, r * columns);
      starts.insert(first);
      // Within one recorded row where it is long enough, else on into the next ones.
      EXPECT_LE(std::fmod(first, 100), columns < 100 ? 100.0 - static_cast<double>(columns) : 0.0);
      for (int64_t c = 0; c < columns; ++c)
        ASSERT_EQ(LoadElement(DType::kF32, bytes, r * columns + c), std::fmod(first + static_cast<double>(c), 1000));
    }
    EXPECT_GT(starts.size(), columns < 100 ? 40U : 7U);
  }
  // What the tensor's type cannot hold is its largest number.
  recorded->values.assign(1000, 1e6);
  const Tensor tensor = MakeTensor(DType::kF16);
  const Shape shape = MakeShape();
  const TensorLayout layout = LayoutOf({}, tensor, shape).value();
  std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
  Stream stream(Seed::FromNumber(1));
  FillTensor(tensor, layout, generator, shape, bytes, stream);
  EXPECT_EQ(LoadElement(DType::kF16, bytes, 5), 65504);
}

TEST(FillTensor, DrawsAnyBitsByPolicy) {
  for (const bool special : {false, true}) {
    Tensor tensor = MakeTensor(DType::kE5m2);
    tensor.special = special;
    const Shape shape = MakeShape();
    const TensorLayout layout = LayoutOf({}, tensor, shape).value();
    std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
    Stream stream(Seed::FromNumber(1));
    FillTensor(tensor, layout, ParseGenerator("any").value(), shape, bytes, stream);
    std::set<std::byte> codes(bytes.begin(), bytes.end());
    int not_finite = 0;
    for (int64_t i = 0; i < layout.element_count; ++i) {
      if (!std::isfinite(LoadElement(DType::kE5m2, bytes, i))) ++not_finite;
    }
    // Eight of its 256 codes are NaN or infinite; the six NaNs come as one of each sign.
    EXPECT_EQ(not_finite > 0, special);
    EXPECT_EQ(codes.size(), special ? 252U : 248U);
  }
}

TEST(DrawScalars, LeavesWhatTheWorkloadFixesAndWhatTheProgramSets) {
  Contract contract;
  contract.scalars = {{"a", DType::kF32, {ParseScalarRegime("uniform(2, 3)").value()}, ""},
                      {"b", DType::kF32, {ParseScalarRegime("uniform(2, 3)").value()}, ""},
                      {"c", DType::kF32, {}, "inputs.cpp"}};
  Shape shape = MakeShape();
  shape.scalars["b"] = 0.1;
  Stream stream(Seed::FromNumber(1));
  const std::vector<double> drawn = DrawScalars(contract, shape, stream, false);
  ASSERT_EQ(drawn.size(), 3U);
  EXPECT_TRUE(drawn[0] >= 2 && drawn[0] <= 3);
  EXPECT_EQ(drawn[1], double{0.1F});
  EXPECT_TRUE(std::isnan(drawn[2]));
}

TEST(FillTensor, PoisonsGaps) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBf16, DType::kF16, DType::kE4m3, DType::kE5m2}) {
    Tensor tensor = MakeTensor(dtype);
    tensor.stride = {"ld", ""};
    Shape shape = MakeShape();
    shape.strides["ld"] = kColumns + 3;
    const TensorLayout layout = LayoutOf({}, tensor, shape).value();
    ASSERT_TRUE(layout.padded);
    std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
    Stream stream(Seed::FromNumber(1));
    FillTensor(tensor, layout, ParseGenerator("normal(0, 1)").value(), shape, bytes, stream);
    const int64_t elements = (kRows - 1) * (kColumns + 3) + kColumns;
    for (int64_t i = 0; i < elements; ++i)
      EXPECT_EQ(std::isnan(LoadElement(dtype, bytes, i)), i % (kColumns + 3) >= kColumns) << Info(dtype).name << i;
  }
}

TEST(FillTensor, GivesAPaddedTensorTheSameValues) {
  Tensor tensor = MakeTensor(DType::kF32);
  tensor.stride = {"ld", ""};
  const std::vector<double> dense = Filled(DType::kF32, "ladder(1e-2, 1e2)");
  Shape shape = MakeShape();
  shape.strides["ld"] = kColumns + 5;
  const TensorLayout layout = LayoutOf({}, tensor, shape).value();
  std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
  Stream stream(Seed::FromNumber(1));
  FillTensor(tensor, layout, ParseGenerator("ladder(1e-2, 1e2)").value(), shape, bytes, stream);
  for (int64_t i = 0; i < layout.element_count; ++i)
    EXPECT_EQ(LoadElement(DType::kF32, bytes, ElementOffset(layout, i)), dense[static_cast<size_t>(i)]);
}

TEST(FillMixed, MixesAndKeepsTheFirstRegime) {
  Tensor tensor = MakeTensor(DType::kF32);
  for (const char* text : {"constant(1)", "constant(2)", "normal(100, 1)"})
    tensor.values.push_back(ParseGenerator(text).value());
  const Shape shape = MakeShape();
  const TensorLayout layout = LayoutOf({}, tensor, shape).value();
  std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
  Stream stream(Seed::FromNumber(1));
  double first = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const MixReport report = FillMixed(tensor, layout, shape, bytes, stream);
    std::map<int, int64_t> seen;
    for (int64_t i = 0; i < layout.element_count; ++i) {
      const double value = LoadElement(DType::kF32, bytes, i);
      ++seen[value == 1 ? 0 : value == 2 ? 1 : 2];
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(seen[i], report.elements_by_regime[static_cast<size_t>(i)]);
    EXPECT_LT(report.elements_by_regime[0], layout.element_count);
    EXPECT_TRUE(report.structured);
    first += static_cast<double>(report.elements_by_regime[0]) / static_cast<double>(layout.element_count) / kRounds;
  }
  EXPECT_NEAR(first, 0.5, 0.1);
}

TEST(FillMixed, CutsAVector) {
  Tensor tensor = MakeTensor(DType::kF32);
  tensor.shape = {Expression::Parse("C").value()};
  for (const char* text : {"constant(1)", "constant(2)"}) tensor.values.push_back(ParseGenerator(text).value());
  Stream stream(Seed::FromNumber(1));
  for (const int64_t size : {0, 1, 2, 17, 1000}) {
    const Shape shape = MakeShape(1, size);
    const TensorLayout layout = LayoutOf({}, tensor, shape).value();
    std::vector<std::byte> bytes(static_cast<size_t>(layout.byte_span));
    const MixReport report = FillMixed(tensor, layout, shape, bytes, stream);
    EXPECT_EQ(report.elements_by_regime[0] + report.elements_by_regime[1], size);
    EXPECT_TRUE(size < 17 || report.elements_by_regime[1] > 0);
  }
}

TEST(Structured, TellsEqualAndOrderedValuesFromRandomOnes) {
  for (const char* text : {"constant(1)", "sorted", "ties(0.1)", "clustered", "captured"})
    EXPECT_TRUE(Structured(ParseGenerator(text).value())) << text;
  for (const char* text : {"offset(1e4)", "offset(-129)", "normal(1000, 1)", "uniform(1000, 1001)"})
    EXPECT_TRUE(Structured(ParseGenerator(text).value())) << text;
  for (const char* text : {"offset(100)", "offset(-127)", "normal(1, 0.1)", "uniform(-1e4, 1e4)", "normal(0, 1)",
                           "uniform(0, 1)", "ladder(1, 2)", "outliers(0.1, 2)", "offset(1)", "any"}) {
    EXPECT_FALSE(Structured(ParseGenerator(text).value())) << text;
  }
}

TEST(DrawScalar, RoundsToItsType) {
  Scalar scalar{
      "s", DType::kF32, {ParseScalarRegime("1/sqrt(R)").value(), ParseScalarRegime("uniform(2, 3)").value()}, ""};
  const Shape shape = MakeShape(3);
  Stream stream(Seed::FromNumber(1));
  EXPECT_EQ(DrawScalar(scalar, shape, stream, true), double{static_cast<float>(1 / std::sqrt(3.0))});
  bool second = false;
  for (int i = 0; i < 50; ++i) second = second || DrawScalar(scalar, shape, stream, false) >= 2;
  EXPECT_TRUE(second);
  scalar = {"z", DType::kI32, {ParseScalarRegime("uniform(-1, 1)").value()}, ""};
  std::set<double> seen;
  for (int i = 0; i < 100; ++i) seen.insert(DrawScalar(scalar, shape, stream, true));
  EXPECT_EQ(seen, (std::set<double>{-1, 0, 1}));
}

TEST(Element, RoundsToNearestEven) {
  struct Case {
    DType dtype;
    double value, stored;
  };
  const Case cases[] = {
      {DType::kBf16, 1.00390625, 1.0},
      {DType::kBf16, 1.01171875, 1.015625},
      {DType::kF16, 65504, 65504},
      {DType::kF16, 65519, 65504},
      {DType::kF16, 0x1p-24, 0x1p-24},
      {DType::kF16, 0x1p-26, 0},
      {DType::kE4m3, 448, 448},
      {DType::kE4m3, 460, 448},
      {DType::kE5m2, 57344, 57344},
      {DType::kE4m3, 0x1p-9, 0x1p-9},
      {DType::kE2m1, 5.0, 4.0},
      {DType::kE2m1, -100.0, -6.0},
      {DType::kE8m0, 3.0, 4.0},
      {DType::kE8m0, 0.0, 0x1p-127},
      {DType::kI8, 200, 127},
      {DType::kI8, 2.5, 2},
      {DType::kI4, -9, -8},
      {DType::kU8, -1, 0},
      {DType::kI64, 1e30, 0x1p63},
      {DType::kF32, 0.1, double{0.1F}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(DecodeElement(c.dtype, EncodeElement(c.dtype, c.value)), c.stored) << Info(c.dtype).name << c.value;
    if (!Info(c.dtype).is_float) continue;
    std::vector<std::byte> bytes(16);
    const auto value = static_cast<float>(c.value);
    StoreRow(c.dtype, bytes, 1, std::span(&value, 1));
    EXPECT_EQ(LoadElement(c.dtype, bytes, 1), c.stored) << Info(c.dtype).name << c.value;
  }
  EXPECT_TRUE(std::isinf(DecodeElement(DType::kF16, EncodeElement(DType::kF16, 65520))));
  EXPECT_TRUE(std::isnan(DecodeElement(DType::kE4m3, EncodeElement(DType::kE4m3, 480))));
}

}  // namespace
}  // namespace assay
