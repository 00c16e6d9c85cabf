// SPDX-License-Identifier: Apache-2.0
#include "language/instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "language/testing/toy_contract.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using testing::ToyContract;
using testing::ToyKernel;
using testing::ToyShape;

constexpr std::chrono::seconds kLimit{2};

class InstanceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryFolder::Create("assay-instance-test-");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryFolder(std::move(folder).value());
  }
  static void TearDownTestSuite() { delete folder_; }

  static Artifact Build(const std::string& source) {
    CppBuilder builder(folder_->path() / "cache");
    const auto family = ParseTemplate(source, "toy.cpp", contract_);
    EXPECT_TRUE(family.ok()) << family.error().message;
    auto built = builder.Build(contract_, MakeCandidate(family.value(), {}, {"-O2"}).value(), BuildVariant::kPrimary);
    EXPECT_TRUE(built.ok()) << built.error().message;
    if (const auto* rejected = std::get_if<Rejected>(&built.value())) ADD_FAILURE() << rejected->evidence;
    return std::get<Artifact>(std::move(built).value());
  }

  static InstanceOutcome Start(const Artifact& artifact, const Shape& shape, size_t slots = 2) {
    InstanceSpec spec;
    spec.contract = &contract_;
    spec.artifact = &artifact;
    spec.shape = &shape;
    spec.slots = slots;
    auto started = Instance::Start(spec);
    EXPECT_TRUE(started.ok()) << started.error().message;
    return std::move(started).value();
  }

  // Fills slot 0, runs one call there and looks at the guards; nothing when all is well.
  static std::optional<Rejected> RunOnce(Instance& instance, double bias = 1) {
    for (size_t slot = 0; slot < instance.slots(); ++slot) instance.PoisonOutputs(slot, 17 + slot);
    const std::span<std::byte> input = instance.InputBytes(0, 0);
    for (size_t i = 0; i < input.size() / sizeof(float); ++i) {
      const auto value = static_cast<float>(i);
      std::memcpy(input.data() + i * sizeof value, &value, sizeof value);
    }
    const Call call = instance.CallFor(0, std::span(&bias, 1));
    auto run = instance.RunUnit(std::span(&call, 1), kLimit, WaitMode::kSleep, Stage::kScreen);
    EXPECT_TRUE(run.ok()) << run.error().message;
    if (auto* rejected = std::get_if<Rejected>(&run.value())) return *rejected;
    auto guards = instance.CheckGuards(Stage::kScreen);
    EXPECT_TRUE(guards.ok());
    return guards.value();
  }

  static float Output(const Instance& instance, size_t element) {
    float value = 0;
    std::memcpy(&value, instance.OutputBytes(1, 0).data() + element * sizeof value, sizeof value);
    return value;
  }

  static inline const Contract contract_ = ToyContract();
  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(InstanceTest, PassesArgumentsAndKeepsGaps) {
  const Artifact artifact = Build(ToyKernel());
  const Shape shape = ToyShape(3, 5, 8);
  InstanceOutcome outcome = Start(artifact, shape);
  auto& instance = std::get<Instance>(outcome);
  EXPECT_FALSE(RunOnce(instance, 0.5));
  EXPECT_EQ(Output(instance, 0), 0.5F);
  EXPECT_EQ(Output(instance, 2 * 8 + 4), 2 * 14 + 0.5F);
  EXPECT_TRUE(instance.StillPoison(1, 0, 5 * sizeof(float), 3 * sizeof(float)));
  EXPECT_TRUE(instance.StillPoison(1, 1, 0, instance.OutputBytes(1, 1).size()));
  EXPECT_FALSE(instance.StillPoison(1, 0, 0, sizeof(float)));
}

TEST_F(InstanceTest, EveryEndingHasItsReason) {
  struct Row {
    const char* name;
    const char* body;
    Reason reason;
    const char* evidence;
    const char* extra = "";
  };
  const Row rows[] = {
      {"writes past the end", "y[T * ldy + 64] = 1;", Reason::kWroteOutside, "y"},
      {"writes into the rest of the last line", "y[(T - 1) * ldy + N] = 1;", Reason::kWroteOutside, "past its end"},
      {"writes into a gap", "y[N] = 1;", Reason::kWroteOutside, "gap"},
      {"writes its input", "const_cast<float*>(x)[0] = 1;", Reason::kWroteInput, "x"},
      {"dereferences null", "*(volatile int*)16 = 1;", Reason::kCrash, "SIGSEGV"},
      {"divides by zero", "volatile int zero = 0; volatile int quotient = 7 / zero; (void)quotient;", Reason::kCrash,
       "SIGFPE"},
      {"exits", "exit(3);", Reason::kExited, "", "#include <stdlib.h>"},
      {"opens a socket", "socket(2, 1, 0);", Reason::kForbiddenCall, "socket", "#include <sys/socket.h>"},
      {"leaves flush-to-zero on", "__builtin_ia32_ldmxcsr(0x9fc0);", Reason::kMachineState, "MXCSR"},
      {"never returns", "for (volatile int i = 0;; i = i) {}", Reason::kHang, ""},
  };
  const Shape shape = ToyShape(3, 5, 8);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const Artifact artifact = Build(ToyKernel(row.body, row.extra));
    InstanceOutcome outcome = Start(artifact, shape);
    ASSERT_TRUE(std::get_if<Instance>(&outcome) != nullptr) << std::get<Rejected>(outcome).evidence;
    const auto rejected = RunOnce(std::get<Instance>(outcome));
    ASSERT_TRUE(rejected);
    EXPECT_EQ(Name(rejected->reason), Name(row.reason)) << rejected->evidence;
    EXPECT_THAT(rejected->evidence, HasSubstr(row.evidence));
    EXPECT_EQ(rejected->stage, Stage::kScreen);
  }
}

TEST_F(InstanceTest, ScratchIsAskedForAndBounded) {
  const auto with_scratch = [](const std::string& bytes) {
    return ToyKernel("if (scratch) static_cast<char*>(scratch)[63] = 1; else __builtin_trap();",
                     "extern \"C\" int64_t toy_scratch(int64_t T, int64_t N) { return " + bytes + "; }");
  };
  const Shape shape = ToyShape(4, 4);
  struct Row {
    const char* name;
    std::string bytes;
    std::optional<Reason> reason;
  };
  const Row rows[] = {
      {"what it asks for", "T * N * 4", std::nullopt},
      {"as much as the policy gives", "1 << 20", std::nullopt},
      {"a byte more", "(1 << 20) + 1", Reason::kPolicy},
      {"negative", "-1", Reason::kPolicy},
      {"crash while asking", "*(volatile int*)16", Reason::kCrash},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const Artifact artifact = Build(with_scratch(row.bytes));
    InstanceOutcome outcome = Start(artifact, shape);
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_EQ(rejected != nullptr, row.reason.has_value()) << (rejected != nullptr ? rejected->evidence : "");
    if (rejected != nullptr) {
      EXPECT_EQ(Name(rejected->reason), Name(*row.reason));
    } else {
      EXPECT_FALSE(RunOnce(std::get<Instance>(outcome)));
    }
  }
}

TEST_F(InstanceTest, EmptyTensorsRun) {
  const Artifact artifact = Build(ToyKernel());
  const Shape shape = ToyShape(0, 7);
  InstanceOutcome outcome = Start(artifact, shape);
  ASSERT_TRUE(std::get_if<Instance>(&outcome) != nullptr);
  EXPECT_FALSE(RunOnce(std::get<Instance>(outcome)));
}

}  // namespace
}  // namespace assay
