// SPDX-License-Identifier: Apache-2.0
// What `assay init --from` writes: drafts that a person completes, so they say where.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "contract/c_signature.h"
#include "contract/c_tokens.h"
#include "contract/reader.h"

namespace assay {
namespace {

bool IsWide(const std::string& type) {
  return type == "int64_t" || type == "int32_t" || type == "size_t" || type == "unsigned";
}
bool IsAxis(const CParameter& parameter) { return !parameter.pointer && IsWide(parameter.type); }
bool IsTensor(const CParameter& parameter) { return parameter.pointer; }
bool IsScalar(const CParameter& parameter) { return !parameter.pointer && !IsAxis(parameter); }
bool IsFloat(const std::string& type) { return type == "float" || type == "double"; }

std::string_view DTypeOf(const std::string& type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kDTypes = {{{"float", "f32"},
                                                                                     {"double", "f64"},
                                                                                     {"int8_t", "i8"},
                                                                                     {"uint8_t", "u8"},
                                                                                     {"int32_t", "i32"},
                                                                                     {"int64_t", "i64"},
                                                                                     {"uint16_t", "bf16"}}};
  for (const auto& [name, dtype] : kDTypes) {
    if (name == type) return dtype;
  }
  return "i64";
}

std::vector<std::string> AxisNames(const CSignature& signature) {
  std::vector<std::string> names;
  for (const CParameter& parameter : signature.parameters) {
    if (IsAxis(parameter)) names.push_back(parameter.name);
  }
  return names;
}

// With one axis there is one guess; with several, a wrong guess would look like an answer.
std::string ShapeText(const CSignature& signature) {
  const std::vector<std::string> axes = AxisNames(signature);
  return axes.size() == 1 ? fmt::format("[\"{}\"]", axes[0]) : "[\"FILL_IN\"]";
}

std::string TensorDraft(const CSignature& signature, const CParameter& tensor) {
  std::string out = fmt::format("[tensor.{}]\n", tensor.name);
  out += fmt::format("role   = \"{}\"{}\n", tensor.const_target ? "in" : "out",
                     tensor.const_target ? "" : "      # FILL IN: \"inout\" if it is read too; then add values");
  out += fmt::format("dtype  = \"{}\"{}\n", DTypeOf(tensor.type),
                     tensor.type == "uint16_t" ? "    # FILL IN: bf16 or f16" : "");
  const bool guessed = AxisNames(signature).size() == 1;
  out += fmt::format("shape  = {}{}\n", ShapeText(signature),
                     guessed ? "    # FILL IN: is it this?"
                             : "    # FILL IN: extents over the axes, row-major, for example [\"M\", \"K\"]");
  if (tensor.const_target) {
    out += IsFloat(tensor.type) || tensor.type == "uint16_t"
               ? "values = [\"normal(0, 1)\", \"ladder(1e-3, 1e3)\", \"offset(10)\"]\n"
               : "values = [\"uniform(0, 1)\"]    # FILL IN: the range of the values\n";
  } else {
    out += fmt::format("compare = {{ class = \"{}\" }}\n",
                       IsFloat(tensor.type) || tensor.type == "uint16_t" ? "accumulate" : "exact");
  }
  return out + "\n";
}

std::string ParameterText(const CParameter& parameter, bool abi) {
  if (parameter.pointer)
    return fmt::format("{}{}* {}", parameter.const_target ? "const " : "", parameter.type, parameter.name);
  return fmt::format("{} {}", abi && IsAxis(parameter) ? "int64_t" : parameter.type, parameter.name);
}

std::string ParametersText(const CSignature& signature, bool abi) {
  std::vector<std::string> parameters;
  for (const CParameter& parameter : signature.parameters) parameters.push_back(ParameterText(parameter, abi));
  return Join(parameters, ", ");
}

bool MatchesAbi(const CSignature& signature) {
  return std::ranges::all_of(signature.parameters, [](const CParameter& parameter) {
    return !IsAxis(parameter) || parameter.type == "int64_t";
  });
}

// ---- The reference --------------------------------------------------------------------------------

constexpr auto kUnary = std::to_array<std::string_view>(
    {"exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "tanh", "erf", "sin", "cos"});

std::string MathMembers() {
  std::string out = "  // The functions of <math.h>, over the number type.\n";
  for (const std::string_view name : kUnary)
    out += fmt::format(
        "  static Real {0}(const Real& x) {{ return assay::{0}(x); }}\n  static Real {0}f(const Real& x) {{ return "
        "assay::{0}(x); }}\n",
        name);
  for (const std::string_view suffix : {"", "f"}) {
    out += fmt::format("  static Real fabs{0}(const Real& x) {{ return assay::Ops<Real>::Abs(x); }}\n", suffix);
    out += fmt::format(
        "  static Real fmax{0}(const Real& a, const Real& b) {{ return assay::Ops<Real>::Larger(a, b); }}\n", suffix);
    out += fmt::format(
        "  static Real fmin{0}(const Real& a, const Real& b) {{ return assay::Ops<Real>::Smaller(a, b); }}\n", suffix);
  }
  return out;
}

struct Widened {
  std::vector<std::string> includes;
  std::string body;
};

bool IsMathName(std::string_view word) {
  if (word == "fabs" || word == "fmax" || word == "fmin" || word == "fabsf" || word == "fmaxf" || word == "fminf")
    return true;
  return std::ranges::any_of(kUnary,
                             [&](std::string_view name) { return word == name || word == std::string(name) + "f"; });
}

Result<Widened> TakeDirective(const CToken& token, Widened widened) {
  const std::string_view text = Trim(std::string_view(token.text).substr(1));
  if (text.starts_with("include")) {
    const std::string_view what = Trim(text.substr(7));
    if (what.starts_with('"') || what.find("intrin") != std::string_view::npos) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("line {}: #include {} cannot be widened; write reference.h by hand (docs/contract.md)",
                               token.line, Printable(what))};
    }
    if (what != "<omp.h>") widened.includes.push_back("#include " + std::string(what) + "\n");
  } else if (!text.starts_with("pragma")) {
    widened.body += "\n" + token.text + "\n";
  }
  return widened;
}

// The user's tokens with every floating type as Real.  Threads, C linkage and qualified math names
// go: the oracle runs one thread, and members of a class have no C linkage.
Result<Widened> Widen(std::string_view source) {
  const std::vector<CToken> tokens = TokenizeC(source);
  Widened out;
  int line = 0;
  std::vector<bool> dropped;  // per open brace: belongs to an extern "C" or namespace block
  bool drop_next = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const CToken& token = tokens[i];
    const auto next = [&](size_t n) { return i + n < tokens.size() ? tokens[i + n].text : std::string(); };
    if (token.kind == CToken::Kind::kDirective) {
      ASSAY_TRY(out, TakeDirective(token, std::move(out)));
      continue;
    }
    if (token.Is("extern") && next(1).starts_with('"')) {
      drop_next = next(2) == "{";
      ++i;
      continue;
    }
    if (token.Is("namespace")) {
      while (i + 1 < tokens.size() && !tokens[i + 1].Is("{")) ++i;
      drop_next = true;
      continue;
    }
    if (token.Is("using") && next(1) == "namespace") {
      while (i < tokens.size() && !tokens[i].Is(";")) ++i;
      continue;
    }
    if (token.Is("{")) {
      dropped.push_back(drop_next);
      drop_next = false;
      if (dropped.back()) continue;
    } else if (token.Is("}") && !dropped.empty()) {
      const bool drop = dropped.back();
      dropped.pop_back();
      if (drop) continue;
    }
    if (token.Is("std") && next(1) == "::" && IsMathName(next(2))) {
      ++i;
      continue;
    }
    if (token.Is("long") && next(1) == "double") continue;
    out.body += token.line != line ? "\n  " : " ";
    line = token.line;
    if (token.kind == CToken::Kind::kWord && (token.Is("float") || token.Is("double"))) {
      out.body += "Real";
    } else if (token.kind == CToken::Kind::kWord && token.Is("restrict")) {
      out.body += "__restrict__";
    } else {
      out.body += token.text;
    }
  }
  return out;
}

constexpr std::string_view kHelpers = R"(
template <class Real>
Real At(const assay::Args<Real>& a, const char* name, const std::vector<int64_t>& i) {
  switch (i.size()) {
    case 0: return a.at(name);
    case 1: return a.at(name, i[0]);
    case 2: return a.at(name, i[0], i[1]);
    case 3: return a.at(name, i[0], i[1], i[2]);
    default: return a.at(name, i[0], i[1], i[2], i[3]);
  }
}

template <class Real>
int64_t IntegerAt(const assay::Args<Real>& a, const char* name, const std::vector<int64_t>& i) {
  switch (i.size()) {
    case 0: return a.integer(name);
    case 1: return a.integer(name, i[0]);
    case 2: return a.integer(name, i[0], i[1]);
    case 3: return a.integer(name, i[0], i[1], i[2]);
    default: return a.integer(name, i[0], i[1], i[2], i[3]);
  }
}

template <class Real>
void Set(const assay::Args<Real>& a, const char* name, const std::vector<int64_t>& i, const Real& value) {
  switch (i.size()) {
    case 0: a.out(name) = value; break;
    case 1: a.out(name, i[0]) = value; break;
    case 2: a.out(name, i[0], i[1]) = value; break;
    case 3: a.out(name, i[0], i[1], i[2]) = value; break;
    default: a.out(name, i[0], i[1], i[2], i[3]) = value; break;
  }
}

inline int64_t Count(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  return count;
}

inline std::vector<int64_t> Index(const std::vector<int64_t>& extents, int64_t flat) {
  std::vector<int64_t> index(extents.size());
  for (size_t d = extents.size(); d-- > 0; flat /= extents[d]) index[d] = flat % extents[d];
  return index;
}
)";

// One tensor before the call: its extents and a dense copy.
std::string LoadText(const CSignature& signature, const CParameter& tensor) {
  const std::vector<std::string> axes = AxisNames(signature);
  const std::string extents = axes.size() == 1 ? axes[0] : "FILL_IN";
  std::string out = fmt::format("  const std::vector<int64_t> {}_extents = {{{}}};{}\n", tensor.name, extents,
                                "  // FILL IN: as in contract.toml");
  const std::string element = IsFloat(tensor.type) || tensor.type == "uint16_t" ? "Real" : tensor.type;
  out += fmt::format("  std::vector<{}> {}(static_cast<size_t>(widened::Count({}_extents)));\n", element, tensor.name,
                     tensor.name);
  if (!tensor.const_target) return out;
  const std::string read = fmt::format("widened::{1}(a, \"{0}\", widened::Index({0}_extents, static_cast<int64_t>(i)))",
                                       tensor.name, element == "Real" ? "At" : "IntegerAt");
  if (element == "Real")
    return out + fmt::format("  for (size_t i = 0; i < {0}.size(); ++i) {0}[i] = {1};\n", tensor.name, read);
  // Integers keep their type: they count and index.
  return out + fmt::format("  for (size_t i = 0; i < {0}.size(); ++i) {0}[i] = static_cast<{1}>({2});\n", tensor.name,
                           element, read);
}

std::string StoreText(const CParameter& tensor) {
  const bool real = IsFloat(tensor.type) || tensor.type == "uint16_t";
  return fmt::format(
      "  for (size_t i = 0; i < {0}.size(); ++i) widened::Set<Real>(a, \"{0}\", widened::Index({0}_extents, "
      "static_cast<int64_t>(i)), {1});\n",
      tensor.name, real ? tensor.name + "[i]" : fmt::format("Real(static_cast<double>({}[i]))", tensor.name));
}

std::string ReferenceFunction(const CSignature& signature) {
  std::string out = "template <class Real>\nvoid Reference(const assay::Args<Real>& a, const assay::Slice&) {\n";
  std::string stores;
  std::vector<std::string> arguments;
  for (const CParameter& parameter : signature.parameters) {
    arguments.push_back(parameter.pointer ? parameter.name + ".data()" : parameter.name);
    if (IsAxis(parameter)) out += fmt::format("  const int64_t {0} = a.axis(\"{0}\");\n", parameter.name);
    if (!IsScalar(parameter)) continue;
    const auto [type, getter] = IsFloat(parameter.type) ? std::pair("Real", "scalar") : std::pair("int64_t", "integer");
    out += fmt::format("  const {1} {0} = a.{2}(\"{0}\");\n", parameter.name, type, getter);
  }
  for (const CParameter& parameter : signature.parameters) {
    if (!IsTensor(parameter)) continue;
    out += LoadText(signature, parameter);
    if (!parameter.const_target) stores += StoreText(parameter);
  }
  // Narrower integers of the user's signature take what the contract passes as int64_t.
  for (size_t i = 0; i < arguments.size(); ++i) {
    const CParameter& parameter = signature.parameters[i];
    if (!parameter.pointer && !IsFloat(parameter.type) && parameter.type != "int64_t") {
      arguments[i] = fmt::format("static_cast<{}>({})", parameter.type, arguments[i]);
    }
  }
  out += fmt::format("  widened::Source<Real>().{}({});\n", signature.symbol, Join(arguments, ", "));
  return out + stores + "}\n";
}

}  // namespace

Result<std::string> DraftContract(const CSignature& signature, std::string_view contract_name) {
  if (!IsLabel(contract_name))
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("\"{}\": {}; choose another name", Printable(contract_name), kLabelRule)};
  std::vector<std::string> names;
  for (const CParameter& parameter : signature.parameters) names.push_back("\"" + parameter.name + "\"");
  std::string out = fmt::format("# Drafted from the signature of {}; look for FILL IN.  The format: docs/contract.md\n",
                                signature.symbol);
  out += fmt::format(
      "assay   = 1\nname    = \"{}\"\nsummary = \"\"    # FILL IN: one sentence\nentry   = \"{}\"\nargs    = [{}]\n",
      contract_name, signature.symbol, Join(names, ", "));
  out +=
      "require = []    # FILL IN: conditions between axes, for example [\"K % 8 == 0\"]\nslice   = []    # one call of "
      "the reference computes everything\n\n[axis]\n";
  const std::vector<std::string> axes = AxisNames(signature);
  for (const std::string& axis : axes)
    out += fmt::format("{} = {{ min = 1, max = 4096 }}    # FILL IN: the sizes that the function accepts\n", axis);
  out += "\n";
  std::string scalars;
  for (const CParameter& parameter : signature.parameters) {
    if (!IsScalar(parameter)) continue;
    scalars += fmt::format("{} = {{ dtype = \"{}\", values = [\"{}\"] }}    # FILL IN: the values\n", parameter.name,
                           DTypeOf(parameter.type), IsFloat(parameter.type) ? "uniform(0.1, 1)" : "constant(1)");
  }
  if (!scalars.empty()) out += "[scalar]\n" + scalars + "\n";
  for (const CParameter& parameter : signature.parameters) {
    if (IsTensor(parameter)) out += TensorDraft(signature, parameter);
  }
  out += "# [cost]\n# flops = \"FILL IN\"    # floating-point operations over the axes, for example \"2*M*N*K\"\n\n";
  out += "[policy]\nfp = \"reassociate\"\n\n[workload.main]\naxes = {";
  for (size_t i = 0; i < axes.size(); ++i) out += fmt::format("{} {} = 256", i == 0 ? "" : ",", axes[i]);
  out += " }    # FILL IN: the sizes to be fast at\n\n[baseline]\n";
  out += "strict  = { source = \"baseline.cpp\", flags = [\"-O3\", \"-march=native\"] }\n";
  out += "relaxed = { source = \"baseline.cpp\", flags = [\"-O3\", \"-march=native\", \"-ffast-math\"] }\n";
  return out;
}

std::string DraftBaseline(std::string_view source, const CSignature& signature) {
  const std::string declared = ParametersText(signature, false);
  std::string out = "// The given source, behind the contract's entry.\n#include <stddef.h>\n#include <stdint.h>\n\n";
  if (MatchesAbi(signature)) {
    // A declaration first gives the definition below C linkage, whether it says so or not.
    return out + fmt::format("extern \"C\" void {}({});\n\n", signature.symbol, declared) + std::string(source);
  }
  const std::string inner = signature.symbol + "_given";
  out += fmt::format("#define {} {}\nextern \"C\" __attribute__((visibility(\"hidden\"))) void {}({});\n\n",
                     signature.symbol, inner, signature.symbol, declared);
  out += std::string(source) + fmt::format("\n#undef {}\n\n", signature.symbol);
  std::vector<std::string> arguments;
  for (const CParameter& parameter : signature.parameters) {
    const bool narrow = IsAxis(parameter) && parameter.type != "int64_t";
    arguments.push_back(narrow ? fmt::format("static_cast<{}>({})", parameter.type, parameter.name) : parameter.name);
  }
  return out + fmt::format("extern \"C\" void {}({}) {{\n  {}({});\n}}\n", signature.symbol,
                           ParametersText(signature, true), inner, Join(arguments, ", "));
}

Result<std::string> WidenedReference(std::string_view source, const CSignature& signature) {
  Result<Widened> widened = Widen(source);
  if (!widened.ok()) return widened.error();
  std::string out = fmt::format(
      "// Drafted from the source of {0}: its own code over the number type of the reference, one call for all\n// "
      "outputs.  A reference written by hand, with the primitives of <assay/reference.h>, has tighter bounds.\n#pragma "
      "once\n\n",
      signature.symbol);
  out +=
      "#include <assay/reference.h>\n\n#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include "
      "<stdlib.h>\n\n#include <vector>\n";
  out += Join(widened.value().includes, "");
  out +=
      "\nnamespace widened {\n" + std::string(kHelpers) + "\ntemplate <class Real>\nstruct Source {\n" + MathMembers();
  out += widened.value().body + "\n};\n\n}  // namespace widened\n\n" + ReferenceFunction(signature);
  return out;
}

}  // namespace assay
