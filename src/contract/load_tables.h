// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "contract/config.h"
#include "contract/contract.h"

namespace assay {

// Finds the line of a value for an error that is noticed long after it was read.
class Locator {
 public:
  Locator(std::string file, const ConfigNode& root) : file_(std::move(file)), root_(&root) {}
  const std::string& file() const { return file_; }
  const ConfigNode& root() const { return *root_; }
  // The deepest part of the path that exists gives the line.
  Error At(std::initializer_list<std::string_view> path, std::string_view what) const;

 private:
  std::string file_;
  const ConfigNode* root_;
};

// Steps of LoadContract, in order.  Each may assume that those before it succeeded.
Status ReadTables(const Locator& where, Contract& contract);      // the values, one by one
Status CheckNames(const Locator& where, Contract& contract);      // args, and every name that a value mentions
Status CheckShapes(const Locator& where, Contract& contract);     // require, workloads, layouts, generators
Status CollectFiles(const Locator& where, Contract& contract);    // the folder, includes, hash
Status FindSequences(const Locator& where, Contract& contract);   // of peers, beside the folder
Status FindNeighbours(const Locator& where, Contract& contract);  // of in-situ workloads, beside the folder

}  // namespace assay
