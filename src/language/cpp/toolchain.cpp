// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/toolchain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "language/cpp/elf_file.h"
#include "sandbox/child.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kAskLimit{20'000};

// Runs a trusted program and gives what it printed.
Result<std::string> Ask(const std::vector<std::string>& argv) {
  ChildOptions options;
  options.capture = true;
  options.output_cap = size_t{4} << 20;
  ASSAY_TRY(Child child, Child::Spawn(argv, options));
  ASSAY_TRY(const Outcome outcome, child.Wait(kAskLimit));
  if (const auto* exited = std::get_if<Exited>(&outcome); exited == nullptr || exited->code != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("{}: {}", Join(argv, " "), Describe(outcome))};
  }
  return child.output();
}

// Looked up without the wrappers that a developer's PATH may hold: a compiler cache has no place in a jail.
std::optional<fs::path> FindProgram(std::string_view name) {
  std::vector<std::string> folders{"/usr/bin", "/usr/local/bin"};
  if (const char* path = std::getenv("PATH")) {
    for (std::string_view folder : Split(path, ':')) folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/')) continue;
    const fs::path program = fs::path(folder) / name;
    std::error_code ignored;
    const fs::path real = fs::canonical(program, ignored);
    if (real.empty() || real.filename() == "ccache" || ::access(program.c_str(), X_OK) != 0) continue;
    return program;
  }
  return std::nullopt;
}

// Hash of a program's bytes; its path when it cannot be read, so that a name still differs.
std::string ProgramHash(const std::string& path) {
  auto bytes = ReadFile(path, size_t{512} << 20);
  return bytes.ok() ? Sha256(bytes.value()) : path;
}

std::string FirstLine(std::string_view text) { return std::string(Trim(text.substr(0, text.find('\n')))); }

Result<Toolchain> AskGcc() {
  const auto compiler = FindProgram("g++");
  if (!compiler) return Error{ErrorCode::kUnavailable, "g++ is not installed; install it with: apt-get install g++"};
  Toolchain toolchain;
  toolchain.compiler = *compiler;
  const std::string program = compiler->string();
  ASSAY_TRY(const std::string version, Ask({program, "-dumpfullversion"}));
  toolchain.version = "g++ " + FirstLine(version);
  ASSAY_TRY(const std::string target, Ask({program, "-march=native", "-Q", "--help=target"}));
  RecordHash identity("toolchain");
  identity.Add("version", toolchain.version).Add("driver", ProgramHash(program)).Add("native", target);
  for (const char* part : {"cc1plus", "as", "ld"}) {
    ASSAY_TRY(const std::string path, Ask({program, fmt::format("-print-prog-name={}", part)}));
    std::string resolved = FirstLine(path);
    if (!resolved.starts_with('/')) resolved = FindProgram(resolved).value_or(resolved).string();
    identity.Add(part, ProgramHash(resolved));
  }
  toolchain.identity = identity.Finish();
  toolchain.common = {"-fopenmp"};
  return toolchain;
}

Result<Toolchain> AskClang() {
  std::vector<std::string> names{"clang++"};
  for (int version = 21; version >= 14; --version) names.push_back(fmt::format("clang++-{}", version));
  for (const std::string& name : names) {
    const auto compiler = FindProgram(name);
    if (!compiler) continue;
    Toolchain toolchain;
    toolchain.family = CompilerFamily::kClang;
    toolchain.compiler = *compiler;
    const std::string program = compiler->string();
    ASSAY_TRY(const std::string version, Ask({program, "-dumpversion"}));
    toolchain.version = "clang++ " + FirstLine(version);
    // -### prints the inner command with the resolved processor and its features.
    ASSAY_TRY(const std::string target,
              Ask({program, "-march=native", "-###", "-x", "c++", "-c", "/dev/null", "-o", "/dev/null"}));
    const fs::path real = fs::canonical(*compiler);
    toolchain.identity = RecordHash("toolchain")
                             .Add("version", toolchain.version)
                             .Add("driver", ProgramHash(real.string()))
                             .Add("native", target)
                             .Finish();
    toolchain.common = {"-fopenmp-simd"};
    // omp.h for the functions, which libgomp answers outside of any team; last in the search, because
    // the folder also holds GCC's intrinsics.
    if (const auto gcc = FindProgram("g++")) {
      if (auto omp = Ask({gcc->string(), "-print-file-name=include/omp.h"}); omp.ok() && omp.value().starts_with('/')) {
        toolchain.common.push_back("-idirafter");
        toolchain.common.push_back(fs::path(FirstLine(omp.value())).parent_path().string());
      }
    }
    return toolchain;
  }
  return Error{ErrorCode::kUnavailable,
               "no second compiler: clang++ is not installed; install it with: apt-get install clang"};
}

// What GCC 12 defines in capitals, and what the small headers add: for a machine where the compiler cannot be asked.
constexpr std::string_view kUsualMacros[] = {
    "BUFSIZ",      "CHAR_BIT",  "CHAR_MAX",   "CHAR_MIN",   "DBL_DIG",      "DBL_EPSILON",  "DBL_MAX",
    "DBL_MIN",     "EDOM",      "EOF",        "ERANGE",     "EXIT_FAILURE", "EXIT_SUCCESS", "FLT_DIG",
    "FLT_EPSILON", "FLT_MAX",   "FLT_MIN",    "FLT_RADIX",  "HUGE_VAL",     "INFINITY",     "INT8_MAX",
    "INT16_MAX",   "INT32_MAX", "INT64_MAX",  "INT_MAX",    "INT_MIN",      "LLONG_MAX",    "LONG_MAX",
    "LONG_MIN",    "M_E",       "M_PI",       "NAN",        "NULL",         "RAND_MAX",     "SEEK_SET",
    "SIZE_MAX",    "UINT8_MAX", "UINT32_MAX", "UINT64_MAX", "UINT_MAX",     "unix",         "linux"};

std::set<std::string, std::less<>> AskMacros() {
  std::set<std::string, std::less<>> macros(std::begin(kUsualMacros), std::end(kUsualMacros));
  const auto compiler = FindProgram("g++");
  if (!compiler) return macros;
  std::vector<std::string> argv{compiler->string(), "-std=c++20", "-fopenmp", "-march=native", "-dM", "-E"};
  for (const char* header :
       {"stdint.h", "math.h", "limits.h", "float.h", "string.h", "stdlib.h", "stdio.h", "errno.h"}) {
    argv.emplace_back("-include");
    argv.emplace_back(header);
  }
  argv.insert(argv.end(), {"-x", "c++", "/dev/null"});
  auto printed = Ask(argv);
  if (!printed.ok()) return macros;
  for (std::string_view line : Split(printed.value(), '\n')) {
    constexpr std::string_view kDefine = "#define ";
    if (!line.starts_with(kDefine)) continue;
    line.remove_prefix(kDefine.size());
    macros.emplace(line.substr(0, line.find_first_of(" (")));
  }
  return macros;
}

struct LibraryRow {
  std::string_view name;
  std::string_view link_flag;
  std::string_view file;
  std::string_view package;
};
constexpr LibraryRow kLibraries[] = {
    {"openblas", "-lopenblas", "libopenblas.so", "libopenblas-dev"},
    {"blis", "-lblis", "libblis.so", "libblis-dev"},
    {"dnnl", "-ldnnl", "libdnnl.so", "libdnnl-dev"},
};

// Where the loader would find a soname.
std::optional<fs::path> FindShared(const std::string& soname, const fs::path& beside) {
  for (const fs::path& folder : {fs::path("/usr/lib/x86_64-linux-gnu"), fs::path("/lib/x86_64-linux-gnu"),
                                 fs::path("/usr/lib64"), fs::path("/usr/lib"), fs::path("/usr/local/lib"), beside}) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / soname, ignored)) return folder / soname;
  }
  return std::nullopt;
}

Status CollectNeeded(const fs::path& file, std::vector<fs::path>& files) {
  if (std::find(files.begin(), files.end(), file) != files.end()) return Ok();
  files.push_back(file);
  ASSAY_TRY(const std::string bytes, ReadFile(file, size_t{512} << 20));
  const auto elf = ElfFile::Parse(bytes);
  if (!elf) return Error{ErrorCode::kUnavailable, fmt::format("{} is no shared object", file.string())};
  for (const std::string& needed : elf->Needed()) {
    if (IsRuntimeLibrary(needed)) continue;
    const auto found = FindShared(needed, fs::path(file).parent_path());
    if (!found)
      return Error{ErrorCode::kUnavailable, fmt::format("{} needs {}, which is not installed", file.string(), needed)};
    ASSAY_TRY_STATUS(CollectNeeded(*found, files));
  }
  return Ok();
}

}  // namespace

const Result<Toolchain>& PrimaryToolchain() {
  static const Result<Toolchain> toolchain = AskGcc();
  return toolchain;
}

const Result<Toolchain>& SecondToolchain() {
  static const Result<Toolchain> toolchain = AskClang();
  return toolchain;
}

bool IsMacro(const std::string& name) {
  static const std::set<std::string, std::less<>> macros = AskMacros();
  return macros.contains(name);
}

std::vector<std::string> FlagsFor(const Toolchain& toolchain, const std::vector<std::string>& flags) {
  if (toolchain.family == CompilerFamily::kGcc) return flags;
  std::vector<std::string> mapped;
  for (const std::string& flag : flags) {
    // Tuning that Clang lacks or spells for other processors changes no answer and is dropped.
    if (flag.starts_with("-fvect-cost-model") || flag.starts_with("-mtune=") || flag.starts_with("-falign-loops=") ||
        flag.starts_with("-frandom-seed=")) {
      continue;
    }
    if (flag == "-fno-tree-vectorize") {
      mapped.insert(mapped.end(), {"-fno-vectorize", "-fno-slp-vectorize"});
      continue;
    }
    mapped.push_back(flag);
  }
  return mapped;
}

Result<std::filesystem::path> SanitizerRuntime() {
  static const Result<std::filesystem::path> runtime = []() -> Result<std::filesystem::path> {
    ASSAY_TRY(const Toolchain toolchain, PrimaryToolchain());
    // The name as the linker would write it; the development link tells.
    ASSAY_TRY(const std::string printed, Ask({toolchain.compiler.string(), "-print-file-name=libasan.so"}));
    const fs::path development(Trim(printed));
    std::error_code missing;
    const fs::path real = fs::canonical(development, missing);
    if (missing || !development.is_absolute()) {
      return Error{ErrorCode::kUnavailable, "the address sanitizer's runtime is not installed; install libasan8"};
    }
    ASSAY_TRY(const std::string bytes, ReadFile(real, size_t{512} << 20));
    const auto elf = ElfFile::Parse(bytes);
    const auto found = elf ? FindShared(elf->Soname(), real.parent_path()) : std::nullopt;
    if (!found) return Error{ErrorCode::kUnavailable, real.string() + " is not where the loader looks"};
    return *found;
  }();
  return runtime;
}

bool IsRuntimeLibrary(std::string_view soname) {
  for (std::string_view known : {"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libmvec.so.1", "libpthread.so.0",
                                 "libdl.so.2", "librt.so.1", "libgomp.so.1", "libgcc_s.so.1", "libstdc++.so.6"}) {
    if (soname == known) return true;
  }
  return false;
}

Result<AllowedLibrary> FindLibrary(std::string_view name) {
  std::vector<std::string> names;
  for (const LibraryRow& row : kLibraries) {
    names.emplace_back(row.name);
    if (row.name != name) continue;
    const fs::path folder = "/usr/lib/x86_64-linux-gnu";
    const auto development = FindShared(std::string(row.file), folder);
    if (!development) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("{} is not installed; install it with: apt-get install {}", name, row.package)};
    }
    ASSAY_TRY(const std::string bytes, ReadFile(*development, size_t{512} << 20));
    const auto elf = ElfFile::Parse(bytes);
    if (!elf) return Error{ErrorCode::kUnavailable, fmt::format("{} is no shared object", development->string())};
    AllowedLibrary library{std::string(name), std::string(row.link_flag), elf->Soname(), {}};
    const auto runtime = FindShared(library.soname, development->parent_path());
    if (!runtime) return Error{ErrorCode::kUnavailable, fmt::format("{} is not installed", library.soname)};
    ASSAY_TRY_STATUS(CollectNeeded(*runtime, library.files));
    return library;
  }
  return Error{ErrorCode::kInvalidInput, fmt::format("{} is no library that a contract can name; there are {}",
                                                     Printable(name), Join(names, ", "))};
}

}  // namespace assay
