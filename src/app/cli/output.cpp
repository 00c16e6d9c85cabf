// SPDX-License-Identifier: Apache-2.0
#include "app/cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text.h"

namespace assay {
namespace {

// A file that is put in place whole would replace these.
bool IsDevice(const std::string& target) {
  std::error_code none;
  const auto status = std::filesystem::status(target, none);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

}  // namespace

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
  if (!IsDevice(target)) return WriteFileAtomically(target, json);
  std::ofstream device(target, std::ios::binary);
  if (!(device << json << std::flush)) return Error{ErrorCode::kUnavailable, "cannot write to " + Printable(target)};
  return Ok();
}

Status CheckTargets(std::initializer_list<std::string> targets) {
  for (const std::string& target : targets) {
    if (target.empty() || target == "-") continue;
    std::error_code none;
    const auto refuse = [&](const std::string& why) {
      return Error{ErrorCode::kInvalidInput, fmt::format("cannot write {}: {}", Printable(target), why)};
    };
    if (std::filesystem::is_directory(target, none)) return refuse("it is a folder; name a file in it");
    if (IsDevice(target)) continue;
    const std::filesystem::path folder = std::filesystem::absolute(target, none).parent_path();
    if (!std::filesystem::is_directory(folder, none))
      return refuse("there is no folder " + Printable(folder.string()) + "; make it first");
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
      return refuse("the folder " + Printable(folder.string()) + " may not be written to");
  }
  return Ok();
}

}  // namespace assay
