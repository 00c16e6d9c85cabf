// SPDX-License-Identifier: Apache-2.0
#include "ledger/database.h"

#include <sqlite3.h>

namespace assay {

Result<Database> Database::Open(const std::filesystem::path& path) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle, path.string());
  if (code != SQLITE_OK) return database.Failed();
  // A second process (the page, another command) may be reading or writing: wait, do not fail.
  sqlite3_busy_timeout(handle, 10'000);
  ASSAY_TRY_STATUS(database.Execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"));
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

Error Database::Failed() const {
  const int code = handle_ != nullptr ? sqlite3_errcode(handle_) : SQLITE_NOMEM;
  const ErrorCode kind = code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? ErrorCode::kCorrupt : ErrorCode::kIo;
  const std::string remedy =
      kind == ErrorCode::kCorrupt ? "; restore it from a copy, or move it away to begin a new ledger" : "";
  return Error{kind, path_ + ": " + (handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory") + remedy};
}

Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return Failed();
  return Ok();
}

Result<sqlite3_stmt*> Database::Bind(std::string_view sql, const std::vector<Cell>& parameters) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    return Failed();
  int index = 0;
  for (const Cell& cell : parameters) {
    ++index;
    int code = SQLITE_OK;
    if (const auto* number = std::get_if<int64_t>(&cell)) code = sqlite3_bind_int64(statement, index, *number);
    if (const auto* real = std::get_if<double>(&cell)) code = sqlite3_bind_double(statement, index, *real);
    if (const auto* text = std::get_if<std::string>(&cell)) {
      code = sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    if (code != SQLITE_OK) {
      sqlite3_finalize(statement);
      return Failed();
    }
  }
  return statement;
}

Status Database::Run(std::string_view sql, const std::vector<Cell>& parameters) {
  ASSAY_TRY(sqlite3_stmt * statement, Bind(sql, parameters));
  const int code = sqlite3_step(statement);
  const Status status = code == SQLITE_DONE ? Ok() : Status(Failed());
  sqlite3_finalize(statement);
  return status;
}

Result<std::vector<Database::Row>> Database::Query(std::string_view sql, const std::vector<Cell>& parameters) {
  ASSAY_TRY(sqlite3_stmt * statement, Bind(sql, parameters));
  std::vector<Row> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    Row row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      switch (sqlite3_column_type(statement, i)) {
        case SQLITE_INTEGER:
          row.emplace_back(int64_t{sqlite3_column_int64(statement, i)});
          break;
        case SQLITE_FLOAT:
          row.emplace_back(sqlite3_column_double(statement, i));
          break;
        case SQLITE_NULL:
          row.emplace_back(std::monostate{});
          break;
        default: {
          const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, i));
          row.emplace_back(
              std::string(bytes != nullptr ? bytes : "", static_cast<size_t>(sqlite3_column_bytes(statement, i))));
        }
      }
    }
    rows.push_back(std::move(row));
  }
  if (code != SQLITE_DONE) {
    Error error = Failed();
    sqlite3_finalize(statement);
    return error;
  }
  sqlite3_finalize(statement);
  return rows;
}

Result<Transaction> Transaction::Begin(Database& database) {
  ASSAY_TRY_STATUS(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) static_cast<void>(database_->Execute("ROLLBACK"));
}

Status Transaction::Commit() {
  ASSAY_TRY_STATUS(database_->Execute("COMMIT"));
  database_ = nullptr;
  return Ok();
}

}  // namespace assay
