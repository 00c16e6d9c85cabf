// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "language/cpp/policy.h"

// A tolerant reader of C++ source.  It is the friendly half of the policy: it names a line and a
// remedy.  What it overlooks (a macro that builds a directive) meets the build jail, which holds
// nothing to read, and the checks of the finished file.
namespace assay {
namespace {

constexpr std::string_view kHeaders[] = {
    // C
    "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h", "limits.h", "math.h",
    "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h",
    "malloc.h", "alloca.h", "cassert", "ccomplex", "cctype", "cerrno", "cfenv", "cfloat", "cinttypes", "climits",
    "cmath", "cstdarg", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "ctime",
    // C++
    "algorithm", "any", "array", "atomic", "barrier", "bit", "bitset", "charconv", "chrono", "compare", "complex",
    "concepts", "condition_variable", "deque", "exception", "execution", "functional", "future", "initializer_list",
    "iterator", "latch", "limits", "list", "map", "memory", "memory_resource", "mutex", "new", "numbers", "numeric",
    "optional", "queue", "random", "ranges", "ratio", "semaphore", "set", "shared_mutex", "span", "stack", "stdexcept",
    "stop_token", "string", "string_view", "thread", "tuple", "type_traits", "typeinfo", "unordered_map",
    "unordered_set", "utility", "valarray", "variant", "vector", "version", "iostream", "fstream", "sstream", "ostream",
    "istream", "iomanip", "ios", "experimental/simd", "bits/stdc++.h",
    // The machine and the harness
    "omp.h", "immintrin.h", "x86intrin.h", "xmmintrin.h", "emmintrin.h", "cpuid.h", "x86gprintrin.h",
    "assay/contract.h"};

// System headers stay readable: what they offer is refused by the walls when it is called, with the
// name of the call, and a header alone does nothing.
constexpr std::string_view kSystemHeaders[] = {"unistd.h",    "fcntl.h", "signal.h", "pthread.h", "sched.h", "dlfcn.h",
                                               "link.h",      "elf.h",   "setjmp.h", "csignal",   "csetjmp", "poll.h",
                                               "semaphore.h", "netdb.h", "spawn.h",  "ucontext.h"};
constexpr std::string_view kSystemFolders[] = {"sys/", "netinet/", "arpa/", "linux/", "asm/"};

constexpr std::string_view kAssemblerWords[] = {".incbin",
                                                ".include",
                                                ".section",
                                                ".pushsection",
                                                ".popsection",
                                                ".previous",
                                                ".subsection",
                                                ".init_array",
                                                ".preinit_array",
                                                ".fini_array",
                                                ".ctors",
                                                ".dtors",
                                                ".symver",
                                                ".globl",
                                                ".global",
                                                ".weak",
                                                ".gnu_indirect_function"};

// The source with comments blanked out and string contents cut out, kept apart: a `//` in a string is
// no comment and an `#include` in a comment is none.
struct Scanned {
  std::string code;     // lines joined at backslashes, comments as blanks, strings kept
  std::string strings;  // contents of all string literals, neighbours joined, others apart by '\n'
  bool assembler = false;
};

bool WordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Scanner {
 public:
  explicit Scanner(std::string_view source) {
    // Joins continued lines first, as the compiler does, keeping the count of lines.
    size_t owed = 0;
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r') continue;
      if (source[i] == '\\') {
        size_t next = i + 1;
        while (next < source.size() && (source[next] == '\r' || source[next] == ' ' || source[next] == '\t')) ++next;
        if (next < source.size() && source[next] == '\n') {
          i = next;
          ++owed;
          continue;
        }
      }
      text_.push_back(source[i]);
      if (source[i] == '\n') {
        text_.append(owed, '\n');
        owed = 0;
      }
    }
  }

  Scanned Run() {
    while (at_ < text_.size()) {
      if (Starts("//"))
        LineComment();
      else if (Starts("/*"))
        BlockComment();
      else if (text_[at_] == '"')
        String();
      else if (text_[at_] == '\'')
        Character();
      else
        Plain();
    }
    return std::move(out_);
  }

 private:
  bool Starts(std::string_view word) const { return std::string_view(text_).substr(at_).starts_with(word); }

  void LineComment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  void BlockComment() {
    at_ += 2;
    while (at_ < text_.size() && !Starts("*/")) {
      if (text_[at_] == '\n') out_.code.push_back('\n');
      ++at_;
    }
    at_ = std::min(at_ + 2, text_.size());
    out_.code.push_back(' ');
  }
  void String() {
    const bool raw = at_ > 0 && text_[at_ - 1] == 'R';
    if (!adjacent_) out_.strings.push_back('\n');
    adjacent_ = true;
    const size_t start = at_++;
    if (raw) {
      const size_t open = text_.find('(', at_);
      const std::string close = open == std::string::npos ? "\"" : ")" + text_.substr(at_, open - at_) + "\"";
      const size_t body = open == std::string::npos ? at_ : open + 1;
      const size_t end = std::min(text_.find(close, body), text_.size());
      out_.strings.append(text_, body, end - body);
      at_ = std::min(end + close.size(), text_.size());
    } else {
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
        // A letter may be written as \56, \x2e or \u002e; an assembler text has no business with those.
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
          ++at_;
          out_.strings.push_back(text_[at_] == 'n' || text_[at_] == 't' ? ' '
                                 : text_[at_] == 'x' || text_[at_] == 'u' ||
                                         std::isdigit(static_cast<unsigned char>(text_[at_])) != 0
                                     ? '\\'
                                     : text_[at_]);
        } else {
          out_.strings.push_back(text_[at_]);
        }
        ++at_;
      }
      if (at_ < text_.size()) ++at_;
    }
    out_.code.append(text_, start, at_ - start);
  }
  void Character() {
    // A digit separator is part of a number.
    if (at_ > 0 && WordPart(text_[at_ - 1])) return Plain();
    const size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '\'' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    out_.code.append(text_, start, at_ - start);
  }
  void Plain() {
    if (WordPart(text_[at_])) {
      size_t end = at_;
      while (end < text_.size() && WordPart(text_[end])) ++end;
      const std::string_view word = std::string_view(text_).substr(at_, end - at_);
      if (word == "asm" || word == "__asm" || word == "__asm__") out_.assembler = true;
      if (word != "R" && word != "u8R") adjacent_ = false;
      out_.code.append(word);
      at_ = end;
      return;
    }
    if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0) adjacent_ = false;
    out_.code.push_back(text_[at_++]);
  }

  std::string text_;
  size_t at_ = 0;
  bool adjacent_ = false;  // only blanks since the last string: the compiler joins the two
  Scanned out_;
};

bool AllowedHeader(std::string_view name) {
  if (name.starts_with('/') || name.find("..") != std::string_view::npos) return false;
  const auto listed = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  return listed(kHeaders) || listed(kSystemHeaders) ||
         std::any_of(std::begin(kSystemFolders), std::end(kSystemFolders),
                     [&](std::string_view folder) { return name.starts_with(folder); });
}

// Words of a pragma that look at another file, by whichever of its two forms.
constexpr std::string_view kFilePragmas[] = {"dependency", "pch_preprocess", "include_alias"};

// Where `word` stands as a whole word at or behind `from`.
size_t FindWord(std::string_view text, std::string_view word, size_t from = 0) {
  for (size_t at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !WordPart(text[at - 1])) && (end == text.size() || !WordPart(text[end]))) return at;
  }
  return std::string_view::npos;
}

std::optional<std::string> CheckPragma(std::string_view text) {
  for (std::string_view word : kFilePragmas) {
    if (FindWord(text, word) == std::string_view::npos) continue;
    return fmt::format("a pragma with {} looks at another file; leave it out", word);
  }
  return std::nullopt;
}

// A question whether a file exists is answered for standard headers only.
std::optional<std::string> CheckQuestion(std::string_view condition, int number) {
  for (std::string_view word : {"__has_include_next", "__has_embed"}) {
    if (FindWord(condition, word) != std::string_view::npos)
      return fmt::format("line {}: {} asks for files; ask __has_include for a standard header", number, word);
  }
  constexpr std::string_view kQuestion = "__has_include";
  for (size_t at = FindWord(condition, kQuestion); at != std::string_view::npos;
       at = FindWord(condition, kQuestion, at + 1)) {
    std::string_view rest = Trim(condition.substr(at + kQuestion.size()));
    if (!rest.starts_with('(')) continue;  // defined(__has_include)
    rest = Trim(rest.substr(1));
    const char close = rest.starts_with('<') ? '>' : rest.starts_with('"') ? '"' : '\0';
    const size_t end = close == '\0' ? std::string_view::npos : rest.find(close, 1);
    if (end != std::string_view::npos && AllowedHeader(rest.substr(1, end - 1))) continue;
    return fmt::format("line {}: __has_include of {}: only a standard header may be asked for, by its name", number,
                       Printable(Cut(rest.substr(0, end), 80)));
  }
  return std::nullopt;
}

std::optional<std::string> CheckDirectiveLine(std::string_view line, int number) {
  std::string_view rest = Trim(line);
  if (rest.starts_with("%:")) rest.remove_prefix(1);  // digraph of '#'
  if (!rest.starts_with('#') && !rest.starts_with(':')) return std::nullopt;
  rest = Trim(rest.substr(1));
  if (rest.starts_with("pragma")) return CheckPragma(rest);
  if (rest.starts_with("if") || rest.starts_with("elif")) return CheckQuestion(rest, number);
  for (std::string_view word : {"include_next", "include", "import", "embed"}) {
    if (!rest.starts_with(word)) continue;
    if (word != "include")
      return fmt::format("line {}: #{} reads files; write #include of a standard header", number, word);
    rest = Trim(rest.substr(word.size()));
    if (rest.empty() || (rest.front() != '<' && rest.front() != '"')) {
      return fmt::format("line {}: #include takes its name from a macro; write the header's name", number);
    }
    const size_t end = rest.find(rest.front() == '<' ? '>' : '"', 1);
    const std::string_view name = rest.substr(1, end == std::string_view::npos ? std::string_view::npos : end - 1);
    if (AllowedHeader(name)) return std::nullopt;
    return fmt::format(
        "line {}: #include of {}: only standard headers, omp.h, immintrin.h and assay/contract.h are there; put the "
        "code into this file",
        number, Printable(Cut(name, 80)));
  }
  return std::nullopt;
}

std::optional<std::string> CheckAssembler(const Scanned& scanned) {
  if (!scanned.assembler) return std::nullopt;
  for (std::string_view word : kAssemblerWords) {
    // ".section" also inside ".sectionx": the next letter must end the word.
    for (size_t at = scanned.strings.find(word); at != std::string::npos; at = scanned.strings.find(word, at + 1)) {
      const size_t end = at + word.size();
      if (end < scanned.strings.size() && WordPart(scanned.strings[end])) continue;
      return fmt::format(
          "assembler with {}: it may compute, not read files, leave its section or name symbols for the linker", word);
    }
  }
  if (scanned.strings.find('\\') != std::string::npos) {
    return "assembler in a file whose strings have numeric escapes: a directive could hide in one; write the "
           "characters themselves";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> CheckSource(std::string_view source) {
  const Scanned scanned = Scanner(source).Run();
  int number = 0;
  for (std::string_view line : Split(scanned.code, '\n')) {
    ++number;
    if (auto trouble = CheckDirectiveLine(line, number)) return trouble;
  }
  if (FindWord(scanned.code, "_Pragma") != std::string::npos) {
    if (auto trouble = CheckPragma(scanned.strings)) return trouble;
  }
  return CheckAssembler(scanned);
}

bool MakesAssemblerText(std::string_view source) {
  const Scanned scanned = Scanner(source).Run();
  if (!scanned.assembler) return false;
  for (std::string_view line : Split(scanned.code, '\n')) {
    line = Trim(line);
    if (!line.starts_with('#') && !line.starts_with("%:")) continue;
    line = Trim(line.substr(line.starts_with('#') ? 1 : 2));
    if (line.starts_with("define") && line.find_first_of("#%") != std::string_view::npos) return true;
  }
  return false;
}

std::optional<std::string> CheckExpanded(std::string_view expanded, std::string_view name) {
  std::string own;
  bool inside = false;
  for (std::string_view line : Split(expanded, '\n')) {
    // # 12 "candidate.cpp" 2
    if (line.starts_with("# ")) {
      const size_t quote = line.find('"');
      inside = quote != std::string_view::npos && line.substr(quote + 1).starts_with(name);
      continue;
    }
    if (inside) own.append(line).push_back('\n');
  }
  return CheckAssembler(Scanner(own).Run());
}

}  // namespace assay
