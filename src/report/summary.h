// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "record/attempt.h"

namespace assay {

// The claim in one line: strongest reference first, or why there is none.
std::string Headline(const Campaign& campaign);

// There were proposals and none stands: exit 1 of `assay run`.
bool EveryProposalRejected(const Campaign& campaign);

// "proved again: ... stands" or "retracted: ...".
std::string RecheckLine(const Recheck& recheck, size_t width);

// "0.62 (0.60 .. 0.63) of the f32 peak measured in this run", of one that has a floor.
std::string FloorShare(const Incumbent& incumbent);
// Where the seconds of a campaign went, the longest first: "build 14 s, exam and decision 9 s".
std::string SpentText(const Campaign& campaign);
// What `assay run` ends with; plain text no wider than `width`.
std::string CampaignSummary(const Campaign& campaign, size_t width);

// One attempt: what was found and what to mend.
std::string VerdictText(const Attempt& attempt, const std::string& contract, size_t width);

// A decision as `assay bench` prints it.
std::string BenchText(const DecisionReport& report, const std::string& a, const std::string& b, size_t width);

// The same comparison made again and again: one line while it runs, and the whole as a table with its tally.
// "  all values normal(0, 1): x1.31, 4 restarts".
std::string RegimeLine(const RegimeFigure& regime, size_t width);
std::string ComparisonLine(int number, const Comparison& comparison);
std::string ComparisonsText(std::span<const Comparison> comparisons, const std::string& a, const std::string& b,
                            size_t width);

// The separation table of `assay contract check`.
std::string AdmissionText(const Admission& admission, const std::string& contract, size_t width);

// "blocked MR=12 NV=2 -O3", for a line of its own or a table cell.
std::string CandidateLabel(const Candidate& candidate);

// "attempts: 9 verified, 8 undecided, 5 rejected (wrong_answer 3, ...)".
std::string OutcomeCounts(const Campaign& campaign);

// "measured in this run", or "calibrated".
std::string FloorSource(const Floor& floor);

// "1.42x", three significant digits.
std::string Times(double ratio);

}  // namespace assay
