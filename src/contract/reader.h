// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "contract/config.h"
#include "contract/schema.h"

namespace assay {

// Names of arguments become C parameters and names in expressions.
bool IsArgumentName(std::string_view name);
// Names of contracts, workloads, relations, baselines and peers.
bool IsLabel(std::string_view name);
// A C identifier that a program may define: no keyword, nothing that the C library owns.
bool IsSymbol(std::string_view name);

inline constexpr std::string_view kArgumentNameRule =
    "a name has 1 to 32 letters, digits and _, starts with a letter and is no C++ keyword and no function of "
    "expressions";
inline constexpr std::string_view kLabelRule =
    "a name has 1 to 64 letters, digits, _, - and ., and starts with a letter or digit";

// One table of the file, already held to the schema: every key is known and of its type, so reading
// a key that is there cannot fail.
class Reader {
 public:
  // `path` is the table as the reader would write it: "tensor.q".
  static Result<Reader> Open(const std::string& file, const SchemaTable& schema, const ConfigNode& table,
                             std::string path, int line);

  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }
  int line() const { return line_; }
  bool Has(std::string_view key) const { return table_->Find(key) != nullptr; }
  const ConfigNode* Node(std::string_view key) const;
  int LineOf(std::string_view key) const;

  std::string Text(std::string_view key, std::string_view otherwise = "") const;
  int64_t Integer(std::string_view key, int64_t otherwise = 0) const;
  double Number(std::string_view key, double otherwise = 0) const;
  bool Truth(std::string_view key) const;
  std::vector<std::string> Texts(std::string_view key) const;
  std::vector<int64_t> Integers(std::string_view key) const;

  // "FILE:LINE: tensor.q.shape: what".
  Error At(std::string_view key, std::string_view what) const;
  Error AtTable(std::string_view what) const { return ConfigError(file_, line_, path_, what); }

 private:
  std::string file_, path_;
  int line_ = 0;
  const ConfigNode* table_ = nullptr;
};

}  // namespace assay
