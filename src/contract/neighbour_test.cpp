// SPDX-License-Identifier: Apache-2.0
#include "contract/neighbour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "contract/load.h"
#include "contract/testing/contract_folders.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// c[M, N] = a[M, K] b[K, N], or what is made of it by replacing.
constexpr std::string_view kProduct = R"toml(assay = 1
name = "product"
entry = "product"
args = ["a", "b", "c", "M", "N", "K"]
[axis]
M = { min = 1, max = 64 }
N = { min = 1, max = 64 }
K = { min = 1, max = 64 }
[tensor.a]
role = "in"
dtype = "f32"
shape = ["M", "K"]
values = ["normal(0, 1)"]
[tensor.b]
role = "in"
dtype = "f32"
shape = ["K", "N"]
values = ["normal(0, 1)"]
[tensor.c]
role = "out"
dtype = "f32"
shape = ["M", "N"]
compare = { class = "accumulate" }
[workload.main]
axes = { M = 8, N = 8, K = 8 }
[baseline]
strict = { source = "baseline.cpp" }
)toml";

// y[R, C], z[R, C] of x[R, C].
constexpr std::string_view kRows = R"toml(assay = 1
name = "rows"
entry = "rows"
args = ["x", "y", "z", "R", "C"]
[axis]
R = { min = 1, max = 64 }
C = { min = 1, max = 64 }
[tensor.x]
role = "in"
dtype = "f32"
shape = ["R", "C"]
values = ["normal(0, 1)"]
[tensor.y]
role = "out"
dtype = "f32"
shape = ["R", "C"]
compare = { class = "accumulate" }
[tensor.z]
role = "out"
dtype = "f32"
shape = ["R", "C"]
compare = { class = "accumulate" }
[workload.main]
axes = { R = 16, C = 32 }
state = "in-situ"
near = {}
[baseline]
strict = { source = "baseline.cpp" }
)toml";

std::string With(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  const size_t at = changed.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return changed.replace(at, from.size(), to);
}

class Neighbours : public testing::ContractFolders {
 protected:
  Result<Contract> Load(std::string_view near, std::string_view rows = kRows) {
    Write("product", kProduct);
    Write("rows", With(rows, "near = {}", near));
    return LoadContract(root_.path() / "rows");
  }
};

TEST_F(Neighbours, AreFoundAndWired) {
  const auto loaded = Load(
      "near = { producer = \"product\", producer_axes = { K = 5 }, consumer = \"product\", "
      "consumer_wire = [\"z\", \"a\"], consumer_axes = { N = 7 } }");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Workload& workload = loaded.value().workloads[0];
  ASSERT_TRUE(workload.producer && workload.consumer);
  EXPECT_EQ(workload.producer->contract->name, "product");
  EXPECT_EQ(workload.producer->output, "c");
  EXPECT_EQ(workload.producer->input, "x");
  EXPECT_EQ(workload.producer->axes, (std::map<std::string, int64_t>{{"M", 16}, {"N", 32}, {"K", 5}}));
  EXPECT_EQ(workload.consumer->output, "z");
  EXPECT_EQ(workload.consumer->input, "a");
  EXPECT_EQ(workload.consumer->axes, (std::map<std::string, int64_t>{{"M", 16}, {"N", 7}, {"K", 32}}));
}

TEST_F(Neighbours, TakeSizesOfAxesOfTheSameNameAndTensorsOfTheSameName) {
  // Two outputs of one shape, of which one is called as the input is.
  std::string twin = With(kRows, "\"rows\"\nentry", "\"twin\"\nentry");
  twin = With(twin, "state = \"in-situ\"\nnear = {}\n", "");
  twin = With(With(twin, "\"x\", \"y\"", "\"w\", \"x\""), "[tensor.x]", "[tensor.w]");
  twin = With(twin, "[tensor.y]", "[tensor.x]");
  Write("twin", twin);
  const auto loaded = Load("near = { producer = \"twin\" }");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded.value().workloads[0].producer->output, "x");
  EXPECT_EQ(loaded.value().workloads[0].producer->axes, (std::map<std::string, int64_t>{{"R", 16}, {"C", 32}}));
}

TEST_F(Neighbours, ArePartOfWhatTheTimesAreOf) {
  const auto one = Load("near = { producer = \"product\", producer_axes = { K = 5 } }");
  ASSERT_TRUE(one.ok());
  std::ofstream(root_.path() / "product" / "baseline.cpp") << "// another\n";
  const auto other = LoadContract(root_.path() / "rows");
  ASSERT_TRUE(other.ok());
  EXPECT_NE(one.value().hash, other.value().hash);
}

TEST_F(Neighbours, ErrorsNameFileLineKeyAndRemedy) {
  const std::string place = "contract.toml:26: workload.main.near";
  const struct {
    const char* near;
    std::string expected;
  } cases[] = {
      {"near = {}", "workload.main.near: names nobody; add a producer"},
      {"near = { before = \"product\" }", "workload.main.near.before: unknown key"},
      {"near = { producer_axes = { K = 5 } }", place + ".producer_axes: goes with producer"},
      {"near = { producer = \"../product\" }", place + ".producer: a name has 1 to 64 letters"},
      {"near = { producer = \"nobody\" }", place + ".producer: nobody is no contract's folder beside rows"},
      {"near = { producer = \"product\" }",
       place + ".producer: the axis K of product follows from nothing; add producer_axes = { K = ... }"},
      {"near = { producer = \"product\", producer_axes = { Q = 5 } }",
       place + ".producer: product has no axis Q; remove it from producer_axes"},
      {"near = { producer = \"product\", producer_axes = { K = 65 } }",
       place + ".producer: the sizes of product that follow (c to x) are not legal: K = 65"},
      {"near = { producer = \"product\", producer_axes = { M = 15 } }",
       place + ".producer: no output of product has the type and the dense shape of an input here"},
      {"near = { consumer = \"product\" }",
       place + ".consumer: product may pass several tensors: y to a, y to b, z to a, z to b; add consumer_wire = "
               "[\"y\", \"a\"]"},
      {"near = { consumer = \"product\", consumer_wire = [\"y\"] }", place + ".consumer_wire: needs two names"},
      {"near = { consumer = \"product\", consumer_wire = [\"x\", \"a\"] }",
       place + ".consumer: x and a are not an output and an input of one type"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.near);
    const auto loaded = Load(c.near);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.error().message, HasSubstr(c.expected));
    EXPECT_THAT(loaded.error().message, HasSubstr("rows/contract.toml:"));
  }
}

TEST_F(Neighbours, OtherThingsThatDoNotPass) {
  const std::string_view near = "near = { producer = \"product\", producer_axes = { K = 5 } }";
  const struct {
    const char* name;
    const char *from, *to;
    const char* expected;
  } cases[] = {
      {"of another type", "dtype = \"f32\"", "dtype = \"f64\"", "no output of product has the type"},
      {"packed ahead", "role = \"in\"", "role = \"in\"\nprepare = true", "no output of product has the type"},
      {"no room for it", "axes = { R = 16, C = 32 }", "axes = { R = 16, C = 32, ld = 40 }", "ld is no axis or stride"},
      {"rows with gaps", "shape = [\"R\", \"C\"]", "shape = [\"R\", \"C\"]\nstride = [\"ld\", \"\"]",
       "no output of product has the type"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    std::string rows = With(kRows, c.from, c.to);
    if (std::string_view(c.name) == "rows with gaps")
      rows =
          With(With(rows, "\"R\", \"C\"]\n[axis]", "\"R\", \"C\", \"ld\"]\n[axis]"), "C = 32 }", "C = 32, ld = 40 }");
    const auto loaded = Load(near, rows);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.error().message, HasSubstr(c.expected));
  }
  // Its own neighbours are nobody's here: two contracts may stand beside each other.
  EXPECT_TRUE(Load("near = { consumer = \"rows\", consumer_wire = [\"y\", \"x\"] }").ok());
}

}  // namespace
}  // namespace assay
