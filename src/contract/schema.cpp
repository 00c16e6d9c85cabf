// SPDX-License-Identifier: Apache-2.0
#include "contract/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "contract/generator.h"

namespace assay {
namespace {

using K = KeyType;

SchemaTable TopLevel() {
  return {"",
          false,
          "Top level",
          {
              {"assay", K::kInteger, true, "", "version of the format: `1`"},
              {"name", K::kString, true, "", "the contract's name: letters, digits, `_` and `-`"},
              {"summary", K::kString, false, "", "one sentence for people"},
              {"entry", K::kString, true, "", "the C symbol that a candidate exports"},
              {"kind",
               K::kChoice,
               false,
               "kernel",
               "what is described; `chain` and `step` are reserved",
               {"kernel", "chain", "step"}},
              {"args", K::kStrings, true, "",
               "every axis, scalar, tensor and stride name once, in C order; `scratch` where a candidate may ask for "
               "scratch memory"},
              {"require", K::kExpressions, false, "[]", "conditions over axes and strides that every shape meets"},
              {"slice", K::kStrings, false, "the leading axes that all outputs share",
               "axes of which one point is one call of the reference; `[]` = one call computes everything"},
              {"axis", K::kTable, false, "", "sizes"},
              {"scalar", K::kTable, false, "", "numbers passed by value"},
              {"tensor", K::kTable, true, "", "arrays"},
              {"relation", K::kTable, false, "", "what must hold between two calls"},
              {"cost", K::kTable, false, "", "the work that the operator needs"},
              {"policy", K::kTable, false, "", "what a candidate may do"},
              {"workload", K::kTable, true, "", "the shapes that are timed; the first is the headline"},
              {"baseline", K::kTable, false, "", "plain implementations"},
              {"peer", K::kTable, false, "", "what a user would pick instead"},
          }};
}

SchemaTable AxisTable() {
  return {"axis",
          true,
          "A size. Drawn: 0 if `min = 0`, 1, near-1, near, near+1, primes, workload sizes and their neighbours",
          {
              {"min", K::kInteger, false, "", "smallest size; goes with `max`"},
              {"max", K::kInteger, false, "", "largest size"},
              {"of", K::kIntegers, false, "", "the only sizes, instead of `min` and `max`"},
              {"near", K::kIntegers, false, "[]", "sizes whose neighbours matter: vector widths, block sizes"},
          }};
}

SchemaTable ScalarTable() {
  return {"scalar",
          true,
          "A number passed by value",
          {
              {"dtype", K::kDType, true, "", "its type"},
              {"values", K::kGenerators, false, "", "regimes: generators, or expressions over axes"},
              {"from", K::kString, false, "", "instead of values: `\"inputs.cpp\"`, whose Inputs() sets it"},
          }};
}

SchemaTable TensorTable() {
  return {
      "tensor",
      true,
      "An array, passed by pointer (`const` when its role is in)",
      {
          {"role",
           K::kChoice,
           true,
           "",
           "who writes it; the reference reads an inout tensor as it was before the call",
           {"in", "out", "inout"}},
          {"dtype", K::kDType, true, "", "type of the elements"},
          {"shape", K::kExpressions, true, "", "extents, row-major: expressions over axes"},
          {"align", K::kInteger, false, "64", "alignment of the pointer in bytes"},
          {"stride", K::kStrings, false, "all dense",
           "one string per dimension: the name of an argument that holds the stride in elements, or `\"\"` for dense"},
          {"optional", K::kBoolean, false, "false", "the pointer may be null"},
          {"prepare", K::kBoolean, false, "false", "a candidate may repack it once, outside the call"},
          {"values", K::kGenerators, false, "", "regimes of an in or inout tensor, the usual one first"},
          {"from", K::kString, false, "",
           "instead of values: `\"inputs.cpp\"`, whose Inputs() fills it, or `\"captured:FILE\"`, an npy file in the "
           "folder; reserved: `\"forward:CONTRACT.TENSOR\"`"},
          {"range", K::kExpressions, false, "", "integers: smallest and largest allowed value, both included"},
          {"may_alias", K::kStrings, false, "[]",
           "an output: inputs of its type and layout at whose address it may lie; drawn so in half of the hidden "
           "calls"},
          {"compare", K::kTable, false, "", "how an out or inout tensor is judged; needed there"},
      }};
}

SchemaTable CompareTable() {
  return {"tensor.X.compare",
          false,
          "How an output is judged. Nobody types a tolerance: the bound is computed from the reference",
          {
              {"class",
               K::kChoice,
               true,
               "",
               "the comparison",
               {"exact", "accumulate", "requantise", "stochastic", "index", "solve"}},
              {"in", K::kDType, false, "the dtype, `f32` for smaller ones", "precision of the arithmetic"},
              {"round",
               K::kChoice,
               false,
               "half_even",
               "requantise: rule for ties",
               {"half_even", "half_away", "half_up", "toward_zero", "down"}},
              {"clamp", K::kIntegers, false, "range of the dtype", "requantise: smallest and largest code"},
              {"keys", K::kString, false, "", "index: the named intermediate that the reference publishes"},
              {"order", K::kChoice, false, "descending", "index: direction of the keys", {"ascending", "descending"}},
              {"tie", K::kChoice, false, "lowest", "index: which of equal keys wins", {"lowest", "highest", "any"}},
              {"unique", K::kBoolean, false, "false", "index: no value twice in a row"},
              {"along", K::kString, false, "", "the index output whose order this output follows"},
              {"given", K::kString, false, "", "the output that the reference takes as the candidate returned it"},
              {"slice", K::kStrings, false, "the contract's, or its own leading axes where it has not those",
               "own slice axes of an output with `given`"},
          }};
}

SchemaTable RelationTable() {
  return {"relation",
          true,
          "What must hold between two calls",
          {
              {"kind",
               K::kChoice,
               true,
               "",
               "the relation",
               {"causal", "permute", "scale", "shift", "pad", "sums_to", "untouched", "perturb_one"}},
              {"of", K::kStrings, false, "all inputs", "the tensors that it is about"},
              {"axis", K::kString, false, "", "the axis that it is about"},
              {"with",
               K::kChoice,
               false,
               "redrawn",
               "what the later elements become; nan only where `special = \"propagate\"`",
               {"redrawn", "nan"}},
              {"by", K::kStringOrNumber, false, "",
               "scale, shift: by how much; `\"2^k\"` draws a power of two between 2^-6 and 2^6"},
              {"carries", K::kExpressionTable, false, "{}",
               "permute: axes that move along, and how many of their indices belong to one of `axis`"},
              {"value", K::kNumber, false, "", "sums_to: the sum"},
              {"expect", K::kChoice, false, "bound", "bitwise equal, or within the error bound", {"equal", "bound"}},
          }};
}

SchemaTable CostTable() {
  return {"cost",
          false,
          "The work that the operator needs, whoever computes it",
          {
              {"flops", K::kExpression, false, "", "floating-point operations in f32"},
              {"ops", K::kExpression, false, "", "operations of `unit`, instead of `flops`"},
              {"unit", K::kDType, false, "f32", "the type whose peak bounds `ops`"},
              {"bytes", K::kExpression, false, "every tensor once", "memory traffic, only where less is needed"},
          }};
}

SchemaTable PolicyTable() {
  return {"policy",
          false,
          "What a candidate may do",
          {
              {"threads", K::kThreads, false, "all", "`\"all\"` or a number"},
              {"fp",
               K::kChoice,
               false,
               "strict",
               "what the compiler may do to arithmetic; each includes those before it",
               {"strict", "contract", "reassociate", "finite"}},
              {"special",
               K::kChoice,
               false,
               "finite",
               "whether NaN and infinities occur and must come out",
               {"finite", "propagate"}},
              {"subnormals", K::kChoice, false, "keep", "whether they may be flushed to zero", {"keep", "flush"}},
              {"deterministic",
               K::kChoice,
               false,
               "per_threads",
               "bitwise the same always, at a fixed number of threads, or not",
               {"yes", "per_threads", "no"}},
              {"scratch", K::kByteSize, false, "0", "most bytes that a candidate may ask for: `\"32 MiB\"`"},
              {"libraries", K::kStrings, false, "[]", "libraries that a candidate may link"},
              {"shapes", K::kNumber, false, "5e7", "most operations of a drawn shape"},
          }};
}

SchemaTable WorkloadTable() {
  return {"workload",
          true,
          "A shape that is timed. Strides are dense and optional tensors present unless it says otherwise",
          {
              {"axes", K::kIntegerTable, true, "", "a size for every axis; strides where they are not dense"},
              {"state",
               K::kChoice,
               false,
               "hot",
               "what is in the caches; `in-situ`: what a program leaves there",
               {"hot", "weights-cold", "cold", "in-situ"}},
              {"near", K::kTable, false, "", "what runs before and behind the kernel; needed for `in-situ`"},
              {"scalars", K::kNumberTable, false, "drawn", "values of scalars"},
              {"null", K::kStrings, false, "[]", "optional tensors that are null"},
              {"threads", K::kThreads, false, "the policy's", "`\"all\"` or a number"},
          }};
}

SchemaTable NearTable() {
  return {
      "workload.X.near",
      false,
      "What runs before and behind the kernel in an `in-situ` workload: contracts whose folders lie beside this one's",
      {
          {"producer", K::kString, false, "", "the contract whose output is an input here"},
          {"consumer", K::kString, false, "", "the contract whose input is an output here"},
          {"producer_axes", K::kIntegerTable, false, "as below", "sizes of its axes that do not follow"},
          {"consumer_axes", K::kIntegerTable, false, "as below", "sizes of its axes that do not follow"},
          {"producer_wire", K::kStrings, false, "as below", "the producer's output and the input here that it is"},
          {"consumer_wire", K::kStrings, false, "as below", "the output here and the consumer's input that it is"},
      }};
}

SchemaTable ReferenceTable(std::string_view name, std::string_view meaning) {
  const bool peer = name == "peer";
  SchemaTable table = {
      name,
      true,
      meaning,
      {
          {"source", K::kString, !peer, "",
           peer ? "a file of the folder; needed without `sequence`" : "a file of the folder"},
          {"flags", K::kStrings, false, "[]", "compiler flags, free of choice"},
          {"libraries", K::kStrings, false, "[]", "libraries that it links"},
          {"unset", K::kStrings, false, "[]", "environment variables that its process must not have"},
          {"trust", K::kChoice, false, "", "`jit`: it writes machine code at run time", {"jit"}},
          {"info", K::kString, false, "", "a function `const char* f()` whose text is printed beside its figures"},
      }};
  if (peer) {
    table.keys.push_back({"sequence", K::kStrings, false, "",
                          "instead of all others: contracts beside this one whose kernels together do the same"});
  }
  return table;
}

std::string_view TypeName(KeyType type) {
  switch (type) {
    case K::kString:
      return "text";
    case K::kInteger:
      return "integer";
    case K::kNumber:
      return "number";
    case K::kBoolean:
      return "true or false";
    case K::kStrings:
      return "list of texts";
    case K::kIntegers:
      return "list of integers";
    case K::kChoice:
      return "one of";
    case K::kDType:
      return "dtype";
    case K::kExpression:
      return "expression";
    case K::kExpressions:
      return "list of expressions";
    case K::kGenerators:
      return "list of generators";
    case K::kByteSize:
      return "size";
    case K::kThreads:
      return "`\"all\"` or integer";
    case K::kStringOrNumber:
      return "text or number";
    case K::kTable:
      return "table";
    case K::kIntegerTable:
      return "table of integers";
    case K::kNumberTable:
      return "table of numbers";
    case K::kExpressionTable:
      return "table of expressions";
  }
  return "";
}

std::string Row(const SchemaKey& key) {
  std::string type(TypeName(key.type));
  for (size_t i = 0; i < key.choices.size(); ++i) type += fmt::format("{}`{}`", i == 0 ? " " : ", ", key.choices[i]);
  const std::string_view otherwise = key.required ? std::string_view("**required**") : key.default_text;
  return fmt::format("| `{}` | {} | {} | {} |\n", key.name, type, otherwise, key.meaning);
}

}  // namespace

std::span<const SchemaTable> Schema() {
  static const std::vector<SchemaTable> kSchema = {
      TopLevel(),
      AxisTable(),
      ScalarTable(),
      TensorTable(),
      CompareTable(),
      RelationTable(),
      CostTable(),
      PolicyTable(),
      WorkloadTable(),
      NearTable(),
      ReferenceTable("baseline", "A plain implementation that candidates are measured against"),
      ReferenceTable("peer", "What a user would pick instead; code trusted, answers checked")};
  return kSchema;
}

const SchemaTable& SchemaOf(std::string_view table) {
  const auto found = std::ranges::find(Schema(), table, &SchemaTable::name);
  ASSAY_CHECK(found != Schema().end());
  return *found;
}

std::string SchemaMarkdown() {
  std::string out;
  for (const SchemaTable& table : Schema()) {
    const std::string title =
        table.name.empty() ? "Top level" : fmt::format("`[{}{}]`", table.name, table.named ? ".NAME" : "");
    out += fmt::format("### {}\n\n", title);
    if (!table.name.empty()) out += fmt::format("{}.\n\n", table.meaning);
    out += "| key | type | default | meaning |\n|---|---|---|---|\n";
    for (const SchemaKey& key : table.keys) out += Row(key);
    out += "\n";
  }
  out += "### Value generators\n\n" + GeneratorMarkdown();
  return out;
}

}  // namespace assay
