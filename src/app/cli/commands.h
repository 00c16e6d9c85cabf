// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "app/cli/arguments.h"

namespace assay {

// Exit codes that every command shares (docs/cli.md); each has its own meaning of 0, 1 and 5.
inline constexpr int kDone = 0, kRefused = 1, kInterrupted = 2, kOurFault = 3, kUsage = 4, kNoVerdict = 5;

// Set by SIGINT and SIGTERM once a command listens; it looks at it between stages.  The others have
// nothing half done that is worth a stage more, and end at once.
extern std::atomic<bool> g_interrupted;
void ListenForInterrupts();

Result<int> Command(const RunArguments& arguments);
Result<int> Command(const VerifyArguments& arguments);
Result<int> Command(const BenchArguments& arguments);
Result<int> Command(const CheckArguments& arguments);
Result<int> Command(const InitArguments& arguments);
Result<int> Command(const ExplainArguments& arguments);
Result<int> Command(const LedgerArguments& arguments);
Result<int> Command(const RecheckArguments& arguments);
Result<int> Command(const ReportArguments& arguments);
Result<int> Command(const DoctorArguments& arguments);
Result<int> Command(const CalibrateArguments& arguments);
Result<int> Command(const RedteamArguments& arguments);
Result<int> Command(const ShowText& text);

// Parses, runs, prints, maps the error to an exit code.
int Main(int argc, const char* const* argv);

}  // namespace assay
