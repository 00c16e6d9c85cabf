// SPDX-License-Identifier: Apache-2.0
#include "verify/examination.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "contract/load.h"
#include "contract/shape.h"

namespace assay {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;

int64_t Compared(const Contract& contract, const std::map<std::string, int64_t>& axes) {
  return SlicesOf(contract, DenseShape(contract, axes).value(), 3e6, 50'000);
}

// Every check compares some slices of a call: sixteen where they are rows of some size, more where they
// are small, and of rows of a whole vocabulary as many as a check has time for, never under four.
TEST(Examined, SlicesBySize) {
  const auto loaded = LoadContract(kSource / "contracts/cross_entropy");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Contract& contract = loaded.value();
  EXPECT_EQ(Compared(contract, {{"T", 16}, {"V", 151936}}), 4);
  EXPECT_EQ(Compared(contract, {{"T", 64}, {"V", 20000}}), 9);
  EXPECT_EQ(Compared(contract, {{"T", 1024}, {"V", 8192}}), 16);
  EXPECT_EQ(Compared(contract, {{"T", 8192}, {"V", 8}}), 512);
  EXPECT_EQ(Compared(contract, {{"T", 3}, {"V", 151936}}), 3) << "all there are";
}

}  // namespace
}  // namespace assay
