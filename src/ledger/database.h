// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;       // NOLINT: SQLite's own names
struct sqlite3_stmt;  // NOLINT

namespace assay {

// A thin owner of one SQLite connection; statements cannot outlive their scope.
class Database {
 public:
  static Result<Database> Open(const std::filesystem::path& path);
  Database(Database&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}
  Database& operator=(Database&&) = delete;
  ~Database();

  using Cell = std::variant<std::monostate, int64_t, double, std::string>;
  using Row = std::vector<Cell>;

  Status Execute(const std::string& sql);
  Status Run(std::string_view sql, const std::vector<Cell>& parameters);
  Result<std::vector<Row>> Query(std::string_view sql, const std::vector<Cell>& parameters);

 private:
  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  // The library's message under the file's name.
  Error Failed() const;
  Result<sqlite3_stmt*> Bind(std::string_view sql, const std::vector<Cell>& parameters);
  sqlite3* handle_ = nullptr;
  std::string path_;
};

// Rolled back unless committed: no path out of a scope leaves half a row.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_ = nullptr;
};

}  // namespace assay
