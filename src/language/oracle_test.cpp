// SPDX-License-Identifier: Apache-2.0
#include "language/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "language/testing/toy_contract.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using testing::ToyContract;
using testing::ToyShape;

constexpr const char* kReference = R"(#include <assay/reference.h>

template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const auto [t] = slice.index<1>();
  const auto x = a.row("x", t);
  for (int64_t i = 0; i < a.axis("N"); ++i) a.out("y", t, i) = x[i] * Real(2) + a.scalar("bias");
}
)";

class OracleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::Create("assay-oracle-test-");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(folder).value());
    contract_.reference = folder_->path() / "contract/reference.h";
    std::filesystem::create_directories(folder_->path() / "contract");
  }

  Contract contract_ = ToyContract();
  std::optional<TemporaryFolder> folder_;
};

TEST_F(OracleTest, AnswersSlicesOfStridedOutputs) {
  ASSERT_TRUE(WriteFileAtomically(contract_.reference, kReference).ok());
  auto oracle = Oracle::Start(contract_, folder_->path() / "cache", 2);
  ASSERT_TRUE(oracle.ok()) << oracle.error().message;
  // The sizes grow, so that the process is replaced on the way.
  for (const int64_t rows : {4, 700}) {
    SCOPED_TRACE(rows);
    const Shape shape = ToyShape(rows, 3, 5);
    std::vector<float> x(static_cast<size_t>(rows) * 3);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 0.25F;
    const double bias = 0.5;
    const std::span<const std::byte> tensors[] = {std::as_bytes(std::span(x)), {}};
    ASSERT_TRUE(oracle.value()->Load({&shape, std::span(&bias, 1), tensors}).ok());
    std::vector<int64_t> slices;
    for (int64_t t = rows - 1; t >= 0; t -= 2) slices.push_back(t);
    OracleQuery query;
    query.arithmetic = Arithmetic::kBounded;
    const auto answer = oracle.value()->Evaluate(query, slices);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    ASSERT_EQ(answer.value().slice_begin.size(), slices.size() + 1);
    for (size_t s = 0; s < slices.size(); ++s) {
      ASSERT_EQ(answer.value().slice(s).size(), 3U);
      for (size_t i = 0; i < 3; ++i) {
        const OracleOutput& output = answer.value().slice(s)[i];
        EXPECT_EQ(output.tensor, 1);
        EXPECT_EQ(output.element, slices[s] * 5 + static_cast<int64_t>(i));
        EXPECT_EQ(output.value, 2.0 * x[static_cast<size_t>(slices[s]) * 3 + i] + 0.5);
        EXPECT_TRUE(output.bound >= 0);
      }
    }
  }
  EXPECT_TRUE(oracle.value()->Evaluate(OracleQuery{}, {}).value().outputs.empty());
}

TEST_F(OracleTest, TheAuthorsMistakesAreErrors) {
  ASSERT_TRUE(
      WriteFileAtomically(contract_.reference,
                          "#include <assay/reference.h>\ntemplate <class R> void Reference(int) { undeclared; }\n")
          .ok());
  const auto broken = Oracle::Start(contract_, folder_->path() / "cache");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(broken.error().message, HasSubstr("the reference does not compile"));
}

}  // namespace
}  // namespace assay
