// SPDX-License-Identifier: Apache-2.0
#include "app/cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/file.h"

namespace assay {

bool OutputIsTerminal() { return ::isatty(STDOUT_FILENO) == 1; }

size_t OutputWidth() {
  winsize size{};
  if (OutputIsTerminal() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    return std::min<size_t>(size.ws_col, 120);
  return 80;
}

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

Status WriteJson(const std::string& target, std::string_view json) {
  if (target.empty()) return Ok();
  if (target == "-") {
    Print(json);
    return Ok();
  }
  return WriteFileAtomically(target, json);
}

}  // namespace assay
