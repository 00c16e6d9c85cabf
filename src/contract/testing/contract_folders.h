// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/file.h"

namespace assay::testing {

// A folder of contracts that name each other, for what is read of several.
class ContractFolders : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view toml) {
    const std::filesystem::path folder = root_.path() / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "contract.toml") << toml;
    std::ofstream(folder / "reference.h") << "#include <assay/reference.h>\n";
    std::ofstream(folder / "baseline.cpp") << "\n";
  }

  TemporaryFolder root_ = TemporaryFolder::Create("assay-contracts-").value();
};

}  // namespace assay::testing
