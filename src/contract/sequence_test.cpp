// SPDX-License-Identifier: Apache-2.0
#include "contract/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/load.h"
#include "contract/testing/contract_folders.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// c = a + b over N elements, and where there is a d, c = a + b + d.
constexpr std::string_view kSum = R"toml(assay = 1
name = "sum"
entry = "sum"
args = ["a", "b", "d", "c", "N"]
[axis]
N = { min = 1, max = 4096 }
[tensor.a]
role = "in"
dtype = "f32"
shape = ["N"]
values = ["normal(0, 1)"]
[tensor.b]
role = "in"
dtype = "f32"
shape = ["N"]
values = ["normal(0, 1)"]
[tensor.d]
role = "in"
dtype = "f32"
shape = ["N"]
optional = true
values = ["normal(0, 1)"]
[tensor.c]
role = "out"
dtype = "f32"
shape = ["N"]
compare = { class = "accumulate" }
[workload.main]
axes = { N = 8 }
[baseline]
strict = { source = "baseline.cpp" }
)toml";

// y = factor x, over L elements.
constexpr std::string_view kTimes = R"toml(assay = 1
name = "times"
entry = "times"
args = ["x", "y", "L", "factor"]
[axis]
L = { min = 1, max = 4096 }
[scalar]
factor = { dtype = "f32", values = ["uniform(1, 2)"] }
[tensor.x]
role = "in"
dtype = "f32"
shape = ["L"]
values = ["normal(0, 1)"]
[tensor.y]
role = "out"
dtype = "f32"
shape = ["L"]
compare = { class = "accumulate" }
[workload.main]
axes = { L = 8 }
[baseline]
strict = { source = "baseline.cpp" }
)toml";

// y = factor (x + r) and s = x + r in one kernel.
constexpr std::string_view kFused = R"toml(assay = 1
name = "fused"
entry = "fused"
args = ["x", "r", "y", "s", "N", "factor"]
[axis]
N = { min = 1, max = 4096 }
[scalar]
factor = { dtype = "f32", values = ["uniform(1, 2)"] }
[tensor.x]
role = "in"
dtype = "f32"
shape = ["N"]
values = ["normal(0, 1)"]
[tensor.r]
role = "in"
dtype = "f32"
shape = ["N"]
values = ["normal(0, 1)"]
[tensor.y]
role = "out"
dtype = "f32"
shape = ["N"]
compare = { class = "accumulate" }
[tensor.s]
role = "out"
dtype = "f32"
shape = ["N"]
compare = { class = "accumulate" }
[workload.main]
axes = { N = 64 }
[baseline]
strict = { source = "baseline.cpp" }
[peer.unfused]
STEPS
)toml";

class Sequences : public testing::ContractFolders {
 protected:
  Result<Contract> Load(std::string_view steps) {
    Write("sum", kSum);
    Write("times", kTimes);
    std::string fused(kFused);
    Write("fused", fused.replace(fused.find("STEPS"), 5, steps));
    return LoadContract(root_.path() / "fused");
  }
};

TEST_F(Sequences, AreLaidOut) {
  const auto loaded = Load("sequence = [\"sum(a = x, b = r, c = s)\", \" times( x=s ) \"]");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Contract& contract = loaded.value();
  EXPECT_EQ(contract.references.size(), 1U);
  ASSERT_EQ(contract.sequences.size(), 1U);
  EXPECT_EQ(contract.sequences[0].name, "unfused");
  const Shape shape = WorkloadShape(contract, contract.workloads[0]).value();
  const auto laid = LayOut(contract, shape, contract.sequences[0]);
  ASSERT_TRUE(laid.ok()) << laid.error().message;
  ASSERT_EQ(laid.value().size(), 2U);
  const StepLayout& sum = laid.value()[0];
  EXPECT_EQ(sum.shape.axes.at("N"), 64);
  EXPECT_TRUE(sum.shape.absent_tensors.contains("d"));
  const auto index = [](const Contract& of, const char* name) {
    return static_cast<size_t>(of.FindTensor(name) - of.tensors.data());
  };
  const Contract& adds = *contract.sequences[0].steps[0].contract;
  EXPECT_EQ(sum.tensors[index(adds, "a")]->index, index(contract, "x"));
  EXPECT_FALSE(sum.tensors[index(adds, "a")]->step);
  EXPECT_EQ(sum.tensors[index(adds, "c")]->index, index(contract, "s"));
  const StepLayout& times = laid.value()[1];
  EXPECT_EQ(times.shape.axes.at("L"), 64);
  EXPECT_EQ(times.tensors[0]->step, 0U);
  EXPECT_EQ(times.tensors[0]->index, index(adds, "c"));
  EXPECT_EQ(times.tensors[1]->index, index(contract, "y"));
  EXPECT_EQ(times.scalars[0], 0U);
}

TEST_F(Sequences, NumbersStandForWhatDoesNotFollow) {
  const auto loaded = Load("sequence = [\"sum(a = x, b = r, c = s)\", \"times(x = s, factor = 1.5)\"]");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Shape shape = WorkloadShape(loaded.value(), loaded.value().workloads[0]).value();
  const auto laid = LayOut(loaded.value(), shape, loaded.value().sequences[0]);
  ASSERT_TRUE(laid.ok());
  EXPECT_FALSE(laid.value()[1].scalars[0]);
  EXPECT_EQ(laid.value()[1].shape.scalars.at("factor"), 1.5);
}

TEST_F(Sequences, ErrorsNameFileLineKeyAndRemedy) {
  const struct {
    const char* steps;
    const char* expected;
  } cases[] = {
      {"info = \"f\"", "peer.unfused.source: is missing; add it, or a sequence"},
      {"sequence = [\"sum\"]\nsource = \"baseline.cpp\"", "peer.unfused.source: does not go with sequence"},
      {"sequence = [\"sum\"]", "peer.unfused.sequence: has 1 steps; write 2 to 8"},
      {"sequence = [\"sum(\", \"times\"]", "peer.unfused.sequence: \"sum(\" is no step; write CONTRACT"},
      {"sequence = [\"sum(a)\", \"times\"]", "\"sum(a)\" is no step"},
      {"sequence = [\"sum(a = x, a = r)\", \"times\"]", "is no step"},
      {"sequence = [\"../sum\", \"times\"]", "is no step"},
      {"sequence = [\"nobody\", \"times\"]", "contract.toml:34: peer.unfused.sequence: nobody is no contract's folder"},
      {"sequence = [\"sum(q = x)\", \"times\"]", "on workload main: sum has no tensor and no scalar q"},
      {"sequence = [\"sum(q = 1)\", \"times\"]", "on workload main: sum has no axis and no scalar q"},
      {"sequence = [\"sum(N = 1.5)\", \"times\"]", "on workload main: 1.5 is no size"},
      {"sequence = [\"sum(a = x)\", \"times\"]", "sum reads b, and no input or result of that name is there by then"},
      {"sequence = [\"sum(a = x, b = r, c = x)\", \"times\"]", "sum writes x, which is there already"},
      {"sequence = [\"sum(a = x, b = r, c = s, N = 8)\", \"times\"]", "sum's a has another shape than x"},
      {"sequence = [\"sum(a = x, b = r)\", \"times(x = c)\"]", "no step writes s; add one"},
      {"sequence = [\"sum(a = x, b = r, c = s)\", \"times(x = s, factor = scale)\"]",
       "the scalar factor of times has no value"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.steps);
    const auto loaded = Load(c.steps);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.error().message, HasSubstr(c.expected));
    EXPECT_THAT(loaded.error().message, HasSubstr("fused/contract.toml:"));
  }
}

}  // namespace
}  // namespace assay
