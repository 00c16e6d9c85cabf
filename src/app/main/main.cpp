// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <exception>

#include "app/cli/commands.h"

namespace {

// The first signal asks the command to stop at the next stage; the second kills as usual.
extern "C" void OnSignal(int number) {
  assay::g_interrupted.store(true);
  std::signal(number, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return assay::Main(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "assay: internal fault: %s\n", problem.what());
  } catch (...) {
    std::fputs("assay: internal fault\n", stderr);
  }
  return assay::kOurFault;
}
