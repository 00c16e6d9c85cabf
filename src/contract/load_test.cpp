// SPDX-License-Identifier: Apache-2.0
#include "contract/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "contract/signature.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kData = fs::path(ASSAY_SOURCE_DIR) / "tests/data/contracts";

constexpr std::string_view kSmall = R"toml(assay = 1
name = "small"
entry = "small_entry"
args = ["x", "y", "N", "ld", "s"]
require = ["N % 2 == 0"]
[axis]
N = { min = 0, max = 64, near = [16] }
[scalar]
s = { dtype = "f32", values = ["1/sqrt(N + 1)", "uniform(0.5, 1)"] }
[tensor.x]
role = "in"
dtype = "f32"
shape = ["N", 4]
stride = ["ld", ""]
values = ["normal(0, 1)", "constant(0)"]
[tensor.y]
role = "out"
dtype = "f32"
shape = ["N"]
compare = { class = "accumulate" }
[cost]
flops = "8*N"
[workload.main]
axes = { N = 16 }
[baseline]
strict = { source = "baseline.cpp", flags = ["-O3"] }
)toml";

// A contract folder in memory's reach: the text above with one thing changed.
class Folder {
 public:
  Folder() : folder_(TemporaryFolder::Create("assay-contract-").value()) {
    Write("contract.toml", kSmall);
    Write("reference.h", "#include <assay/reference.h>\n#include <cmath>\n");
    Write("baseline.cpp", "\n");
  }
  const fs::path& path() const { return folder_.path(); }
  void Write(const fs::path& name, std::string_view text) {
    fs::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << text;
  }
  std::string Load() const {
    const Result<Contract> contract = LoadContract(path());
    return contract.ok() ? "ok" : contract.error().message;
  }

 private:
  TemporaryFolder folder_;
};

std::string Replaced(std::string_view from, std::string_view to) {
  std::string text(kSmall);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LoadContract, ReadsAttention) {
  const Result<Contract> loaded = LoadContract(kData / "gqa_attention");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Contract& c = loaded.value();
  EXPECT_EQ(c.name, "gqa_attention");
  EXPECT_EQ(c.slice, (std::vector<std::string>{"B", "T", "H"}));
  EXPECT_EQ(c.axes.size(), 5U);
  EXPECT_EQ(c.FindAxis("D")->of, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(c.tensors[0].name, "q");
  EXPECT_EQ(c.tensors[4].name, "lse");
  EXPECT_TRUE(c.FindTensor("lse")->optional);
  EXPECT_EQ(c.FindTensor("k")->stride[1], "ldk");
  EXPECT_EQ(c.FindTensor("q")->values.size(), 4U);
  EXPECT_EQ(c.FindScalar("scale")->values[0].kind, GeneratorKind::kExpression);
  EXPECT_EQ(c.relations.size(), 3U);
  EXPECT_EQ(c.policy.scratch_bytes, 32 << 20);
  EXPECT_EQ(c.policy.fp, FpPolicy::kReassociate);
  EXPECT_EQ(c.workloads[0].name, "prefill-1k");
  EXPECT_EQ(c.references.size(), 3U);
  EXPECT_EQ(c.FindReference("openblas")->unset.size(), 2U);
  EXPECT_TRUE(fs::exists(c.FindReference("openblas")->source));
  EXPECT_EQ(c.hash.size(), 64U);
}

TEST(LoadContract, ReadsRouterAndQuantizedGemm) {
  const Result<Contract> router = LoadContract(kData / "topk_softmax_router" / "contract.toml");
  ASSERT_TRUE(router.ok()) << router.error().message;
  EXPECT_EQ(router.value().FindTensor("index")->compare->keys, "score");
  EXPECT_EQ(router.value().FindTensor("count")->compare->given, "index");
  EXPECT_EQ(router.value().FindTensor("index")->range.size(), 2U);

  const Result<Contract> read = LoadContract(kData / "quantized_gemm");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read.value().FindScalar("oscale")->from_program());
  EXPECT_EQ(read.value().FindTensor("out")->compare->clamp_low, -128);
  EXPECT_EQ(read.value().cost->unit, "i8");
  EXPECT_EQ(read.value().workloads[0].state, CacheState::kWeightsCold);
  EXPECT_EQ(read.value().workloads[0].name, "gate-up");  // the file's order, not the alphabet's
}

TEST(LoadContract, AcceptsTheSmallOneAndItsNeighbours) {
  const std::pair<const char*, const char*> cases[] = {
      {"assay = 1", "assay = 1"},
      {"min = 0, max = 64, near = [16]", "min = 16, max = 16"},
      {"N = { min = 0, max = 64, near = [16] }", "N = { of = [0, 16] }"},
      {"near = [16]", "near = [0, 64]"},
      {"axes = { N = 16 }", "axes = { N = 16, ld = 4 }"},
      {"axes = { N = 16 }", "axes = { N = 0 }"},
      {"axes = { N = 16 }", "axes = { N = 16 }\nthreads = 1\nstate = \"cold\"\nscalars = { s = 1 }"},
      {"args = [\"x\"", "slice = []\nargs = [\"scratch\", \"x\""},
      {"compare = { class", "align = 16\noptional = true\ncompare = { in = \"f64\", class"},
      {"[cost]\nflops = \"8*N\"\n", ""},
      {"flops = \"8*N\"", "ops = 8\nunit = \"i8\"\nbytes = \"N\""},
      {"require = [\"N % 2 == 0\"]", "require = [\"N % 2 == 0\", \"ld >= 4\"]"},
      {"[cost]", "[policy]\nscratch = \"1 KiB\"\nthreads = 2\nspecial = \"propagate\"\nshapes = 1e6\n[cost]"},
  };
  for (const auto& [from, to] : cases) {
    Folder folder;
    folder.Write("contract.toml", Replaced(from, to));
    EXPECT_EQ(folder.Load(), "ok") << to;
  }
}

TEST(LoadContract, RefusesWithFileLineKeyAndRemedy) {
  struct Case {
    const char* from;
    const char* to;
    const char* expected;
  };
  const Case cases[] = {
      {"assay = 1", "assay = 2", "contract.toml:1: assay: this program reads version 1; write 1"},
      {"assay = 1", "assay = \"1\"", "contract.toml:1: assay: wrong value; write a whole number"},
      {"assay = 1\n", "", "assay: is missing; add it"},
      {"assay = 1", "assay = 1\nsumary = \"x\"", "contract.toml:2: sumary: unknown key; did you mean summary?"},
      {"assay = 1", "assay = 1\nkind = \"chain\"", "kind: \"chain\" is reserved and not supported yet"},
      {"assay = 1", "assay = 1\nkind = \"kernle\"", "kind: wrong value; write one of kernel, chain, step"},
      {"assay = 1", "assay = 1 = 2", "contract.toml:1: syntax"},
      {"assay = 1", "assay = 1\nassay = 1", "contract.toml:2: syntax"},
      {"name = \"small\"", "name = \"../x\"", "contract.toml:2: name: a name has"},
      {"name = \"small\"", "name = \"\"", "name: a name has"},
      {"entry = \"small_entry\"", "entry = \"memcpy\"", "entry: needs a C symbol"},
      {"entry = \"small_entry\"", "entry = \"a-b\"", "entry: needs a C symbol"},
      {"\"ld\", \"s\"]", "\"ld\"]", "contract.toml:4: args: s is missing"},
      {"\"ld\", \"s\"]", "\"ld\", \"s\", \"x\"]", "args: x stands there twice"},
      {"\"ld\", \"s\"]", "\"ldx\", \"s\"]", "args: ldx is no axis, scalar, tensor or stride; did you mean ld?"},
      {"args = [\"x\"", "args = [3, \"x\"", "args: wrong value; write a list of texts"},
      {"N % 2 == 0", "N % 2 = 0", "require: \"N % 2 = 0\" column 7: = does not compare; write =="},
      {"N % 2 == 0", "M % 2 == 0", "require: \"M % 2 == 0\" uses M, which is not known here"},
      {"\"N % 2 == 0\"", "\"N % 2 == 0\", \"N % 2 == 1\"",
       "contract.toml:5: require: no legal shape exists: \"N % 2 == 0\" contradicts \"N % 2 == 1\""},
      {"\"N % 2 == 0\"", "\"N % 2 == 0\", \"N > 100\"",
       "require: no legal shape exists: \"N > 100\" holds for no sizes"},
      {"\"N % 2 == 0\"", "\"1 == 2\"", "require: \"1 == 2\" never holds"},
      {"\"N % 2 == 0\"", "\"N % 2 == 1\"",
       "workload.main.axes: is not a legal shape: \"N % 2 == 1\" does not hold at N=16"},
      {"\"N % 2 == 0\"", "\"N % 2\"", "not a condition"},
      {"min = 0, max = 64", "min = 5, max = 4", "contract.toml:7: axis.N.min: 5 is above max, 4"},
      {"min = 0, max = 64", "min = -1, max = 64", "axis.N.min: a size is negative"},
      {"min = 0, max = 64", "max = 64", "axis.N.min: is missing"},
      {"min = 0, max = 64", "min = 0, max = 64, of = [1]", "axis.N.of: excludes min and max"},
      {"min = 0, max = 64", "min = 0, max = 9999999999999999", "axis.N.max: is above"},
      {"near = [16]", "near = [65]", "axis.N.near: 65 is outside of 0 to 64"},
      {"near = [16]", "neer = [16]", "axis.N.neer: unknown key; did you mean near?"},
      {"N = { min", "for = { min", "axis.for: a name has"},
      {"N = { min", "_N = { min", "axis._N: a name has"},
      {"N = { min = 0, max = 64, near = [16] }", "N = 3", "axis.N: is not a table"},
      {"dtype = \"f32\", values = [\"1/", "dtype = \"f33\", values = [\"1/",
       "scalar.s.dtype: wrong value; write one of f64, f32"},
      {"uniform(0.5, 1)", "unifrom(0.5, 1)", "scalar.s.values: \"unifrom(0.5, 1)\" column 1: unifrom is no function"},
      {"uniform(0.5, 1)", "ties(0.5)", "needs a row of elements"},
      {"uniform(0.5, 1)", "uniform(1, 0.5)", "the first number is above the second"},
      {"normal(0, 1)", "normal(0)", "tensor.x.values: \"normal(0)\" is not understood; write \"normal(m, s)\""},
      {"normal(0, 1)", "nomral(0, 1)", "\"nomral(0, 1)\" is no generator; did you mean normal?"},
      {"normal(0, 1)", "normal(0, Q)", "uses Q, which is not known here"},
      {"normal(0, 1)", "ladder(0, 1)", "needs 0 < a <= b"},
      {"shape = [\"N\", 4]", "shape = [\"N\", -4]",
       "workload.main.axes: is not a legal shape: x: \"-4\" gives -4, a negative extent"},
      {"shape = [\"N\", 4]", "shape = [\"N\", \"N/3\"]", "not a whole number; N = 16"},
      {"shape = [\"N\", 4]", "shape = [\"N\", \"2**62\"]", "x: the strides overflow 64 bits"},
      {"shape = [\"N\", 4]", "shape = [\"N\", \"2**40\"]", "x: larger than 1099511627776 bytes at N=16"},
      {"stride = [\"ld\", \"\"]", "stride = [\"ld\"]", "tensor.x.stride: has 1 entries for 2 dimensions"},
      {"stride = [\"ld\", \"\"]", "stride = [\"N\", \"\"]", "tensor.x.stride: N is also the name of an axis"},
      {"stride = [\"ld\", \"\"]", "stride = [\"l d\", \"\"]", "tensor.x.stride: \"l d\": a name has"},
      {"role = \"in\"", "role = \"input\"", "tensor.x.role: wrong value; write one of in, out, inout"},
      {"role = \"in\"", "role = \"in\"\nalign = 3", "tensor.x.align: needs a power of two"},
      {"role = \"in\"", "role = \"in\"\nrange = [0, 1]", "tensor.x.range: only integers"},
      {"role = \"in\"", "role = \"in\"\nprepare = true", "tensor.x.prepare: a prepared tensor is dense"},
      {"role = \"in\"", "role = \"in\"\nmay_alias = [\"x\"]",
       "tensor.x.may_alias: x and x are not an input and an output"},
      {"role = \"in\"", "role = \"in\"\nmay_alias = [\"z\"]", "tensor.x.may_alias: z is no tensor"},
      {"role = \"in\"", "role = \"in\"\nfrom = \"inputs.cpp\"", "tensor.x.from: excludes values"},
      {"role = \"in\"", "role = \"inout\"", "tensor.x.compare: is missing"},
      {"role = \"out\"", "role = \"in\"\nvalues = [\"any\"]", "tensor.y.compare: an input is not compared"},
      {"role = \"out\"", "role = \"out\"\nvalues = [\"any\"]", "tensor.y.values: an output has no values"},
      {"values = [\"normal(0, 1)\", \"constant(0)\"]\n", "", "tensor.x.values: is missing"},
      {"values = [\"normal(0, 1)\", \"constant(0)\"]\n", "from = \"inputs.cpp\"\n",
       "tensor.x.from: inputs.cpp is missing beside contract.toml; write it"},
      {"values = [\"normal(0, 1)\", \"constant(0)\"]\n", "from = \"captured:x.npy\"\n",
       "tensor.x.from: x.npy is no file inside the contract's folder"},
      {"values = [\"normal(0, 1)\", \"constant(0)\"]\n", "from = \"captured:../x.npy\"\n",
       "tensor.x.from: ../x.npy is no file inside the contract's folder"},
      {"values = [\"normal(0, 1)\", \"constant(0)\"]\n", "from = \"captured:reference.h\"\n",
       "tensor.x.from: reference.h is no npy file; write it with numpy.save"},
      {"values = [\"normal(0, 1)\", \"constant(0)\"]\n", "from = \"forward:other.y\"\n",
       "tensor.x.from: forward: is reserved"},
      {"\"constant(0)\"", "\"special\"", "tensor.x.values: special draws NaN and infinities; say special"},
      {"\"constant(0)\"", "\"captured\"", "tensor.x.values: captured/x.npy is no file inside the contract's folder"},
      {"class = \"accumulate\"", "klass = \"accumulate\"", "tensor.y.compare.klass: unknown key"},
      {"class = \"accumulate\"", "class = \"index\"", "index needs an integer tensor"},
      {"class = \"accumulate\"", "class = \"accumulate\", slice = [\"N\"]", "only an output with given"},
      {"class = \"accumulate\"", "class = \"accumulate\", given = \"x\"", "x is no other output"},
      {"flops = \"8*N\"", "flops = \"8*N\"\nops = 2", "cost.flops: write either flops, or ops"},
      {"flops = \"8*N\"", "flops = \"8*M\"", "contract.toml:22: cost.flops: \"8*M\" uses M"},
      {"axes = { N = 16 }", "axes = { M = 16 }", "workload.main.axes: M is no axis or stride"},
      {"axes = { N = 16 }", "axes = {}", "workload.main.axes: N is missing"},
      {"axes = { N = 16 }", "axes = { N = 65 }", "N = 65 is not among its sizes"},
      {"axes = { N = 16 }", "axes = { N = 16, ld = 3 }", "the stride ld = 3 is below 4"},
      {"axes = { N = 16 }", "axes = { N = 16 }\nnull = [\"y\"]", "workload.main.null: y is no optional tensor"},
      {"axes = { N = 16 }", "axes = { N = 16 }\nstate = \"weights-cold\"",
       "workload.main.state: weights-cold needs weights"},
      {"axes = { N = 16 }", "axes = { N = 16 }\nstate = \"in-situ\"", "workload.main.near: is missing"},
      {"axes = { N = 16 }", "axes = { N = 16 }\nnear = { producer = \"a\" }", "workload.main.near: goes with state"},
      {"axes = { N = 16 }", "axes = { N = 16 }\nthreads = 0", "workload.main.threads: write \"all\" or a number"},
      {"[workload.main]\naxes = { N = 16 }", "", "workload: is missing"},
      {"[cost]", "[policy]\nscratch = \"many\"\n[cost]", "policy.scratch: is no size"},
      {"[cost]", "[policy]\nlibraries = [\"/tmp/x\"]\n[cost]", "policy.libraries: a library is the name"},
      {"[cost]", "[relation]\nr = { kind = \"causal\", of = [\"x\"] }\n[cost]",
       "relation.r.axis: is missing; causal needs it"},
      {"[cost]", "[relation]\nr = { kind = \"pad\", axis = \"N\", with = \"nan\" }\n[cost]",
       "relation.r.with: nan needs special"},
      {"\"-O3\"", "\"-O3 -x\"", "baseline.strict.flags: \"-O3 -x\" is no compiler flag"},
      {"baseline.cpp", "missing.cpp", "baseline.strict.source: missing.cpp does not exist"},
      {"baseline.cpp", "/etc/passwd", "baseline.strict.source: needs the path of a file inside"},
      {"baseline.cpp", "../../../etc/passwd", "baseline.strict.source:"},
  };
  for (const Case& c : cases) {
    Folder folder;
    folder.Write("contract.toml", Replaced(c.from, c.to));
    const std::string message = folder.Load();
    EXPECT_THAT(message, HasSubstr(c.expected)) << c.to;
    EXPECT_THAT(message, HasSubstr("contract.toml:")) << c.to;
  }
}

TEST(LoadContract, SurvivesWhatIsNoContract) {
  std::string brackets = "a = ", dots = "a";
  for (int i = 0; i < 100000; ++i) brackets += '[', dots += ".a";
  std::string noise;
  std::mt19937 random(11);  // NOLINT: a fixed seed on purpose
  for (int i = 0; i < 10 << 20; ++i) noise += static_cast<char>(random());
  const std::pair<std::string, const char*> cases[] = {
      {"", "assay: is missing"},
      {std::string("\0\1\2", 3), "syntax"},
      {std::string("name = \"a\0b\"", 12), "syntax"},
      {"\xff\xfe", "syntax"},
      {brackets, "nesting: deeper than 16 levels"},
      {dots + " = 1", "nesting: deeper than 16 levels"},
      {"[" + dots + "]", "nesting: deeper than 16 levels"},
      {"x = { " + dots + " = 1 }", "nesting: deeper than 16 levels"},
      {noise.substr(0, 200000), "contract.toml:"},
      {noise, "larger than the limit"},
      {std::string(500000, '#'), "are no contract"},
      {std::string(200000, '\n') + "x", "contract.toml:200001: syntax"},
  };
  for (const auto& [text, expected] : cases) {
    Folder folder;
    folder.Write("contract.toml", text);
    EXPECT_THAT(folder.Load(), HasSubstr(expected));
  }
}

TEST(LoadContract, SurvivesMutations) {
  std::mt19937 random(5);  // NOLINT: a fixed seed on purpose
  Folder folder;
  int accepted = 0;
  for (int round = 0; round < 600; ++round) {
    std::string text(kSmall);
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
          break;
        default:
          text.insert(at, 1, "0123456789[]{}\"=.,-*/%()"[random() % 24]);
          break;
      }
    }
    folder.Write("contract.toml", text);
    const std::string message = folder.Load();
    accepted += message == "ok" ? 1 : 0;
    EXPECT_TRUE(message == "ok" || message.find(':') != std::string::npos) << message;
  }
  EXPECT_GT(accepted, 0);
}

TEST(LoadContract, FollowsIncludes) {
  struct Case {
    const char* reference;
    const char* expected;
  };
  const Case cases[] = {
      {"#include <assay/reference.h>\n#include \"part.h\"\n", "ok"},
      {"// #include \"none.h\"\n/* \n#include <none.h>\n*/\n", "ok"},
      {"#include <none.h>\n", "reference.h:1: #include: <none.h> is no standard header"},
      {"\n#include \"none.h\"\n", "reference.h:2: #include: \"none.h\" does not exist"},
      {"#include \"reference.h\"\n", "includes run in a circle: reference.h -> reference.h"},
      {"#include \"circle.h\"\n", "round.h:1: #include: includes run in a circle: circle.h -> round.h -> circle.h"},
      {"#include \"/etc/passwd\"\n", "an absolute path"},
      {"#include \"../outside.h\"\n", "#include: \"../outside.h\""},
      {"#include \"link.h\"\n", "link.h: is a link out of"},
      {"#include MACRO\n", "a macro cannot be followed"},
      {"#inc\\\nlude <none.h>\n", "<none.h> is no standard header"},
      {"%:include <none.h>\n", "<none.h> is no standard header"},
      {"#include_next <math.h>\n", "#include_next: is not allowed here"},
      {"#include <assay/../../x.h>\n", "is no standard header"},
      {"#include \"deep0.h\"\n", "nested deeper than 16"},
  };
  for (const Case& c : cases) {
    Folder folder;
    folder.Write("part.h", "#include <vector>\n");
    folder.Write("circle.h", "#include \"round.h\"\n");
    folder.Write("round.h", "#include \"circle.h\"\n");
    for (int i = 0; i < 20; ++i)
      folder.Write("deep" + std::to_string(i) + ".h", "#include \"deep" + std::to_string(i + 1) + ".h\"\n");
    folder.Write("deep20.h", "\n");
    folder.Write("reference.h", c.reference);
    if (std::string_view(c.reference).find("link.h") != std::string_view::npos)
      fs::create_symlink("/etc/passwd", folder.path() / "link.h");
    EXPECT_THAT(folder.Load(), HasSubstr(c.expected)) << c.reference;
  }
}

TEST(LoadContract, NeedsItsFiles) {
  Folder folder;
  fs::remove(folder.path() / "reference.h");
  EXPECT_THAT(folder.Load(), HasSubstr("reference.h: is missing beside contract.toml"));
  fs::remove(folder.path() / "contract.toml");
  EXPECT_THAT(folder.Load(), HasSubstr("contract.toml:1: file: does not exist"));
  EXPECT_THAT(LoadContract("/nonexistent").error().message, HasSubstr("does not exist"));
  EXPECT_EQ(LoadContract("/nonexistent").error().code, ErrorCode::kInvalidInput);
  fs::create_directory(folder.path() / "contract.toml");
  EXPECT_THAT(folder.Load(), HasSubstr("is not a regular file"));
}

TEST(LoadContract, HashesWhatJudgesAndListsTheRest) {
  Folder folder;
  folder.Write("mutants/b.cpp", "");
  folder.Write("mutants/a.cpp", "");
  folder.Write("mutants/notes.txt", "");
  folder.Write("honest/h.cpp", "");
  const Contract first = LoadContract(folder.path()).value();
  EXPECT_EQ(first.mutants.size(), 2U);
  EXPECT_EQ(first.mutants[0].filename(), "a.cpp");
  EXPECT_EQ(first.honest.size(), 1U);
  folder.Write("templates/t.cpp", "x");
  folder.Write(".hidden", "x");
  const Contract with_template = LoadContract(folder.path()).value();
  EXPECT_EQ(with_template.templates.size(), 1U);
  EXPECT_EQ(with_template.hash, first.hash);
  folder.Write("reference.h", "#include <assay/reference.h>\n");
  EXPECT_NE(LoadContract(folder.path()).value().hash, first.hash);
}

TEST(FindContract, LooksUpPathsAndNames) {
  const std::vector<fs::path> folders = {"/nonexistent", kData};
  const fs::path expected = fs::canonical(kData / "gqa_attention");
  EXPECT_EQ(FindContract("gqa_attention", folders).value(), expected);
  EXPECT_EQ(FindContract((kData / "gqa_attention").string(), {}).value(), expected);
  EXPECT_EQ(FindContract((kData / "gqa_attention/contract.toml").string(), {}).value(), expected);
  EXPECT_THAT(FindContract("gqa_atention", folders).error().message, HasSubstr("did you mean gqa_attention?"));
  EXPECT_THAT(FindContract("xyz", folders).error().message, HasSubstr("or one of gqa_attention"));
  EXPECT_FALSE(FindContract("", folders).ok());
  EXPECT_FALSE(FindContract("../contracts/gqa_attention", folders).ok());
}

}  // namespace
}  // namespace assay
