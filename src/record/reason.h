// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace assay {

// Where an attempt stood when its fate was settled.
enum class Stage { kBuild, kLoad, kScreen, kVerify, kMeasure, kExam };
std::string_view Name(Stage stage);
std::optional<Stage> ParseStage(std::string_view name);

// Why a candidate was refused: one code each, TEXT in the ledger, explained in docs/reasons.md.
enum class Reason {
  kBuildFailed,
  kBuildTimeout,
  kBuildUnstable,
  kPolicy,
  kLoadFailed,
  kCrash,
  kHang,
  kExited,
  kForbiddenCall,
  kOutOfMemory,
  kWrongAnswer,
  kNondeterministic,
  kWroteOutside,
  kReadOutside,
  kWroteInput,
  kMachineState,
  kDependsOnHistory,
  kLateWork,
  kImplausiblyFast,
  kGatedSlower,
  kAuditMismatch,
  kUnstable,
};
inline constexpr size_t kReasonCount = static_cast<size_t>(Reason::kUnstable) + 1;
std::string_view Name(Reason reason);
std::optional<Reason> ParseReason(std::string_view name);
// One sentence for an honest author: what to mend.
std::string_view Advice(Reason reason);

// How far the gate has come with an attempt.
enum class Trust { kNone, kScreened, kVerified, kExamined };
std::string_view Name(Trust trust);
std::optional<Trust> ParseTrust(std::string_view name);

// verified: stands under every check so far.  undecided: not refused, not followed further.
// failed: ours, never the candidate's.
enum class OutcomeKind { kVerified, kRejected, kUndecided, kFailed };
std::string_view Name(OutcomeKind outcome);
std::optional<OutcomeKind> ParseOutcome(std::string_view name);

}  // namespace assay
