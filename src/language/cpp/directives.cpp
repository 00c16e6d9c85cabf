// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/directives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "language/cpp/knob_line.h"
#include "language/cpp/space.h"
#include "language/cpp/toolchain.h"

// Directives are whole lines and are read before the preprocessor: in a block comment, a raw string or
// under `#if 0` they count all the same.  That is the rule because a reader without a C++ parser (an
// editor, a search in another process) must see the same family as the builder.
namespace assay {
namespace {

constexpr size_t kMaxSource = size_t{1} << 20;
constexpr size_t kDirectiveBytes = size_t{64} << 10;
constexpr size_t kMaxLine = size_t{4} << 10;
constexpr size_t kMaxDirectives = 256;
constexpr std::string_view kMark = "assay:";
constexpr std::string_view kWords[] = {"template", "knob", "when", "flag", "expect", "note"};

std::string_view SkipBlanks(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t");
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

// The text behind "assay:" when the line is a directive.
std::optional<std::string_view> DirectiveText(std::string_view line) {
  line = SkipBlanks(line);
  if (!line.starts_with("//")) return std::nullopt;
  while (line.starts_with("/")) line.remove_prefix(1);
  if (line.starts_with("!")) line.remove_prefix(1);
  line = SkipBlanks(line);
  if (!line.starts_with(kMark)) return std::nullopt;
  return line.substr(kMark.size());
}

// Something that its author believes to be a directive and that nobody would read.
std::optional<std::string> NearMiss(std::string_view line) {
  std::string_view text = SkipBlanks(line);
  for (std::string_view leader : {"/*", "*", "#", "--", ";", "%", ""}) {
    if (!text.starts_with(leader)) continue;
    const std::string_view rest = SkipBlanks(text.substr(leader.size()));
    if (!rest.starts_with(kMark)) continue;
    return fmt::format("a directive in C++ is a whole line that starts with //, not with \"{}\"",
                       leader.empty() ? "assay:" : leader);
  }
  // Behind code: find a line comment outside of quotes.
  char quote = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == quote)
        quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      // 1'000 is a digit separator, not the start of a character.
      if (text[i] == '"' || i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0) quote = text[i];
    } else if (text[i] == '/' && text[i + 1] == '/') {
      const std::string_view rest = SkipBlanks(text.substr(i + 2));
      if (i > 0 && rest.starts_with(kMark))
        return "a directive stands alone on its line; move it out from behind the code";
      break;
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(Template& family, const Contract& contract) : family_(family), contract_(contract) {
    for (const ArgumentRef& argument : contract.arguments) arguments_.insert(argument.name);
    // Axes that no argument passes are still names of the contract: a reader would take the knob for them.
    for (const Axis& axis : contract.axes) arguments_.insert(axis.name);
  }

  Status Run();

 private:
  Error At(int line, std::string_view what) const {
    return Error{ErrorCode::kInvalidInput, fmt::format("{}:{}: {}", family_.path.string(), line, what)};
  }
  Status ReadLine(std::string_view line, int number, bool beyond);
  Status ReadDirective(std::string_view word, std::string_view rest, int line);
  Status ReadTemplateLine(std::string_view rest, int line);
  Status ReadKnob(std::string_view rest, int line);
  Status ReadWhen(std::string_view rest, int line);
  Status ReadFlag(std::string_view rest, int line);
  Status ReadExpect(std::string_view rest, int line);
  std::optional<std::string> NameTrouble(const std::string& name) const;
  Status CheckNames(const Expression& expression, std::string_view directive, int line,
                    std::span<const Knob> known) const;
  Status CheckWordMacros() const;
  Status CheckConditions() const;

  Template& family_;
  const Contract& contract_;
  std::set<std::string> arguments_;
  std::vector<int> knob_lines_;
  std::vector<int> when_lines_;
  std::map<std::string, int> flag_keys_;
  size_t directives_ = 0;
  int template_line_ = 0;
};

Status Reader::Run() {
  std::string_view text = family_.source;
  size_t offset = 0;
  if (text.starts_with("\xEF\xBB\xBF")) offset = 3;
  int number = 0;
  while (offset < text.size()) {
    ++number;
    const size_t end = std::min(text.find('\n', offset), text.size());
    std::string_view line = text.substr(offset, end - offset);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ASSAY_TRY_STATUS(ReadLine(line, number, offset >= kDirectiveBytes));
    offset = end + 1;
  }
  ASSAY_TRY_STATUS(CheckWordMacros());
  return CheckConditions();
}

Status Reader::ReadLine(std::string_view line, int number, bool beyond) {
  const auto text = DirectiveText(line);
  if (!text) {
    if (line.size() > kMaxLine || line.find(kMark) == std::string_view::npos) return Ok();
    if (auto miss = NearMiss(line)) return At(number, *miss);
    return Ok();
  }
  if (beyond) return At(number, "a directive behind the first 64 kB is not read; move it to the top of the file");
  if (line.size() > kMaxLine) return At(number, "a directive is at most 4 kB long; split it");
  if (++directives_ > kMaxDirectives) return At(number, "more than 256 directives; split the template");
  if (Trim(line).ends_with('\\')) {
    return At(number, "a backslash at the end would make the next line part of this comment; a directive is one line");
  }
  size_t length = 0;
  while (length < text->size() &&
         (std::isalnum(static_cast<unsigned char>((*text)[length])) != 0 || (*text)[length] == '_'))
    ++length;
  return ReadDirective(text->substr(0, length), Trim(text->substr(length)), number);
}

Status Reader::ReadDirective(std::string_view word, std::string_view rest, int line) {
  if (word == "template") return ReadTemplateLine(rest, line);
  if (word == "knob") return ReadKnob(rest, line);
  if (word == "when") return ReadWhen(rest, line);
  if (word == "flag") return ReadFlag(rest, line);
  if (word == "expect") return ReadExpect(rest, line);
  if (word == "note") return Ok();
  if (word.empty())
    return At(line, "assay: what? Write the directive's word right behind the colon, for example assay:knob");
  const std::vector<std::string> words(std::begin(kWords), std::end(kWords));
  const std::string nearest = Nearest(word, words);
  return At(line, fmt::format("assay:{} is no directive; {}", Printable(Cut(word, 40)),
                              nearest.empty() ? "there are " + Join(words, ", ")
                                              : fmt::format("did you mean assay:{}?", nearest)));
}

Status Reader::ReadTemplateLine(std::string_view rest, int line) {
  if (template_line_ != 0)
    return At(line, fmt::format("assay:template: already named in line {}; keep one", template_line_));
  size_t length = 0;
  while (length < rest.size() && (std::isalnum(static_cast<unsigned char>(rest[length])) != 0 || rest[length] == '_'))
    ++length;
  if (length == 0 || std::isdigit(static_cast<unsigned char>(rest[0])) != 0 ||
      (length < rest.size() && rest[length] != ' ' && rest[length] != '\t')) {
    return At(line, fmt::format("assay:template: \"{}\" is no name; write letters, digits and underscores",
                                Printable(Cut(rest, 40))));
  }
  family_.name = std::string(rest.substr(0, length));
  template_line_ = line;
  return Ok();
}

// A name that reads well in place of one that is taken: T -> TILE_T.
std::optional<std::string> Reader::NameTrouble(const std::string& name) const {
  if (arguments_.contains(name)) {
    return fmt::format("also an argument of {}; choose a longer name, for example TILE_{}", contract_.entry,
                       name.size() > 20 ? std::string("SIZE") : name);
  }
  if (auto bad = BadKnobName(name)) return bad;
  for (size_t i = 0; i < family_.knobs.size(); ++i) {
    if (family_.knobs[i].name == name)
      return fmt::format("already a knob in line {}; choose another name", knob_lines_[i]);
  }
  if (IsMacro(name)) return "the compiler or a standard header defines this macro; choose another name";
  return std::nullopt;
}

Status Reader::ReadKnob(std::string_view rest, int line) {
  auto parsed = ParseKnobLine(rest, [this](const std::string& name) { return NameTrouble(name); });
  if (!parsed.ok()) return At(line, parsed.error().message);
  Knob knob = std::move(parsed).value();
  if (knob.only_if) {
    ASSAY_TRY_STATUS(CheckNames(*knob.only_if, fmt::format("assay:knob {}: if", knob.name), line, family_.knobs));
  }
  family_.knobs.push_back(std::move(knob));
  knob_lines_.push_back(line);
  return Ok();
}

Status Reader::ReadWhen(std::string_view rest, int line) {
  if (rest.empty()) return At(line, "assay:when: a condition is missing, for example assay:when MR * NR <= 16");
  auto parsed = Expression::Parse(rest);
  if (!parsed.ok()) return At(line, "assay:when: " + parsed.error().message);
  family_.when.push_back(std::move(parsed).value());
  when_lines_.push_back(line);
  return Ok();  // names are checked at the end: a condition may stand above its knobs
}

Status Reader::CheckNames(const Expression& expression, std::string_view directive, int line,
                          std::span<const Knob> known) const {
  std::vector<std::string> names;
  for (const Knob& knob : known) names.push_back(knob.name);
  for (const std::string& used : expression.NamesUsed()) {
    if (std::find(names.begin(), names.end(), used) != names.end()) continue;
    if (arguments_.contains(used)) {
      return At(line, fmt::format("{} uses {}, an argument of {}; a condition is over knobs, so decide it in the code "
                                  "(if constexpr) or in a second template",
                                  directive, used, contract_.entry));
    }
    const std::string nearest = Nearest(used, names);
    return At(line, fmt::format("{} uses {}, which is no knob{}; {}", directive, used,
                                known.size() < family_.knobs.size() ? " above this line" : "",
                                nearest.empty() ? "declare it above with assay:knob"
                                                : fmt::format("did you mean {}?", nearest)));
  }
  return Ok();
}

Status Reader::ReadFlag(std::string_view rest, int line) {
  FlagGroup group;
  for (std::string_view part : Split(rest, '|')) {
    const std::string option(Trim(part));
    if (option.empty())
      return At(line, "assay:flag: an option is missing; write assay:flag -O2 | -O3, or none for the empty choice");
    if (std::find(group.options.begin(), group.options.end(), option) != group.options.end()) {
      return At(line, fmt::format("assay:flag {}: given twice", Printable(Cut(option, 60))));
    }
    if (option != "none") {
      if (option.find_first_of(" \t") != std::string::npos) {
        return At(line, fmt::format("assay:flag {}: one option is one word; separate options with |",
                                    Printable(Cut(option, 60))));
      }
      if (auto allowed = CheckFlag(option, contract_.policy.fp); !allowed.ok())
        return At(line, "assay:flag " + allowed.error().message);
      const auto [at, fresh] = flag_keys_.emplace(FlagKey(option), line);
      if (!fresh && at->second != line) {
        return At(line, fmt::format("assay:flag {}: line {} already chooses {}; put alternatives into one group",
                                    option, at->second, at->first));
      }
    }
    group.options.push_back(option);
  }
  family_.flags.push_back(std::move(group));
  return Ok();
}

Status Reader::ReadExpect(std::string_view rest, int line) {
  if (family_.expectation) return At(line, "assay:expect: a file has one verdict; keep one");
  const size_t blank = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string verdict(rest.substr(0, blank));
  const std::string_view argument = Trim(rest.substr(blank));
  if (verdict == "verified" || verdict == "no_gain") {
    if (!argument.empty()) return At(line, fmt::format("assay:expect {}: nothing may follow it", verdict));
    family_.expectation = Expectation{verdict, std::nullopt};
    return Ok();
  }
  if (verdict != "rejected") {
    return At(line,
              fmt::format("assay:expect {}: write rejected REASON, verified or no_gain", Printable(Cut(verdict, 40))));
  }
  std::vector<std::string> reasons;
  for (size_t i = 0; i < kReasonCount; ++i) reasons.emplace_back(Name(static_cast<Reason>(i)));
  const auto reason = ParseReason(argument);
  if (!reason) {
    const std::string nearest = Nearest(argument, reasons);
    return At(line, fmt::format("assay:expect rejected {}: no such reason; {}", Printable(Cut(argument, 40)),
                                nearest.empty() ? "there are " + Join(reasons, ", ")
                                                : fmt::format("did you mean {}?", nearest)));
  }
  family_.expectation = Expectation{verdict, reason};
  return Ok();
}

// -DORDER_ijk=0 must not redefine another knob, an argument or a macro.
Status Reader::CheckWordMacros() const {
  std::set<std::string> taken = arguments_;
  for (const Knob& knob : family_.knobs) taken.insert(knob.name);
  for (size_t i = 0; i < family_.knobs.size(); ++i) {
    const Knob& knob = family_.knobs[i];
    if (knob.integers) continue;
    for (const std::string& word : knob.values) {
      const std::string macro = knob.name + "_" + word;
      if (taken.insert(macro).second && !IsMacro(macro)) continue;
      return At(knob_lines_[i],
                fmt::format("assay:knob {}: the word {} becomes the macro {}, which is taken; choose another word",
                            knob.name, word, macro));
    }
  }
  return Ok();
}

Status Reader::CheckConditions() const {
  for (size_t i = 0; i < family_.when.size(); ++i) {
    ASSAY_TRY_STATUS(CheckNames(family_.when[i], "assay:when", when_lines_[i], family_.knobs));
  }
  if (family_.when.empty()) return Ok();
  if (auto trouble = NoLegalPoint(family_)) {
    return Error{ErrorCode::kInvalidInput, fmt::format("{}: {}", family_.path.string(), *trouble)};
  }
  return Ok();
}

}  // namespace

SourceHead ReadHead(std::string_view source) {
  SourceHead head;
  for (std::string_view line : Split(source.substr(0, kDirectiveBytes), '\n')) {
    const auto text = DirectiveText(line);
    if (!text) continue;
    if (text->starts_with("note ")) head.notes.emplace_back(Trim(text->substr(5)));
    if (!text->starts_with("expect ")) continue;
    const std::string_view rest = Trim(text->substr(7));
    const size_t blank = std::min(rest.find(' '), rest.size());
    const Expectation one{std::string(rest.substr(0, blank)), ParseReason(Trim(rest.substr(blank)))};
    head.understood = one.reason ? one.verdict == "rejected" : one.verdict == "verified" || one.verdict == "no_gain";
    head.expectation = one;
  }
  return head;
}

Result<Template> ParseTemplate(std::string source, const std::filesystem::path& path, const Contract& contract) {
  if (source.size() > kMaxSource) {
    return Error{ErrorCode::kInvalidInput, fmt::format("{}: a kernel source is at most 1 MiB", path.string())};
  }
  if (source.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalidInput, fmt::format("{}: this is not a text file", path.string())};
  }
  Template family;
  family.path = path;
  family.name = path.stem().string();
  family.source = std::move(source);
  family.source_hash = Sha256(family.source);
  ASSAY_TRY_STATUS(Reader(family, contract).Run());
  return family;
}

Result<Template> ReadTemplate(const std::filesystem::path& path, const Contract& contract) {
  auto source = ReadFile(path, kMaxSource);
  if (!source.ok())
    return Error{ErrorCode::kInvalidInput, fmt::format("{}: {}", path.string(), source.error().message)};
  return ParseTemplate(std::move(source).value(), path, contract);
}

}  // namespace assay
