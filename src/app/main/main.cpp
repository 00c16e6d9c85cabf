// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <exception>

#include "app/cli/commands.h"

int main(int argc, char** argv) {
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
