// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target over files, and over changed copies of each: what ./test does with the kept corpus
// where no libFuzzer is.  Deterministic: the changes depend on the file's name and their number alone.
// Usage: fuzz_NAME [--changes N] FILE-OR-FOLDER...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "target.h"

namespace assay::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesOf(const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  for (const std::string& name : names) {
    if (!fs::is_directory(name)) {
      files.emplace_back(name);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(name)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Feed(const std::string& bytes) {
  // An exact allocation, so that a sanitizer sees the first byte that is read beyond it.
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  copy.shrink_to_fit();
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

// A few bytes overwritten, cut out, doubled or swapped for numbers that matter to parsers.
std::string Changed(std::string bytes, Stream& stream) {
  static constexpr uint8_t kNumbers[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '"', '[', '\n', '-', '9'};
  for (uint64_t n = 1 + stream.Below(4); n > 0 && !bytes.empty(); --n) {
    const auto at = static_cast<size_t>(stream.Below(bytes.size()));
    const auto length = std::min<size_t>(bytes.size() - at, 1 + stream.Below(16));
    switch (stream.Below(4)) {
      case 0:
        bytes[at] = static_cast<char>(kNumbers[stream.Below(std::size(kNumbers))]);
        break;
      case 1:
        bytes[at] = static_cast<char>(static_cast<uint8_t>(bytes[at]) ^ (1U << stream.Below(8)));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      default:
        bytes.insert(at, bytes.substr(at, length));
    }
  }
  return bytes;
}

int Run(int argc, char** argv) {
  uint64_t changes = 0;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--changes") == 0 && i + 1 < argc) {
      changes = std::strtoull(argv[++i], nullptr, 10);
    } else {
      names.emplace_back(argv[i]);
    }
  }
  const std::vector<fs::path> files = FilesOf(names);
  uint64_t runs = 0;
  for (const fs::path& file : files) {
    const auto bytes = ReadFile(file);
    if (!bytes.ok()) {
      std::fprintf(stderr, "%s\n", bytes.error().message.c_str());
      return 4;
    }
    Feed(bytes.value());
    Stream stream(Seed::FromNumber(1).Derive(file.filename().string()));
    for (uint64_t i = 0; i < changes; ++i) Feed(Changed(bytes.value(), stream));
    runs += 1 + changes;
  }
  std::printf("%zu files, %llu runs, no finding\n", files.size(), static_cast<unsigned long long>(runs));
  // An empty corpus proves nothing.
  return files.empty() ? 4 : 0;
}

}  // namespace
}  // namespace assay::fuzz

int main(int argc, char** argv) { return assay::fuzz::Run(argc, argv); }
