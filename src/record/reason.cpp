// SPDX-License-Identifier: Apache-2.0
#include "record/reason.h"

#include "base/check.h"

namespace assay {
namespace {

template <typename T>
struct Word {
  T value;
  std::string_view name;
};

constexpr Word<Stage> kStages[] = {{Stage::kBuild, "build"},   {Stage::kLoad, "load"},       {Stage::kScreen, "screen"},
                                   {Stage::kVerify, "verify"}, {Stage::kMeasure, "measure"}, {Stage::kExam, "exam"}};

struct ReasonWord {
  Reason value;
  std::string_view name;
  std::string_view advice;
};

constexpr ReasonWord kReasons[] = {
    {Reason::kBuildFailed, "build_failed",
     "Mend the compiler's first message; the candidate alone must compile with the flags shown."},
    {Reason::kBuildTimeout, "build_timeout",
     "Make the source cheaper to compile: fewer instantiations, smaller tables, less unrolling."},
    {Reason::kBuildUnstable, "build_unstable",
     "Two builds of one source gave different code: remove __DATE__, __TIME__, __COUNTER__ tricks and random names."},
    {Reason::kPolicy, "policy",
     "Use only what the contract's policy allows: the listed flags, libraries and exports, no constructors, no IFUNC, "
     "no .incbin."},
    {Reason::kLoadFailed, "load_failed",
     "The shared object could not be loaded: look for an undefined symbol or a missing entry."},
    {Reason::kCrash, "crash", "The kernel died by a signal: check index arithmetic at the shape shown."},
    {Reason::kHang, "hang",
     "A call did not return within ten times the reference's time: look for a wait that is never fulfilled."},
    {Reason::kExited, "exited", "A kernel returns; it must not call exit or end its process."},
    {Reason::kForbiddenCall, "forbidden_call",
     "A kernel computes: no files, sockets, processes, signal handlers or executable mappings."},
    {Reason::kOutOfMemory, "out_of_memory", "Ask for scratch through the contract, or allocate less."},
    {Reason::kWrongAnswer, "wrong_answer",
     "Compare with the reference at the smallest failing input shown; the bound comes from executing the reference."},
    {Reason::kNondeterministic, "nondeterministic",
     "Same threads, same placement, same input must give the same bits: look for races and unordered reductions."},
    {Reason::kWroteOutside, "wrote_outside",
     "A byte outside the output of this call changed: check tails and strides."},
    {Reason::kReadOutside, "read_outside",
     "A byte outside the inputs was read: mask the tail instead of loading past it."},
    {Reason::kWroteInput, "wrote_input", "Inputs are read-only; copy before changing."},
    {Reason::kMachineState, "machine_state",
     "Put back before returning, on every thread: control words and flags, callee-saved registers, an empty x87 stack "
     "(emms), signal masks."},
    {Reason::kDependsOnHistory, "depends_on_history",
     "An answer depended on an earlier call: keep no state that can change results."},
    {Reason::kLateWork, "late_work", "All work must be finished when the entry returns: join or fence every thread."},
    {Reason::kImplausiblyFast, "implausibly_fast",
     "The time is below what this machine can do; the work cannot have been done."},
    {Reason::kGatedSlower, "gated_slower",
     "Single calls are much slower than calls in a row: work is deferred or overlapped between calls."},
    {Reason::kAuditMismatch, "audit_mismatch",
     "A timed call gave a wrong answer where the same kernel was right when checked."},
    {Reason::kUnstable, "unstable",
     "The speed differs too much between restarts to be claimed: look for layout or alignment luck."},
};
static_assert(std::size(kReasons) == kReasonCount);

constexpr Word<Trust> kTrusts[] = {{Trust::kNone, "none"},
                                   {Trust::kScreened, "screened"},
                                   {Trust::kVerified, "verified"},
                                   {Trust::kExamined, "examined"}};
constexpr Word<OutcomeKind> kOutcomes[] = {{OutcomeKind::kVerified, "verified"},
                                           {OutcomeKind::kRejected, "rejected"},
                                           {OutcomeKind::kUndecided, "undecided"},
                                           {OutcomeKind::kFailed, "failed"}};

template <typename Table, typename T>
std::string_view NameIn(const Table& table, T value) {
  for (const auto& word : table) {
    if (word.value == value) return word.name;
  }
  ASSAY_CHECK(false);
}

template <typename T, typename Table>
std::optional<T> ParseIn(const Table& table, std::string_view name) {
  for (const auto& word : table) {
    if (word.name == name) return word.value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(Stage stage) { return NameIn(kStages, stage); }
std::optional<Stage> ParseStage(std::string_view name) { return ParseIn<Stage>(kStages, name); }
std::string_view Name(Reason reason) { return NameIn(kReasons, reason); }
std::optional<Reason> ParseReason(std::string_view name) { return ParseIn<Reason>(kReasons, name); }
std::string_view Name(Trust trust) { return NameIn(kTrusts, trust); }
std::optional<Trust> ParseTrust(std::string_view name) { return ParseIn<Trust>(kTrusts, name); }
std::string_view Name(OutcomeKind outcome) { return NameIn(kOutcomes, outcome); }
std::optional<OutcomeKind> ParseOutcome(std::string_view name) { return ParseIn<OutcomeKind>(kOutcomes, name); }

std::string_view Advice(Reason reason) {
  for (const ReasonWord& word : kReasons) {
    if (word.value == reason) return word.advice;
  }
  ASSAY_CHECK(false);
}

}  // namespace assay
