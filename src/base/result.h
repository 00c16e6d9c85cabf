// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace assay {

// kInvalidInput is the only code that the user caused: the doors map it to exit 4, all others to 3.
enum class ErrorCode { kInvalidInput, kNotFound, kUnavailable, kIo, kCorrupt, kInterrupted };

// The harness could not do its work.  A candidate that fails to compile, crashes, or computes a
// wrong answer is not an Error: it is a value and ends in the ledger.
struct Error {
  ErrorCode code;
  std::string message;
};

// Puts what the caller was doing in front of what went wrong beneath it.
inline Error Annotate(Error error, std::string_view doing) {
  error.message.insert(0, std::string(doing) + ": ");
  return error;
}

// "WHAT: strerror(errno_value)" as a kIo error; keeps the number readable in a report.
Error SystemError(std::string_view what, int errno_value);

template <typename T>
class [[nodiscard]] Result {
  static_assert(std::is_object_v<T> && !std::is_same_v<T, Error>);

 public:
  // Implicit on purpose, so that `return value;` and `return Error{...};` read well.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }

  const T& value() const& {
    ASSAY_CHECK(ok());
    return std::get<0>(state_);
  }
  T& value() & {
    ASSAY_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    ASSAY_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  const Error& error() const& {
    ASSAY_CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    ASSAY_CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;
inline Status Ok() { return std::monostate{}; }

}  // namespace assay

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)

// Expands to three statements: never the body of an unbraced `if`.
#define ASSAY_TRY(target, expression) ASSAY_TRY_INNER(ASSAY_CONCAT(try_, __LINE__), target, expression)
#define ASSAY_TRY_INNER(temporary, target, expression)      \
  auto temporary = (expression);                            \
  if (!temporary.ok()) return std::move(temporary).error(); \
  target = std::move(temporary).value()

// For a Status, whose value says nothing.
#define ASSAY_TRY_STATUS(expression)                            \
  do {                                                          \
    auto try_status = (expression);                             \
    if (!try_status.ok()) return std::move(try_status).error(); \
  } while (false)
