// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/check.h"
#include "record/attempt.h"
#include "record/timing.h"

namespace assay {

std::string_view Name(DecisionKind decision) {
  switch (decision) {
    case DecisionKind::kFaster:
      return "FASTER";
    case DecisionKind::kSlower:
      return "SLOWER";
    case DecisionKind::kSame:
      return "SAME";
    case DecisionKind::kUndecided:
      return "UNDECIDED";
    case DecisionKind::kUnstable:
      return "UNSTABLE";
  }
  ASSAY_CHECK(false);
}

std::optional<DecisionKind> ParseDecision(std::string_view name) {
  for (const DecisionKind kind : {DecisionKind::kFaster, DecisionKind::kSlower, DecisionKind::kSame,
                                  DecisionKind::kUndecided, DecisionKind::kUnstable}) {
    if (Name(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string_view Name(Note note) {
  switch (note) {
    case Note::kDropped:
      return "dropped";
    case Note::kDuplicate:
      return "duplicate";
    case Note::kBudget:
      return "budget";
  }
  ASSAY_CHECK(false);
}

std::optional<Note> ParseNote(std::string_view name) {
  for (const Note note : {Note::kDropped, Note::kDuplicate, Note::kBudget}) {
    if (Name(note) == name) return note;
  }
  return std::nullopt;
}

}  // namespace assay
