// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/expression.h"
#include "base/random.h"
#include "base/result.h"
#include "record/candidate.h"

namespace assay {

// A knob's value as conditions see it.
Value KnobValue(const Knob& knob, const std::string& text);

// The legal settings of a template's knobs: every `when` holds, and a knob whose `if` does not hold has its default.
// Found by assigning one knob after another, and leaving a branch as soon as a condition over assigned knobs fails.
class LegalSet {
 public:
  static constexpr size_t kMost = 2'000'000;

  // kInvalidInput when there is no legal setting (with the conditions that contradict each other) or when the `if`s of
  // two knobs depend on each other.  With more than `most` settings they are not kept: enumerated() is false.
  static Result<LegalSet> Of(const Template& family, size_t most = kMost);

  LegalSet() = default;
  bool enumerated() const { return enumerated_; }
  size_t size() const { return knobs_ == 0 ? 1 : rows_.size() / knobs_; }  // of an enumerated one
  // In lexicographic order.
  std::span<const uint16_t> At(size_t index) const;
  const std::vector<uint16_t>& defaults() const { return defaults_; }  // legal or not
  bool Contains(std::span<const uint16_t> setting) const;
  // Switched-off knobs get their default.
  void Normalise(std::span<uint16_t> setting) const;
  // By knob: whether its `if` holds, or it has none.
  std::vector<bool> SwitchedOn(std::span<const uint16_t> setting) const;
  // Uniform where enumerated; else by rejection, else knob by knob with conditions looked at as soon as they can be.
  std::optional<std::vector<uint16_t>> Random(Stream& stream) const;

 private:
  struct Condition {
    BoundExpression holds;
    std::string text;
    size_t ready = 0;  // how many knobs of `order_` must be assigned before it can be evaluated
  };
  class Walk;

  // Nothing when there is no legal setting.
  static Result<std::optional<LegalSet>> Find(const Template& family, size_t most);
  static Result<std::vector<size_t>> OrderOf(const Template& family);
  static std::string Culprits(const Template& family);
  std::vector<Value> ValuesOf(std::span<const uint16_t> setting) const;
  bool AllHold(std::span<const uint16_t> setting) const;

  size_t knobs_ = 0;
  bool enumerated_ = false;
  std::vector<std::vector<Value>> values_;                 // by knob
  std::vector<uint16_t> defaults_;                         // by knob
  std::vector<std::optional<BoundExpression>> switch_on_;  // by knob
  std::vector<size_t> order_;                              // in which knobs are assigned
  std::vector<Condition> conditions_;
  std::vector<uint16_t> rows_;
};

}  // namespace assay
