// SPDX-License-Identifier: Apache-2.0
#include "contract/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace assay {
namespace {

enum class Demand { kNone, kAscending, kPositiveAscending, kShare, kShareFirst, kSpread };

struct GeneratorRow {
  std::string_view name;
  GeneratorKind kind;
  size_t arity;
  Demand demand;
  bool for_scalars;
  std::string_view form;
  std::string_view meaning;
};

constexpr std::array<GeneratorRow, 14> kGenerators{{
    {"normal", GeneratorKind::kNormal, 2, Demand::kSpread, true, "normal(m, s)", "normal with mean m and deviation s"},
    {"uniform", GeneratorKind::kUniform, 2, Demand::kAscending, true, "uniform(a, b)",
     "uniform; for integers both ends are included"},
    {"loguniform", GeneratorKind::kLogUniform, 2, Demand::kPositiveAscending, true, "loguniform(a, b)",
     "the logarithm is uniform; 0 < a <= b"},
    {"ladder", GeneratorKind::kLadder, 2, Demand::kPositiveAscending, false, "ladder(a, b)",
     "normal times a magnitude per row, drawn log-uniformly in [a, b]"},
    {"outliers", GeneratorKind::kOutliers, 2, Demand::kShareFirst, false, "outliers(p, s)",
     "normal, a share p of the elements multiplied by s"},
    {"offset", GeneratorKind::kOffset, 1, Demand::kNone, false, "offset(c)", "normal plus c"},
    {"ties", GeneratorKind::kTies, 1, Demand::kShare, false, "ties(share)",
     "normal, that share of the elements copied from other elements of the row"},
    {"constant", GeneratorKind::kConstant, 1, Demand::kNone, true, "constant(c)", "every element is c"},
    {"sorted", GeneratorKind::kSorted, 0, Demand::kNone, false, "sorted", "normal, ascending along the last dimension"},
    {"clustered", GeneratorKind::kClustered, 0, Demand::kNone, false, "clustered", "a few distinct normal values"},
    {"subnormal", GeneratorKind::kSubnormal, 0, Demand::kNone, false, "subnormal", "below the smallest normal number"},
    {"special", GeneratorKind::kSpecial, 0, Demand::kNone, false, "special",
     "NaN, infinities, zeros of both signs, subnormals and extremes among normal values; of floats only where `special "
     "= "
     "\"propagate\"`"},
    {"captured", GeneratorKind::kCaptured, 0, Demand::kNone, false, "captured",
     "stretches of what was recorded from a model in `captured/TENSOR.npy`"},
    {"any", GeneratorKind::kAny, 0, Demand::kNone, true, "any",
     "random bits; NaN and infinities only where `special = \"propagate\"`"},
}};

const GeneratorRow* FindRow(std::string_view name) {
  const auto found = std::ranges::find(kGenerators, name, &GeneratorRow::name);
  return found == kGenerators.end() ? nullptr : &*found;
}

const GeneratorRow& RowOf(GeneratorKind kind) { return *std::ranges::find(kGenerators, kind, &GeneratorRow::kind); }

// Splits at the commas outside of inner parentheses.
std::vector<std::string_view> SplitArguments(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

std::string_view NameOf(std::string_view text) { return Trim(text.substr(0, text.find('('))); }

Error Refuse(std::string what) { return Error{ErrorCode::kInvalidInput, std::move(what)}; }

Result<Generator> ParseRow(const GeneratorRow& row, std::string_view text) {
  Generator generator;
  generator.kind = row.kind;
  generator.text = std::string(text);
  const size_t open = text.find('(');
  const std::string wanted = fmt::format("\"{}\" is not understood; write \"{}\"", Printable(Cut(text, 120)), row.form);
  if (open == std::string_view::npos) {
    if (row.arity != 0) return Refuse(wanted);
    return generator;
  }
  if (row.arity == 0 || !text.ends_with(')')) return Refuse(wanted);
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  for (const std::string_view part : SplitArguments(inside)) {
    ASSAY_TRY(Expression number, Expression::Parse(part));
    generator.parameters.push_back(std::move(number));
  }
  if (generator.parameters.size() != row.arity) return Refuse(wanted);
  return generator;
}

}  // namespace

Result<Generator> ParseGenerator(std::string_view text) {
  text = Trim(text);
  const GeneratorRow* row = FindRow(NameOf(text));
  if (row != nullptr) return ParseRow(*row, text);
  std::vector<std::string> known;
  for (const GeneratorRow& entry : kGenerators) known.emplace_back(entry.name);
  const std::string nearest = Nearest(NameOf(text), known);
  return Refuse(fmt::format("\"{}\" is no generator; {}", Printable(Cut(text, 120)),
                            nearest.empty() ? "there are " + Join(known, ", ") : "did you mean " + nearest + "?"));
}

Result<Generator> ParseScalarRegime(std::string_view text) {
  text = Trim(text);
  if (const GeneratorRow* row = FindRow(NameOf(text))) {
    if (!row->for_scalars) {
      return Refuse(fmt::format(
          "\"{}\" needs a row of elements; a scalar takes normal, uniform, loguniform, constant, any or an expression",
          text));
    }
    return ParseRow(*row, text);
  }
  ASSAY_TRY(Expression value, Expression::Parse(text));
  Generator generator;
  generator.kind = GeneratorKind::kExpression;
  generator.parameters.push_back(std::move(value));
  generator.text = std::string(text);
  return generator;
}

Result<std::vector<double>> GeneratorNumbers(const Generator& generator, const Names& names) {
  std::vector<double> numbers;
  for (const Expression& parameter : generator.parameters) {
    ASSAY_TRY(const double number, parameter.EvaluateNumber(names));
    numbers.push_back(number);
  }
  if (generator.kind == GeneratorKind::kExpression) return numbers;
  const auto refuse = [&](std::string_view what) { return Refuse(fmt::format("\"{}\": {}", generator.text, what)); };
  switch (RowOf(generator.kind).demand) {
    case Demand::kNone:
      break;
    case Demand::kAscending:
      if (!(numbers[0] <= numbers[1])) return refuse("the first number is above the second; swap them");
      break;
    case Demand::kPositiveAscending:
      if (!(0 < numbers[0] && numbers[0] <= numbers[1])) return refuse("needs 0 < a <= b; correct the numbers");
      break;
    case Demand::kShare:
    case Demand::kShareFirst:
      if (!(0 <= numbers[0] && numbers[0] <= 1)) return refuse("the share is not in [0, 1]; correct it");
      break;
    case Demand::kSpread:
      if (!(0 <= numbers[1])) return refuse("the deviation is negative; correct it");
      break;
  }
  return numbers;
}

std::string GeneratorMarkdown() {
  std::string out = "| generator | values |\n|---|---|\n";
  for (const GeneratorRow& row : kGenerators) out += fmt::format("| `{}` | {} |\n", row.form, row.meaning);
  return out;
}

}  // namespace assay
