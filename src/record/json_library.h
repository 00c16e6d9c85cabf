// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the files that speak JSON share.  Only they may include this: everybody else sees strings.

// Nothing turns into a number, or a text, that was not asked for.
#define JSON_USE_IMPLICIT_CONVERSIONS 0

#include <cmath>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace assay::json_library {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

inline Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
// Null is what has no number: NaN.
inline double Real(const Json& json) {
  if (!json.is_number() && !json.is_null()) throw std::runtime_error(json.dump() + " is no number");
  return json.is_number() ? json.get<double>() : std::nan("");
}

// An integer is one that is written as one and fits.  The library would convert what is neither, which has no meaning
// beyond the type's range.
template <typename T>
T Get(const Json& json) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    const bool fits = json.is_number_unsigned()  ? std::in_range<T>(json.get<uint64_t>())
                      : json.is_number_integer() ? std::in_range<T>(json.get<int64_t>())
                                                 : false;
    if (!fits) throw std::runtime_error(json.dump() + " is no integer of this field");
  }
  return json.get<T>();
}
template <typename T>
void Take(T& field, const Json& json) {
  field = Get<T>(json);
}
// The same as whatever it initialises.
class As {
 public:
  explicit As(const Json& json) : json_(json) {}
  explicit As(Json&&) = delete;  // it keeps a reference
  template <typename T>
  operator T() const {  // NOLINT: that it is implicit is its purpose
    return Get<T>(json_);
  }

 private:
  const Json& json_;
};
// Of what rows of an earlier version do not have.
template <typename T>
T GetOr(const Json& json, const char* key, T otherwise) {
  return json.contains(key) ? Get<T>(json.at(key)) : otherwise;
}

template <typename T, typename F>
Ordered List(const std::vector<T>& items, F&& to_json) {
  Ordered list = Ordered::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

template <typename T, typename F>
std::vector<T> FromList(const Json& list, F&& from_json) {
  if (!list.is_array()) throw std::runtime_error(list.dump() + " is no list");
  std::vector<T> items;
  for (const Json& item : list) items.push_back(from_json(item));
  return items;
}

// A stored name must be one we know: anything else means a damaged or newer file.
template <typename T>
T Known(std::optional<T> value, const Json& name) {
  if (!value) throw std::runtime_error("unknown name " + name.dump());
  return *value;
}

// Parses and converts; whatever the library throws becomes one kCorrupt error.
template <typename T>
Result<T> Parsed(std::string_view text, const char* what, const std::function<T(const Json&)>& convert) {
  try {
    return convert(Json::parse(text));
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kCorrupt, std::string(what) + ": " + problem.what()};
  }
}

// Text from outside may hold bytes that are no UTF-8; they are replaced, never thrown on.
inline std::string Dump(const Ordered& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace assay::json_library
