// SPDX-License-Identifier: Apache-2.0
#include "language/inputs_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>

#include "base/file.h"
#include "contract/load.h"
#include "contract/values.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kGather = fs::path(ASSAY_SOURCE_DIR) / "tests/data/toy/toy_gather";

// One call of toy_gather: x is drawn here, row, begin and gain are the program's.
struct Drawn {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<double> scalars;
  Status status = Ok();

  double At(size_t tensor, DType dtype, int64_t element) const { return LoadElement(dtype, bytes[tensor], element); }
};

Drawn DrawAll(const Contract& contract, const Shape& shape, uint64_t seed) {
  Drawn drawn;
  Stream stream(Seed::FromNumber(seed));
  for (const Tensor& tensor : contract.tensors) {
    const TensorLayout layout = LayoutOf(contract, tensor, shape).value();
    drawn.bytes.emplace_back(static_cast<size_t>(layout.byte_span), std::byte{0x77});
    if (!tensor.values.empty()) FillTensor(tensor, layout, tensor.values.front(), shape, drawn.bytes.back(), stream);
  }
  drawn.scalars = DrawScalars(contract, shape, stream, false);
  drawn.status = FillFromProgram(
      contract, shape, drawn.scalars, [&](size_t t) { return std::span(drawn.bytes[t]); }, Seed::FromNumber(seed));
  return drawn;
}

Shape GatherShape(const Contract& contract) {
  return DenseShape(contract, {{"R", 7}, {"N", 5}, {"M", 30}, {"S", 4}}).value();
}

TEST(InputsProgram, FillsWhatSaysSoFromItsSeedAlone) {
  const auto contract = LoadContract(kGather);
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  const Shape shape = GatherShape(contract.value());
  const Drawn one = DrawAll(contract.value(), shape, 1), again = DrawAll(contract.value(), shape, 1),
              other = DrawAll(contract.value(), shape, 2);
  ASSERT_TRUE(one.status.ok()) << one.status.error().message;
  EXPECT_EQ(one.bytes, again.bytes);
  EXPECT_EQ(one.scalars, again.scalars);
  EXPECT_NE(one.bytes[1], other.bytes[1]);
  std::set<double> rows;
  for (int64_t i = 0; i < 30; ++i) rows.insert(one.At(1, DType::kI32, i));
  EXPECT_GE(*rows.begin(), 0);
  EXPECT_LE(*rows.rbegin(), 6);
  EXPECT_GT(rows.size(), 3U);
  EXPECT_EQ(one.At(2, DType::kI64, 0), 0);
  EXPECT_EQ(one.At(2, DType::kI64, 4), 30);
  // It saw what was drawn before it.
  double largest = 0;
  for (int64_t n = 0; n < 5; ++n) largest = std::max(largest, std::abs(one.At(0, DType::kF32, n)));
  EXPECT_FLOAT_EQ(static_cast<float>(one.scalars[0]), static_cast<float>(1 / (1 + largest)));
}

TEST(InputsProgram, LeavesAScalarThatTheWorkloadFixes) {
  const auto contract = LoadContract(kGather);
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  Shape shape = GatherShape(contract.value());
  shape.scalars["gain"] = 0.25;
  const Drawn drawn = DrawAll(contract.value(), shape, 1);
  ASSERT_TRUE(drawn.status.ok()) << drawn.status.error().message;
  EXPECT_EQ(drawn.scalars, std::vector<double>{0.25});
}

TEST(InputsProgram, TellsTheAuthorWhatIsWrong) {
  struct Case {
    const char* name;
    const char* body;
    const char* says;
  };
  const std::string good =
      "auto row = draw.tensor(\"row\"), begin = draw.tensor(\"begin\");\n"
      "for (int64_t i = 0; i < row.size(); ++i) row.set(i, 0);\n"
      "for (int64_t i = 0; i < begin.size(); ++i) begin.set(i, 0);\n"
      "draw.set_scalar(\"gain\", 1);\n";
  const Case cases[] = {
      {"does not compile", "no such thing", "does not compile"},
      {"unknown tensor", "draw.tensor(\"z\");", "asks for tensor \"z\""},
      {"an output", "draw.tensor(\"y\");", "asks for tensor \"y\""},
      {"unknown axis", "draw.axis(\"Q\");", "asks for axis \"Q\""},
      {"index out of range", "row.set(30, 0);", "30 elements"},
      {"wrong rank", "draw.tensor(\"x\").get({0});", "2 dimensions"},
      {"sets what was drawn", "auto x = draw.tensor(\"x\"); x.set(0, 1);", "drawn by its generators"},
      {"does not fit the type", "row.set(0, 1e10);", "does not fit i32"},
      {"outside of its range", "row.set(0, 7);", "keep within its range, 0 to 6"},
      {"no number", "draw.set_scalar(\"gain\", 0.0 / draw.axis(\"R\") / 0.0);", "scalar \"gain\""},
      {"crash", "*(volatile int*)8 = 1;", "ended its process"},
      {"exception", "throw 1;", "threw"},
  };
  auto folder = TemporaryFolder::Create("assay-inputs-test-");
  ASSERT_TRUE(folder.ok());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const fs::path copy = folder.value().path() / std::to_string(&c - cases);
    fs::copy(kGather, copy, fs::copy_options::recursive);
    const std::string source = "#include <assay/draw.h>\nvoid Inputs(assay::Draw& draw) {\n" + good + c.body + "\n}\n";
    ASSERT_TRUE(WriteFileAtomically(copy / "inputs.cpp", source).ok());
    const auto contract = LoadContract(copy);
    ASSERT_TRUE(contract.ok()) << contract.error().message;
    const Drawn drawn = DrawAll(contract.value(), GatherShape(contract.value()), 1);
    ASSERT_FALSE(drawn.status.ok());
    EXPECT_EQ(drawn.status.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(drawn.status.error().message, HasSubstr("inputs.cpp"));
    EXPECT_THAT(drawn.status.error().message, HasSubstr(c.says));
  }
  const fs::path copy = folder.value().path() / "unset";
  fs::copy(kGather, copy, fs::copy_options::recursive);
  ASSERT_TRUE(WriteFileAtomically(copy / "inputs.cpp", "#include <assay/draw.h>\nvoid Inputs(assay::Draw&) {}\n").ok());
  const auto contract = LoadContract(copy);
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  const Drawn drawn = DrawAll(contract.value(), GatherShape(contract.value()), 1);
  ASSERT_FALSE(drawn.status.ok());
  EXPECT_THAT(drawn.status.error().message, HasSubstr("left unset"));
}

}  // namespace
}  // namespace assay
