// SPDX-License-Identifier: Apache-2.0
#include "app/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/cli/output.h"
#include "base/text.h"
#include "report/summary.h"
#include "report/table.h"

namespace assay {
namespace {

// The fastest attempt that stands: verified ones before those that were only estimated.
const Attempt* Best(const Campaign& campaign) {
  const Attempt* best = nullptr;
  for (const Attempt& a : campaign.attempts) {
    if (a.outcome == OutcomeKind::kRejected || a.estimates.empty() || !(a.estimates[0].seconds > 0)) continue;
    const bool better = best == nullptr || (a.trust >= Trust::kVerified) > (best->trust >= Trust::kVerified) ||
                        ((a.trust >= Trust::kVerified) == (best->trust >= Trust::kVerified) &&
                         a.estimates[0].seconds < best->estimates[0].seconds);
    if (better) best = &a;
  }
  return best;
}

std::string FitTo(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  return text.substr(0, width > 2 ? width - 2 : 0) + "..";
}

}  // namespace

TerminalProgress::TerminalProgress(bool terminal, size_t width, bool colour)
    : terminal_(terminal), width_(width), colour_(colour) {}

TerminalProgress::~TerminalProgress() { Clear(); }

std::string AttemptLine(const Campaign& campaign, const Attempt& attempt, size_t width) {
  std::string fate(Name(attempt.outcome));
  if (attempt.rejected) fate = "rejected " + std::string(Name(attempt.rejected->reason));
  if (attempt.duplicate_of) fate = fmt::format("same code as {}", *attempt.duplicate_of);
  if (attempt.outcome == OutcomeKind::kUndecided && attempt.trust == Trust::kScreened) fate = "screened";
  if (attempt.trust == Trust::kExamined) fate = "examined";
  const std::string time = attempt.estimates.empty() ? "" : Seconds(attempt.estimates[0].seconds);
  const std::string floor = attempt.estimates.empty() || !attempt.estimates[0].floor_fraction
                                ? ""
                                : fmt::format("{:.2f} of floor", *attempt.estimates[0].floor_fraction);
  return FitTo(fmt::format("[{:>3}/{}] {:<22} {:>8}  {:<13}  {}", attempt.ordinal, campaign.budget.attempts, fate, time,
                           floor, CandidateLabel(attempt.proposal.candidate)),
               width) +
         "\n";
}

void TerminalProgress::Entered(const Campaign& campaign, const std::string& stage, const std::string& what) {
  stage_ = stage;
  what_ = what;
  remark_.clear();
  const Attempt* best = Best(campaign);
  best_ = best == nullptr ? ""
                          : fmt::format("best {} (attempt {}{})", Seconds(best->estimates[0].seconds), best->ordinal,
                                        best->trust >= Trust::kVerified ? "" : ", unproved");
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  // The coronation costs about a third of what the attempts cost; good enough to tell minutes from hours.
  if (campaign.budget.spent >= 2) expected_seconds_ = elapsed / campaign.budget.spent * campaign.budget.attempts * 1.35;
  if (terminal_) {
    Rewrite();
  } else if (stage == "reference" || stage == "crown" || stage == "exam" || stage == "decide" || stage == "admission") {
    // A reference passes through several steps under one name; a log needs to hear of it once.
    const std::string line = FitTo(fmt::format("{}: {}", stage, what), width_) + "\n";
    if (line != last_entered_) Say(line);
    last_entered_ = line;
  }
}

void TerminalProgress::Finished(const Campaign& campaign, const Attempt& attempt) {
  counts_ = OutcomeCounts(campaign);
  const std::string line = AttemptLine(campaign, attempt, width_);
  // Left where it was by a ranking: nothing new to tell.
  if (std::exchange(told_[attempt.ordinal], line) == line) return;
  Clear();
  Say(line);
  if (terminal_) Rewrite();
}

void TerminalProgress::Remark(const std::string& text) {
  remark_ = text;
  if (terminal_) Rewrite();
}

std::string TerminalProgress::StatusLine() const {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string line = fmt::format("{:.0f} s", elapsed);
  if (expected_seconds_ > elapsed) line += fmt::format(", about {:.0f} s left", expected_seconds_ - elapsed);
  line += fmt::format(" | {} {}", stage_, remark_.empty() ? what_ : remark_);
  if (!best_.empty()) line += " | " + best_;
  if (!counts_.empty()) line += " | " + counts_;
  return FitTo(line, width_ > 1 ? width_ - 1 : width_);
}

void TerminalProgress::Rewrite() { Say("\r\x1b[2K" + (colour_ ? "\x1b[2m" + StatusLine() + "\x1b[0m" : StatusLine())); }

void TerminalProgress::Clear() {
  if (terminal_) Say("\r\x1b[2K");
}

}  // namespace assay
