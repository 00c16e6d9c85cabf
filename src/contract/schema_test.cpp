// SPDX-License-Identifier: Apache-2.0
#include "contract/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/file.h"

namespace assay {
namespace {

TEST(Schema, StandsInTheReferencePage) {
  const std::string page = ReadFile(std::filesystem::path(ASSAY_SOURCE_DIR) / "docs/contract.md").value();
  EXPECT_NE(page.find(SchemaMarkdown()), std::string::npos)
      << "docs/contract.md and the schema differ; put this between its two schema marks:\n"
      << SchemaMarkdown();
}

TEST(Schema, NamesEachKeyOnceAndExplainsIt) {
  std::set<std::string_view> tables;
  for (const SchemaTable& table : Schema()) {
    EXPECT_TRUE(tables.insert(table.name).second) << table.name;
    std::set<std::string_view> keys;
    for (const SchemaKey& key : table.keys) {
      EXPECT_TRUE(keys.insert(key.name).second) << table.name << "." << key.name;
      EXPECT_FALSE(key.meaning.empty()) << table.name << "." << key.name;
      EXPECT_EQ(key.type == KeyType::kChoice, !key.choices.empty()) << table.name << "." << key.name;
    }
  }
}

}  // namespace
}  // namespace assay
