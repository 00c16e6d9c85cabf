// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "record/seams.h"

namespace assay {

// What a person sees while a campaign runs.  On a terminal one line that is rewritten (stage, counts
// by outcome, best so far, time); without one a plain line per finished attempt.  Standard error.
class TerminalProgress : public Progress {
 public:
  TerminalProgress(bool terminal, size_t width, bool colour);
  ~TerminalProgress() override;

  void Entered(const Campaign& campaign, const std::string& stage, const std::string& what) override;
  void Finished(const Campaign& campaign, const Attempt& attempt) override;
  // A remark from a service while a stage runs ("decision: 10 groups, ...").
  void Remark(const std::string& text);
  // Takes the rewritten line away, so that what follows starts on a clean one.
  void Close() { Clear(); }

 private:
  std::string StatusLine() const;
  void Rewrite();
  void Clear();

  bool terminal_;
  size_t width_;
  bool colour_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string stage_, what_, remark_, counts_, best_, last_entered_;
  std::map<int64_t, std::string> told_;  // the last line of each attempt
  double expected_seconds_ = 0;          // of the whole campaign, from the pace so far; 0 = not known
};

// The line of one attempt, as plain progress prints it.
std::string AttemptLine(const Campaign& campaign, const Attempt& attempt, size_t width);

}  // namespace assay
