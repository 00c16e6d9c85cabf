// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "base/text.h"

namespace assay {

namespace {

// The first signal asks the command to stop at the next stage; the second kills as usual.
extern "C" void OnSignal(int number) {
  g_interrupted.store(true);
  std::signal(number, SIG_DFL);
}

}  // namespace

std::atomic<bool> g_interrupted{false};

void ListenForInterrupts() {
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
}

Result<int> Command(const ShowText& text) {
  if (text.exit_code == kDone) Print(text.text);
  if (text.exit_code != kDone) Say(text.text);
  return text.exit_code;
}

int Main(int argc, const char* const* argv) {
  const Arguments arguments = ParseArguments(argc, argv);
  const Result<int> code = std::visit([](const auto& chosen) { return Command(chosen); }, arguments);
  if (code.ok()) return code.value();
  const Error& error = code.error();
  Say("assay: " + Printable(error.message) + "\n");
  switch (error.code) {
    case ErrorCode::kInvalidInput:
    case ErrorCode::kNotFound:
      return kUsage;
    case ErrorCode::kInterrupted:
      return kInterrupted;
    default:
      return kOurFault;
  }
}

}  // namespace assay
