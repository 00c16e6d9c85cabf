// SPDX-License-Identifier: Apache-2.0
#include "contract/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "contract/load.h"

namespace assay {
namespace {

using testing::HasSubstr;

Contract Load(const char* name, bool unsupported = false) {
  return LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/contracts" / name,
                      {.allow_unsupported = unsupported})
      .value();
}

TEST(Signature, IsTheEntryInCOrder) {
  EXPECT_EQ(EntryPrototype(Load("gqa_attention")),
            "void gqa_attention(const float* q, const float* k, const float* v, float* o, float* lse, int64_t B, "
            "int64_t T, int64_t H, "
            "int64_t KV, int64_t D, int64_t ldk, float scale)");
  const std::vector<ArgumentClass> classes = ArgumentClasses(Load("gqa_attention"));
  ASSERT_EQ(classes.size(), 12U);
  EXPECT_EQ(classes[0], ArgumentClass::kPointer);
  EXPECT_EQ(classes[5], ArgumentClass::kInt64);
  EXPECT_EQ(classes[11], ArgumentClass::kFloat);
}

TEST(Signature, AllowsPrepareOnlyWhereATensorHasIt) {
  const Contract gemm = Load("quantized_gemm", true);
  const std::string header = ContractHeader(gemm, {});
  EXPECT_THAT(header, HasSubstr("int64_t quantized_gemm_packed(int64_t M, int64_t N, int64_t K);"));
  EXPECT_THAT(
      header,
      HasSubstr("void quantized_gemm_prepare(const int8_t* w, int64_t M, int64_t N, int64_t K, void* packed);"));
  EXPECT_THAT(header, testing::Not(HasSubstr("_scratch")));
  EXPECT_EQ(AllowedExports(gemm).size(), 3U);
  EXPECT_EQ(AllowedExports(Load("gqa_attention")).size(), 1U);
  EXPECT_EQ(AllowedExports(Load("gqa_attention"), true)[1].name, "gqa_attention_info");
}

TEST(Signature, AllowsScratchOnlyWhereArgsListIt) {
  Contract contract = Load("gqa_attention");
  contract.arguments.push_back({ArgumentKind::kScratch, "scratch"});
  EXPECT_TRUE(TakesScratch(contract));
  EXPECT_THAT(ContractHeader(contract, {}), HasSubstr("float scale, void* scratch);"));
  EXPECT_THAT(ContractHeader(contract, {}), HasSubstr("int64_t gqa_attention_scratch(int64_t B,"));
}

TEST(Signature, DefinesKnobsAndWords) {
  const KnobDefault knobs[] = {{"TILE", "8", {}}, {"ORDER", "rows", {"cols", "rows"}}};
  const std::string header = ContractHeader(Load("gqa_attention"), knobs);
  EXPECT_THAT(header, HasSubstr("#ifndef TILE\n#define TILE 8\n#endif\n"));
  EXPECT_THAT(
      header,
      HasSubstr(
          "#ifndef ORDER_cols\n#define ORDER_cols 0\n#endif\n#ifndef ORDER_rows\n#define ORDER_rows 1\n#endif\n"));
  EXPECT_THAT(header, HasSubstr("#ifndef ORDER\n#define ORDER 1\n#endif\n"));
}

}  // namespace
}  // namespace assay
