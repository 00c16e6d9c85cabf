// SPDX-License-Identifier: Apache-2.0
#include "contract/load_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "contract/generator.h"
#include "contract/neighbour.h"
#include "contract/reader.h"
#include "contract/sequence.h"

namespace assay {
namespace {

constexpr int64_t kMaxAxis = int64_t{1} << 40;
constexpr size_t kMaxRank = 8;
constexpr int64_t kMaxThreads = 4096;

template <typename Enum>
Enum Chosen(const Reader& reader, std::string_view key,
            std::initializer_list<std::pair<std::string_view, Enum>> choices) {
  const std::string text = reader.Text(key, choices.begin()->first);
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
  }
  ASSAY_CHECK(false);  // the schema knows a choice that this table does not
  return choices.begin()->second;
}

std::string ExpressionText(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::kString) return node.text;
  return node.kind == ConfigNode::Kind::kInteger ? fmt::format("{}", node.integer) : fmt::format("{}", node.real);
}

Result<Expression> ReadExpression(const Reader& reader, std::string_view key, const ConfigNode& node) {
  const std::string text = ExpressionText(node);
  // A negative number is fine in a list of numbers but is a sign and a number to the grammar; it parses as such.
  Result<Expression> parsed = Expression::Parse(text);
  if (!parsed.ok()) return reader.At(key, parsed.error().message);
  return parsed;
}

Result<std::vector<Expression>> ReadExpressions(const Reader& reader, std::string_view key) {
  std::vector<Expression> expressions;
  if (const ConfigNode* node = reader.Node(key)) {
    for (const ConfigNode& item : node->items) {
      ASSAY_TRY(Expression expression, ReadExpression(reader, key, item));
      expressions.push_back(std::move(expression));
    }
  }
  return expressions;
}

Result<std::vector<Generator>> ReadGenerators(const Reader& reader, bool for_scalar) {
  std::vector<Generator> generators;
  for (const std::string& text : reader.Texts("values")) {
    Result<Generator> generator = for_scalar ? ParseScalarRegime(text) : ParseGenerator(text);
    if (!generator.ok()) return reader.At("values", generator.error().message);
    generators.push_back(std::move(generator).value());
  }
  return generators;
}

Status ReadTop(const Reader& top, Contract& contract) {
  if (top.Integer("assay") != 1) return top.At("assay", "this program reads version 1; write 1");
  contract.name = top.Text("name");
  if (!IsLabel(contract.name)) return top.At("name", kLabelRule);
  contract.summary = top.Text("summary");
  contract.entry = top.Text("entry");
  if (!IsSymbol(contract.entry)) {
    return top.At("entry", "needs a C symbol of 1 to 64 letters, digits and _ that no library owns; rename it");
  }
  if (top.Text("kind", "kernel") != "kernel") {
    return top.At("kind", fmt::format("\"{}\" is reserved and not supported yet; write \"kernel\"", top.Text("kind")));
  }
  ASSAY_TRY(contract.require, ReadExpressions(top, "require"));
  contract.slice = top.Texts("slice");
  return Ok();
}

Result<Axis> ReadAxis(const Reader& reader, const std::string& name) {
  Axis axis;
  axis.name = name;
  axis.of = reader.Integers("of");
  axis.near = reader.Integers("near");
  if (reader.Has("of")) {
    if (reader.Has("min") || reader.Has("max")) return reader.At("of", "excludes min and max; remove one of them");
    if (axis.of.empty()) return reader.At("of", "is empty; name at least one size");
    std::ranges::sort(axis.of);
    if (std::ranges::adjacent_find(axis.of) != axis.of.end()) return reader.At("of", "names a size twice; remove one");
    axis.min = axis.of.front();
    axis.max = axis.of.back();
  } else {
    if (!reader.Has("min")) return reader.At("min", "is missing; add min and max, or of");
    if (!reader.Has("max")) return reader.At("max", "is missing; add it");
    axis.min = reader.Integer("min");
    axis.max = reader.Integer("max");
  }
  const std::string_view key = reader.Has("of") ? "of" : "min";
  if (axis.min < 0) return reader.At(key, "a size is negative; write 0 or more");
  if (axis.max > kMaxAxis)
    return reader.At(reader.Has("of") ? "of" : "max", fmt::format("is above {}; write a smaller size", kMaxAxis));
  if (axis.min > axis.max) return reader.At("min", fmt::format("{} is above max, {}; swap them", axis.min, axis.max));
  for (const int64_t near : axis.near) {
    if (near < axis.min || near > axis.max)
      return reader.At("near", fmt::format("{} is outside of {} to {}; remove it", near, axis.min, axis.max));
  }
  return axis;
}

// What stands behind captured: is found in the contract's folder, later (CollectFiles).
constexpr std::string_view kCapturedPrefix = "captured:";

Status ReadFrom(const Reader& reader, std::string& from, Contract& contract) {
  from = reader.Text("from");
  if (from.empty()) return Ok();
  if (reader.Has("values")) return reader.At("from", "excludes values; remove one of them");
  if (from == kInputsFile) return Ok();
  if (from.starts_with("forward:")) {
    contract.unsupported.push_back(reader.At("from", "forward: is reserved and not supported yet; use values").message);
    return Ok();
  }
  if (from.starts_with(kCapturedPrefix) && from.size() > kCapturedPrefix.size()) return Ok();
  return reader.At("from", "write \"inputs.cpp\", \"forward:CONTRACT.TENSOR\" or \"captured:FILE\"");
}

Result<Scalar> ReadScalar(const Reader& reader, const std::string& name, Contract& contract) {
  Scalar scalar;
  scalar.name = name;
  scalar.dtype = ParseDType(reader.Text("dtype")).value();
  if (Info(scalar.dtype).bits < 8) return reader.At("dtype", "is packed in pairs and no scalar; write i8 or f32");
  ASSAY_TRY(scalar.values, ReadGenerators(reader, true));
  ASSAY_TRY_STATUS(ReadFrom(reader, scalar.from, contract));
  if (scalar.from.starts_with(kCapturedPrefix))
    return reader.At("from", "only a tensor can be captured; write \"inputs.cpp\" or values");
  if (scalar.values.empty() && scalar.from.empty()) return reader.At("values", "is missing; add at least one regime");
  return scalar;
}

Result<Compare> ReadCompare(const Reader& reader, DType dtype) {
  Compare compare;
  compare.kind = Chosen<CompareClass>(reader, "class",
                                      {{"exact", CompareClass::kExact},
                                       {"accumulate", CompareClass::kAccumulate},
                                       {"requantise", CompareClass::kRequantise},
                                       {"stochastic", CompareClass::kStochastic},
                                       {"index", CompareClass::kIndex},
                                       {"solve", CompareClass::kSolve}});
  const bool wide = dtype == DType::kF64 || dtype == DType::kF32;
  compare.in = ParseDType(reader.Text("in", Info(wide ? dtype : DType::kF32).name)).value();
  compare.round = reader.Text("round", compare.round);
  compare.keys = reader.Text("keys");
  compare.order = reader.Text("order", "descending");
  compare.tie = reader.Text("tie", "lowest");
  compare.along = reader.Text("along");
  compare.given = reader.Text("given");
  compare.unique = reader.Truth("unique");
  compare.own_slice = reader.Has("slice");
  compare.slice = reader.Texts("slice");
  const bool is_float = Info(dtype).is_float;
  if (!Info(compare.in).is_float || Traits(compare.in).precision < 3)
    return reader.At("in", "the arithmetic needs a float type that can add; write f32 or f64");
  if (compare.kind == CompareClass::kAccumulate && !is_float)
    return reader.At("class", "accumulate needs a float tensor; write exact or requantise");
  if (compare.kind == CompareClass::kIndex && is_float)
    return reader.At("class", "index needs an integer tensor; change the dtype");
  if (compare.kind == CompareClass::kIndex && compare.keys.empty())
    return reader.At("keys", "is missing; name the intermediate that the reference publishes");
  if (compare.kind == CompareClass::kSolve && !is_float)
    return reader.At("class", "solve needs a float tensor; change the dtype");
  if (reader.Has("clamp")) {
    const std::vector<int64_t> clamp = reader.Integers("clamp");
    if (clamp.size() != 2 || clamp[0] > clamp[1]) return reader.At("clamp", "needs two numbers, the smaller first");
    compare.clamp_low = clamp[0];
    compare.clamp_high = clamp[1];
  }
  if (compare.own_slice && compare.given.empty() && compare.along.empty())
    return reader.At("slice", "only an output with given or along has its own slice; use the top-level slice");
  return compare;
}

Status CheckTensorValues(const Reader& reader, const Tensor& tensor) {
  const bool read = tensor.role != Role::kOut;
  if (!read && reader.Has("values")) return reader.At("values", "an output has no values; remove it");
  if (!read && reader.Has("from")) return reader.At("from", "an output has no values; remove it");
  if (read && tensor.values.empty() && tensor.from.empty())
    return reader.At("values", "is missing; add at least one regime, for example [\"normal(0, 1)\"]");
  if (tensor.role == Role::kIn && tensor.compare) return reader.At("compare", "an input is not compared; remove it");
  if (tensor.role != Role::kIn && !tensor.compare)
    return reader.At("compare", "is missing; add { class = \"accumulate\" } or another class");
  if (!tensor.range.empty() && Info(tensor.dtype).is_float)
    return reader.At("range", "only integers have a range; remove it");
  if (!tensor.range.empty() && tensor.range.size() != 2)
    return reader.At("range", "needs two expressions, the smaller first");
  if (tensor.prepare && tensor.role != Role::kIn)
    return reader.At("prepare", "only an input can be prepared; remove it");
  if (tensor.prepare && !tensor.stride.empty())
    return reader.At("prepare", "a prepared tensor is dense; remove stride");
  return Ok();
}

Result<Tensor> ReadTensor(const Reader& reader, const std::string& name, Contract& contract) {
  Tensor tensor;
  tensor.name = name;
  tensor.role = Chosen<Role>(reader, "role", {{"in", Role::kIn}, {"out", Role::kOut}, {"inout", Role::kInOut}});
  tensor.dtype = ParseDType(reader.Text("dtype")).value();
  ASSAY_TRY(tensor.shape, ReadExpressions(reader, "shape"));
  if (tensor.shape.size() > kMaxRank)
    return reader.At("shape", fmt::format("more than {} dimensions; merge some", kMaxRank));
  tensor.align = reader.Integer("align", 64);
  const bool power = tensor.align > 0 && (tensor.align & (tensor.align - 1)) == 0;
  if (!power || tensor.align > 4096 || tensor.align * 8 < Info(tensor.dtype).bits) {
    return reader.At("align", "needs a power of two from the element's size to 4096");
  }
  tensor.stride = reader.Texts("stride");
  if (reader.Has("stride") && tensor.stride.size() != tensor.shape.size()) {
    return reader.At("stride", fmt::format("has {} entries for {} dimensions; write one per dimension, \"\" = dense",
                                           tensor.stride.size(), tensor.shape.size()));
  }
  if (std::ranges::all_of(tensor.stride, &std::string::empty)) tensor.stride.clear();
  if (!tensor.stride.empty() && Info(tensor.dtype).bits < 8)
    return reader.At("stride", fmt::format("{} rows are packed and dense; remove it", Info(tensor.dtype).name));
  tensor.optional = reader.Truth("optional");
  tensor.prepare = reader.Truth("prepare");
  ASSAY_TRY(tensor.values, ReadGenerators(reader, false));
  ASSAY_TRY_STATUS(ReadFrom(reader, tensor.from, contract));
  if (tensor.from.starts_with(kCapturedPrefix)) {
    Generator recorded;
    recorded.kind = GeneratorKind::kCaptured;
    recorded.text = tensor.from;
    tensor.values.push_back(std::move(recorded));
  }
  ASSAY_TRY(tensor.range, ReadExpressions(reader, "range"));
  tensor.may_alias = reader.Texts("may_alias");
  if (const ConfigNode* node = reader.Node("compare")) {
    ASSAY_TRY(const Reader compare, Reader::Open(reader.file(), SchemaOf("tensor.X.compare"), *node,
                                                 reader.path() + ".compare", reader.LineOf("compare")));
    ASSAY_TRY(Compare read, ReadCompare(compare, tensor.dtype));
    tensor.compare = std::move(read);
  }
  ASSAY_TRY_STATUS(CheckTensorValues(reader, tensor));
  return tensor;
}

// What each kind of relation cannot do without.
Status CheckRelation(const Reader& reader, const Relation& relation) {
  const auto needs = [&](std::string_view key) {
    return reader.Has(key) ? Ok() : Status(reader.At(key, fmt::format("is missing; {} needs it", reader.Text("kind"))));
  };
  switch (relation.kind) {
    case RelationKind::kCausal:
      ASSAY_TRY_STATUS(needs("of"));
      return needs("axis");
    case RelationKind::kPermute:
    case RelationKind::kPad:
      return needs("axis");
    case RelationKind::kScale:
    case RelationKind::kShift:
      ASSAY_TRY_STATUS(needs("of"));
      return needs("by");
    case RelationKind::kSumsTo:
      ASSAY_TRY_STATUS(needs("of"));
      ASSAY_TRY_STATUS(needs("axis"));
      return needs("value");
    case RelationKind::kUntouched:
    case RelationKind::kPerturbOne:
      return needs("of");
  }
  return Ok();
}

Result<Relation> ReadRelation(const Reader& reader, const std::string& name) {
  Relation relation;
  relation.name = name;
  relation.kind = Chosen<RelationKind>(reader, "kind",
                                       {{"causal", RelationKind::kCausal},
                                        {"permute", RelationKind::kPermute},
                                        {"scale", RelationKind::kScale},
                                        {"shift", RelationKind::kShift},
                                        {"pad", RelationKind::kPad},
                                        {"sums_to", RelationKind::kSumsTo},
                                        {"untouched", RelationKind::kUntouched},
                                        {"perturb_one", RelationKind::kPerturbOne}});
  relation.of = reader.Texts("of");
  relation.axis = reader.Text("axis");
  relation.with = reader.Text("with", "redrawn");
  if (const ConfigNode* by = reader.Node("by")) relation.by = ExpressionText(*by);
  if (reader.Has("value")) relation.value = reader.Number("value");
  relation.expect_equal = reader.Text("expect", "bound") == "equal";
  if (const ConfigNode* carries = reader.Node("carries")) {
    for (const ConfigEntry& entry : carries->entries) {
      ASSAY_TRY(Expression expression, ReadExpression(reader, "carries", entry.value));
      relation.carries.emplace(entry.key, std::move(expression));
    }
    if (relation.kind != RelationKind::kPermute) return reader.At("carries", "only permute carries axes; remove it");
  }
  ASSAY_TRY_STATUS(CheckRelation(reader, relation));
  return relation;
}

Result<Cost> ReadCost(const Reader& reader) {
  Cost cost;
  if (reader.Has("flops") == reader.Has("ops")) return reader.At("flops", "write either flops, or ops and unit");
  const std::string_view key = reader.Has("flops") ? "flops" : "ops";
  if (reader.Has("flops") && reader.Has("unit")) return reader.At("unit", "goes with ops; write ops instead of flops");
  ASSAY_TRY(cost.operations, ReadExpression(reader, key, *reader.Node(key)));
  cost.unit = reader.Text("unit", "f32");
  if (const ConfigNode* node = reader.Node("bytes")) {
    ASSAY_TRY(Expression bytes, ReadExpression(reader, "bytes", *node));
    cost.bytes = std::move(bytes);
  }
  return cost;
}

Result<int> ReadThreads(const Reader& reader) {
  const ConfigNode* node = reader.Node("threads");
  if (node == nullptr || node->kind == ConfigNode::Kind::kString) return 0;
  if (node->integer < 1 || node->integer > kMaxThreads)
    return reader.At("threads", fmt::format("write \"all\" or a number from 1 to {}", kMaxThreads));
  return static_cast<int>(node->integer);
}

bool IsLibraryName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name[0] != '-' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '+' || c == '.';
  });
}

Result<std::vector<std::string>> ReadLibraries(const Reader& reader) {
  std::vector<std::string> libraries = reader.Texts("libraries");
  if (std::ranges::all_of(libraries, IsLibraryName)) return libraries;
  return reader.At("libraries", "a library is the name that -l takes, without path; for example \"openblas\"");
}

Result<Policy> ReadPolicy(const Reader& reader) {
  Policy policy;
  ASSAY_TRY(policy.threads, ReadThreads(reader));
  policy.fp = Chosen<FpPolicy>(reader, "fp",
                               {{"strict", FpPolicy::kStrict},
                                {"contract", FpPolicy::kContract},
                                {"reassociate", FpPolicy::kReassociate},
                                {"finite", FpPolicy::kFinite}});
  policy.special_propagates = reader.Text("special") == "propagate";
  policy.subnormals_flush = reader.Text("subnormals") == "flush";
  policy.deterministic = Chosen<Determinism>(
      reader, "deterministic",
      {{"per_threads", Determinism::kPerThreads}, {"yes", Determinism::kYes}, {"no", Determinism::kNo}});
  if (const ConfigNode* node = reader.Node("scratch")) {
    policy.scratch_bytes = node->kind == ConfigNode::Kind::kInteger ? node->integer : ParseByteSize(node->text);
    if (policy.scratch_bytes < 0 || policy.scratch_bytes > (int64_t{1} << 40))
      return reader.At("scratch", "is no size; write for example \"32 MiB\"");
  }
  ASSAY_TRY(policy.libraries, ReadLibraries(reader));
  if (reader.Has("shapes")) {
    policy.shape_operations = reader.Number("shapes");
    if (!(*policy.shape_operations >= 1))
      return reader.At("shapes", "is no number of operations; write for example 5e7");
  }
  return policy;
}

Result<Workload> ReadWorkload(const Reader& reader, const std::string& name) {
  Workload workload;
  workload.name = name;
  for (const ConfigEntry& entry : reader.Node("axes")->entries) workload.axes.emplace(entry.key, entry.value.integer);
  if (const ConfigNode* scalars = reader.Node("scalars")) {
    for (const ConfigEntry& entry : scalars->entries) {
      workload.scalars.emplace(entry.key, entry.value.kind == ConfigNode::Kind::kInteger
                                              ? static_cast<double>(entry.value.integer)
                                              : entry.value.real);
    }
  }
  workload.null_tensors = reader.Texts("null");
  workload.state = Chosen<CacheState>(reader, "state",
                                      {{"hot", CacheState::kHot},
                                       {"weights-cold", CacheState::kWeightsCold},
                                       {"cold", CacheState::kCold},
                                       {"in-situ", CacheState::kInSitu}});
  ASSAY_TRY_STATUS(ReadNear(reader, workload));
  if (reader.Has("threads")) {
    ASSAY_TRY(workload.threads, ReadThreads(reader));
  }
  return workload;
}

bool IsEnvironmentName(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Result<ReferenceKernel> ReadReference(const Reader& reader, const std::string& name, ReferenceKind kind) {
  ReferenceKernel kernel;
  kernel.name = name;
  kernel.kind = kind;
  kernel.source = reader.Text("source");
  kernel.flags = reader.Texts("flags");
  for (const std::string& flag : kernel.flags) {
    if (!flag.starts_with('-') || flag != Printable(flag) || flag.find_first_of(" \t\n") != std::string::npos) {
      return reader.At("flags", fmt::format("\"{}\" is no compiler flag; write one flag per entry", flag));
    }
  }
  ASSAY_TRY(kernel.libraries, ReadLibraries(reader));
  kernel.unset = reader.Texts("unset");
  if (!std::ranges::all_of(kernel.unset, IsEnvironmentName))
    return reader.At("unset", "needs names of environment variables");
  kernel.trust = reader.Text("trust");
  kernel.info = reader.Text("info");
  if (!kernel.info.empty() && !IsSymbol(kernel.info)) return reader.At("info", "needs the name of a C function");
  return kernel;
}

// Opens every [table.NAME] in the order of the file.
template <typename Use>
Status ForEach(const Locator& where, const Reader& top, std::string_view table, bool (*allowed)(std::string_view),
               std::string_view rule, Use use) {
  const ConfigNode* node = top.Node(table);
  if (node == nullptr) return Ok();
  for (const ConfigEntry& entry : node->entries) {
    const std::string path = fmt::format("{}.{}", table, entry.key);
    if (!allowed(entry.key)) return ConfigError(where.file(), entry.line, path, fmt::format("{}; rename it", rule));
    if (entry.value.kind != ConfigNode::Kind::kTable)
      return ConfigError(where.file(), entry.line, path,
                         fmt::format("is not a table; write [{}] or {} = {{ ... }}", path, entry.key));
    ASSAY_TRY(const Reader reader, Reader::Open(where.file(), SchemaOf(table), entry.value, path, entry.line));
    ASSAY_TRY_STATUS(use(reader, entry.key));
  }
  return Ok();
}

// Fits `Result<T> Read(reader, name)` to ForEach.
template <typename T, typename Read>
auto Into(std::vector<T>& list, Read read) {
  return [&list, read](const Reader& reader, const std::string& name) -> Status {
    ASSAY_TRY(T item, read(reader, name));
    list.push_back(std::move(item));
    return Ok();
  };
}

Status ReadNamedTables(const Locator& where, const Reader& top, Contract& c) {
  ASSAY_TRY_STATUS(ForEach(where, top, "axis", IsArgumentName, kArgumentNameRule, Into(c.axes, ReadAxis)));
  ASSAY_TRY_STATUS(
      ForEach(where, top, "scalar", IsArgumentName, kArgumentNameRule,
              Into(c.scalars, [&c](const Reader& r, const std::string& name) { return ReadScalar(r, name, c); })));
  ASSAY_TRY_STATUS(
      ForEach(where, top, "tensor", IsArgumentName, kArgumentNameRule,
              Into(c.tensors, [&c](const Reader& r, const std::string& name) { return ReadTensor(r, name, c); })));
  ASSAY_TRY_STATUS(ForEach(where, top, "relation", IsLabel, kLabelRule, Into(c.relations, ReadRelation)));
  ASSAY_TRY_STATUS(ForEach(where, top, "workload", IsLabel, kLabelRule, Into(c.workloads, ReadWorkload)));
  const auto reference = [](ReferenceKind kind) {
    return [kind](const Reader& r, const std::string& name) { return ReadReference(r, name, kind); };
  };
  ASSAY_TRY_STATUS(
      ForEach(where, top, "baseline", IsLabel, kLabelRule, Into(c.references, reference(ReferenceKind::kBaseline))));
  return ForEach(where, top, "peer", IsLabel, kLabelRule, [&](const Reader& r, const std::string& name) -> Status {
    if (r.Has("sequence")) return Into(c.sequences, ReadSequence)(r, name);
    if (!r.Has("source")) return r.At("source", "is missing; add it, or a sequence");
    return Into(c.references, reference(ReferenceKind::kPeer))(r, name);
  });
}

}  // namespace

Error Locator::At(std::initializer_list<std::string_view> path, std::string_view what) const {
  const ConfigNode* node = root_;
  int line = 1;
  std::string key;
  for (const std::string_view part : path) {
    if (!key.empty()) key += '.';
    key += part;
    const ConfigEntry* entry = node == nullptr ? nullptr : node->Find(part);
    if (entry != nullptr) line = entry->line;
    node = entry == nullptr ? nullptr : &entry->value;
  }
  return ConfigError(file_, line, key, what);
}

Status ReadTables(const Locator& where, Contract& contract) {
  ASSAY_TRY(const Reader top, Reader::Open(where.file(), SchemaOf(""), where.root(), "", 1));
  ASSAY_TRY_STATUS(ReadTop(top, contract));
  ASSAY_TRY_STATUS(ReadNamedTables(where, top, contract));
  if (contract.tensors.empty()) return top.At("tensor", "is empty; describe at least one output");
  if (contract.workloads.empty()) return top.At("workload", "is empty; add the shape that is timed");
  if (const ConfigNode* node = top.Node("cost")) {
    ASSAY_TRY(const Reader reader, Reader::Open(where.file(), SchemaOf("cost"), *node, "cost", top.LineOf("cost")));
    ASSAY_TRY(Cost cost, ReadCost(reader));
    contract.cost = std::move(cost);
  }
  if (const ConfigNode* node = top.Node("policy")) {
    ASSAY_TRY(const Reader reader,
              Reader::Open(where.file(), SchemaOf("policy"), *node, "policy", top.LineOf("policy")));
    ASSAY_TRY(contract.policy, ReadPolicy(reader));
  }
  return Ok();
}

}  // namespace assay
