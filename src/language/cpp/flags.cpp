// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "base/text.h"

namespace assay {
namespace {

// How the part behind '=' is checked.
enum class FlagValue { kNone, kListed, kName, kAlignment };

struct FlagRow {
  std::string_view name;  // up to and without '='
  FlagValue value;
  std::string_view listed;  // separated by ','
  FpPolicy needs;
};

// The allow-list of docs/contract.md.  Nothing here reads a file, loads code, changes the output's kind
// or reaches the linker; that is the test for a new row.
constexpr FlagRow kRows[] = {
    {"-O2", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-O3", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-march", FlagValue::kListed, "native,x86-64-v2,x86-64-v3,x86-64-v4", FpPolicy::kStrict},
    {"-mtune", FlagValue::kName, "", FpPolicy::kStrict},
    {"-mprefer-vector-width", FlagValue::kListed, "128,256,512", FpPolicy::kStrict},
    {"-funroll-loops", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-fno-tree-vectorize", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-fvect-cost-model", FlagValue::kListed, "dynamic,unlimited,very-cheap", FpPolicy::kStrict},
    {"-fno-math-errno", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-fno-trapping-math", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-ffp-contract", FlagValue::kListed, "off", FpPolicy::kStrict},
    {"-fomit-frame-pointer", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-falign-loops", FlagValue::kAlignment, "", FpPolicy::kStrict},
    {"-fno-semantic-interposition", FlagValue::kNone, "", FpPolicy::kStrict},
    {"-ffp-contract", FlagValue::kListed, "on,fast", FpPolicy::kContract},
    {"-fassociative-math", FlagValue::kNone, "", FpPolicy::kReassociate},
    {"-freciprocal-math", FlagValue::kNone, "", FpPolicy::kReassociate},
    {"-fno-signed-zeros", FlagValue::kNone, "", FpPolicy::kReassociate},
    {"-ffinite-math-only", FlagValue::kNone, "", FpPolicy::kFinite},
    {"-ffast-math", FlagValue::kNone, "", FpPolicy::kFinite},
};

bool AllOf(std::string_view text, bool (*accepts)(unsigned char)) {
  return !text.empty() && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [&](char c) { return accepts(static_cast<unsigned char>(c)); });
}

bool ValueFits(const FlagRow& row, bool has_value, std::string_view value) {
  switch (row.value) {
    case FlagValue::kNone:
      return !has_value;
    case FlagValue::kListed: {
      const auto listed = Split(row.listed, ',');
      return has_value && std::find(listed.begin(), listed.end(), value) != listed.end();
    }
    case FlagValue::kName:
      return has_value && AllOf(value, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
    case FlagValue::kAlignment: {
      // GCC takes n[:m[:n2[:m2]]]; above 65536 it is an error of the compiler's own.
      if (!has_value) return false;
      const auto parts = Split(value, ':');
      return parts.size() <= 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
               return part.size() <= 4 && AllOf(part, [](unsigned char c) { return std::isdigit(c) != 0; });
             });
    }
  }
  return false;
}

std::string Pattern(const FlagRow& row) {
  switch (row.value) {
    case FlagValue::kNone:
      return std::string(row.name);
    case FlagValue::kListed:
      return fmt::format("{}={{{}}}", row.name, row.listed);
    case FlagValue::kName:
      return fmt::format("{}=NAME", row.name);
    case FlagValue::kAlignment:
      return fmt::format("{}=N", row.name);
  }
  return {};
}

}  // namespace

std::string_view FpPolicyName(FpPolicy policy) {
  switch (policy) {
    case FpPolicy::kStrict:
      return "strict";
    case FpPolicy::kContract:
      return "contract";
    case FpPolicy::kReassociate:
      return "reassociate";
    case FpPolicy::kFinite:
      return "finite";
  }
  return "";
}

std::vector<std::string> AllowedFlags(FpPolicy policy) {
  std::vector<std::string> allowed;
  for (const FlagRow& row : kRows) {
    if (row.needs <= policy) allowed.push_back(Pattern(row));
  }
  return allowed;
}

Status CheckFlag(std::string_view flag, FpPolicy policy) {
  const size_t equals = flag.find('=');
  const std::string_view name = flag.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  const std::string_view value = has_value ? flag.substr(equals + 1) : std::string_view{};
  const FlagRow* named = nullptr;
  std::vector<std::string> names;
  for (const FlagRow& row : kRows) {
    names.emplace_back(row.name);
    if (row.name != name) continue;
    if (!ValueFits(row, has_value, value)) {
      named = &row;
      continue;
    }
    if (row.needs <= policy) return Ok();
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} needs fp = \"{}\" in the contract's policy, which says \"{}\"", flag,
                             FpPolicyName(row.needs), FpPolicyName(policy))};
  }
  const std::string shown = Printable(Cut(flag, 80));
  if (named != nullptr) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} is not an allowed option; write {}", shown, Pattern(*named))};
  }
  const std::string nearest = Nearest(name, names);
  if (!nearest.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} is not an allowed option; did you mean {}?", shown, nearest)};
  }
  return Error{ErrorCode::kInvalidInput,
               fmt::format("{} is not an allowed option; allowed are {}", shown, Join(AllowedFlags(policy), " "))};
}

std::string FlagKey(std::string_view flag) {
  if (flag.starts_with("-O")) return "-O";
  const std::string_view name = flag.substr(0, flag.find('='));
  if (name.starts_with("-fno-")) return fmt::format("-f{}", name.substr(5));
  return std::string(name);
}

}  // namespace assay
