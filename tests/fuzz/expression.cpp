// SPDX-License-Identifier: Apache-2.0
//
// Expressions of contracts and knob conditions: what parses parses again to the same, evaluates without
// harm over names of every type, and one bound to positions says what the unbound one says.
#include "base/expression.h"

#include <map>
#include <string>

#include "target.h"

namespace assay {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = Expression::Parse(fuzz::Text(data, size));
  if (!parsed.ok()) {
    ASSAY_CHECK(!parsed.error().message.empty());
    return 0;
  }
  const Expression& expression = parsed.value();
  const auto again = Expression::Parse(expression.text());
  ASSAY_CHECK(again.ok() && again.value().NamesUsed() == expression.NamesUsed());
  const Value kinds[] = {{int64_t{7}}, {-2.5}, {true}, {std::string("rows")}, {int64_t{0}}, {INT64_MAX}};
  const std::vector<std::string> names = expression.NamesUsed();
  for (size_t shift = 0; shift < std::size(kinds); ++shift) {
    std::map<std::string, Value, std::less<>> table;
    std::vector<Value> values;
    for (size_t i = 0; i < names.size(); ++i) {
      values.push_back(kinds[(i + shift) % std::size(kinds)]);
      table[names[i]] = values.back();
    }
    const auto value = expression.Evaluate([&](std::string_view name) -> const Value* {
      const auto found = table.find(name);
      return found == table.end() ? nullptr : &found->second;
    });
    const auto bound = expression.Bind(names);
    ASSAY_CHECK(bound.ok());
    const auto by_position = bound.value().Evaluate(values);
    ASSAY_CHECK(value.ok() == by_position.ok());
    // A NaN is unlike itself, so texts of doubles are not compared.
    if (value.ok() && !std::holds_alternative<double>(value.value().data))
      ASSAY_CHECK(value.value() == by_position.value());
  }
  return 0;
}

}  // namespace assay
