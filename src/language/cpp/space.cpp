// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "language/cpp/directives.h"

namespace assay {
namespace {

Value ValueOf(const Knob& knob, const std::string& text) {
  if (!knob.integers) return Value{text};
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return Value{number};
}

// Depth-first over the knobs in file order; a condition is tested as soon as its last knob has a
// value, so that contradictions among few knobs are found without walking the rest.
class PointSearch {
 public:
  PointSearch(const Template& family, const std::vector<const Expression*>& conditions) : family_(family) {
    for (const Knob& knob : family.knobs) names_.push_back(knob.name);
    values_.resize(names_.size());
    due_.resize(names_.size());
    for (const Expression* condition : conditions) {
      size_t last = 0;
      for (const std::string& used : condition->NamesUsed()) {
        last = std::max(last, static_cast<size_t>(std::find(names_.begin(), names_.end(), used) - names_.begin()));
      }
      auto bound = condition->Bind(names_);
      if (bound.ok() && last < due_.size()) due_[last].push_back(std::move(bound).value());
    }
    for (const Knob& knob : family.knobs) {
      only_if_.emplace_back();
      if (!knob.only_if) continue;
      if (auto bound = knob.only_if->Bind(names_); bound.ok()) only_if_.back() = std::move(bound).value();
    }
  }

  enum class Answer { kLegal, kNone, kTooLarge };
  Answer Run() {
    const bool found = Descend(0);
    return found ? Answer::kLegal : steps_ >= kMaxSteps ? Answer::kTooLarge : Answer::kNone;
  }
  const std::string& complaint() const { return complaint_; }

 private:
  // About a fifth of a second; a space in which no legal point shows up by then is left to the search.
  static constexpr int64_t kMaxSteps = 1'000'000;

  bool Holds(const BoundExpression& condition) {
    auto holds = condition.EvaluateCondition(values_);
    if (holds.ok()) return holds.value();
    if (complaint_.empty()) complaint_ = holds.error().message;
    return false;
  }

  bool Descend(size_t depth) {
    if (depth == names_.size()) return true;
    const Knob& knob = family_.knobs[depth];
    const bool active = !only_if_[depth] || Holds(*only_if_[depth]);
    for (const std::string& text : knob.values) {
      if (!active && text != knob.default_value) continue;
      if (++steps_ >= kMaxSteps) return false;
      values_[depth] = ValueOf(knob, text);
      const bool all = std::all_of(due_[depth].begin(), due_[depth].end(), [&](const auto& c) { return Holds(c); });
      if (all && Descend(depth + 1)) return true;
      if (steps_ >= kMaxSteps) return false;
    }
    return false;
  }

  const Template& family_;
  std::vector<std::string> names_;
  std::vector<Value> values_;
  std::vector<std::vector<BoundExpression>> due_;  // by the position of the last knob that it needs
  std::vector<std::optional<BoundExpression>> only_if_;
  int64_t steps_ = 0;
  std::string complaint_;
};

std::string Point(const KnobValues& values, const Expression& condition) {
  std::vector<std::string> parts;
  for (const std::string& name : condition.NamesUsed()) {
    if (const auto at = values.find(name); at != values.end()) parts.push_back(name + "=" + at->second);
  }
  return Join(parts, ", ");
}

// The values by name, as expressions want them.
class KnobNames {
 public:
  KnobNames(const Template& family, const KnobValues& values) {
    for (const Knob& knob : family.knobs) {
      if (const auto at = values.find(knob.name); at != values.end())
        values_.emplace(knob.name, ValueOf(knob, at->second));
    }
  }
  Names names() const {
    return [this](std::string_view name) -> const Value* {
      const auto at = values_.find(std::string(name));
      return at == values_.end() ? nullptr : &at->second;
    };
  }

 private:
  std::map<std::string, Value> values_;
};

std::string Where(const Template& family) { return family.path.empty() ? family.name : family.path.string(); }

Error Bad(const Template& family, std::string_view what) {
  return Error{ErrorCode::kInvalidInput, fmt::format("{}: {}", Where(family), what)};
}

// The flags of a candidate: each given one takes the place of its group's default.
Result<std::vector<std::string>> ChooseFlags(const Template& family, const std::vector<std::string>& given) {
  std::vector<std::string> chosen;
  std::vector<const std::string*> by_group(family.flags.size());
  for (const std::string& flag : given) {
    bool grouped = false;
    for (size_t g = 0; g < family.flags.size(); ++g) {
      const auto& options = family.flags[g].options;
      if (flag == "none" || std::find(options.begin(), options.end(), flag) == options.end()) continue;
      if (by_group[g] != nullptr && *by_group[g] != flag) {
        return Bad(family, fmt::format("flags {} and {} are of one group; choose one", *by_group[g], flag));
      }
      by_group[g] = &flag;
      grouped = true;
    }
    if (grouped || flag == "none") continue;
    // Whether the contract's policy allows it the builder says, which knows the contract.
    if (auto allowed = CheckFlag(flag, FpPolicy::kFinite); !allowed.ok())
      return Bad(family, "flag " + allowed.error().message);
    chosen.push_back(flag);
  }
  for (size_t g = 0; g < family.flags.size(); ++g) {
    // An option from outside the group that sets the same thing displaces the group's default.
    const auto displaces = [&](const std::string& flag) {
      return FlagKey(flag) == FlagKey(family.flags[g].options.front());
    };
    if (by_group[g] == nullptr && std::any_of(chosen.begin(), chosen.end(), displaces)) continue;
    const std::string& option = by_group[g] != nullptr ? *by_group[g] : family.flags[g].options.front();
    if (option != "none") chosen.push_back(option);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (size_t i = 0; i + 1 < chosen.size(); ++i) {
    for (size_t j = i + 1; j < chosen.size(); ++j) {
      if (FlagKey(chosen[i]) != FlagKey(chosen[j])) continue;
      return Bad(family, fmt::format("flags {} and {} contradict each other; choose one", chosen[i], chosen[j]));
    }
  }
  return chosen;
}

}  // namespace

Result<ResolvedKnobs> Resolve(const Template& family, const KnobValues& set) {
  std::vector<std::string> names;
  for (const Knob& knob : family.knobs) names.push_back(knob.name);
  for (const auto& [name, value] : set) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = Nearest(name, names);
    const std::string remedy = !nearest.empty() ? fmt::format("did you mean {}?", nearest)
                               : names.empty()  ? std::string("it has no knobs")
                                                : fmt::format("its knobs are {}", Join(names, ", "));
    return Bad(family, fmt::format("{} is no knob; {}", Printable(Cut(name, 40)), remedy));
  }
  ResolvedKnobs resolved;
  for (const Knob& knob : family.knobs) {
    const auto given = set.find(knob.name);
    std::string value = given == set.end() ? knob.default_value : given->second;
    if (std::find(knob.values.begin(), knob.values.end(), value) == knob.values.end()) {
      return Bad(family, fmt::format("knob {}: {} is not one of {}", knob.name, Printable(Cut(value, 40)),
                                     Cut(Join(knob.values, ", "), 400)));
    }
    bool active = true;
    if (knob.only_if) {
      const KnobNames so_far(family, resolved.values);
      auto holds = knob.only_if->EvaluateCondition(so_far.names());
      if (!holds.ok())
        return Bad(family, fmt::format("knob {}: if {}: {}", knob.name, knob.only_if->text(), holds.error().message));
      active = holds.value();
    }
    if (active) resolved.active[knob.name] = value;
    resolved.values[knob.name] = active ? std::move(value) : knob.default_value;
  }
  return resolved;
}

std::optional<std::string> BrokenCondition(const Template& family, const KnobValues& values) {
  const KnobNames names(family, values);
  for (const Expression& condition : family.when) {
    auto holds = condition.EvaluateCondition(names.names());
    if (!holds.ok())
      return fmt::format("\"{}\" at {}: {}", condition.text(), Point(values, condition), holds.error().message);
    if (!holds.value()) return fmt::format("\"{}\" does not hold at {}", condition.text(), Point(values, condition));
  }
  return std::nullopt;
}

std::optional<std::string> NoLegalPoint(const Template& family) {
  const auto unsatisfiable = [&](const std::vector<const Expression*>& conditions, std::string* complaint = nullptr) {
    PointSearch search(family, conditions);
    const bool none = search.Run() == PointSearch::Answer::kNone;
    if (complaint != nullptr) *complaint = search.complaint();
    return none;
  };
  // Conditions over no knob at all are constants and not part of the search.
  std::vector<const Expression*> all;
  const KnobNames nothing(family, {});
  for (const Expression& condition : family.when) {
    if (!condition.NamesUsed().empty()) {
      all.push_back(&condition);
      continue;
    }
    auto holds = condition.EvaluateCondition(nothing.names());
    if (!holds.ok()) return fmt::format("\"{}\": {}", condition.text(), holds.error().message);
    if (!holds.value()) return fmt::format("no legal point is left: \"{}\" is never true", condition.text());
  }
  std::string complaint;
  if (!unsatisfiable(all, &complaint)) return std::nullopt;
  for (const Expression* one : all) {
    if (!unsatisfiable({one}, &complaint)) continue;
    return complaint.empty() ? fmt::format("no legal point is left: \"{}\" is never true", one->text())
                             : fmt::format("no legal point is left: \"{}\": {}", one->text(), complaint);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (!unsatisfiable({all[i], all[j]})) continue;
      return fmt::format("no legal point is left: \"{}\" contradicts \"{}\"", all[i]->text(), all[j]->text());
    }
  }
  return "no legal point is left: the conditions hold in pairs but not all at once; drop one of them";
}

Result<Candidate> MakeCandidate(const Template& family, const KnobValues& set, std::vector<std::string> flags) {
  ASSAY_TRY(ResolvedKnobs resolved, Resolve(family, set));
  if (auto broken = BrokenCondition(family, resolved.values)) return Bad(family, *broken);
  Candidate candidate;
  candidate.language = family.language;
  candidate.template_name = family.name;
  candidate.source = family.source;
  candidate.source_hash = family.source_hash;
  candidate.knobs = std::move(resolved.active);
  for (const Knob& knob : family.knobs) candidate.defaults[knob.name] = knob.default_value;
  ASSAY_TRY(candidate.flags, ChooseFlags(family, flags));
  return NamedByContent(std::move(candidate));
}

std::vector<std::string> KnobDefinitions(const Template& family, const Candidate& candidate) {
  std::vector<std::string> definitions;
  for (const Knob& knob : family.knobs) {
    const auto at = candidate.knobs.find(knob.name);
    if (at == candidate.knobs.end()) continue;
    if (knob.integers) {
      definitions.push_back(fmt::format("-D{}={}", knob.name, at->second));
      continue;
    }
    for (size_t k = 0; k < knob.values.size(); ++k) {
      definitions.push_back(fmt::format("-D{}_{}={}", knob.name, knob.values[k], k));
      if (knob.values[k] == at->second) definitions.push_back(fmt::format("-D{}={}", knob.name, k));
    }
  }
  return definitions;
}

}  // namespace assay
