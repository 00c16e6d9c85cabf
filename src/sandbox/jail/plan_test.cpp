// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/plan.h"

#include <gtest/gtest.h>

namespace assay::jail {
namespace {

JailPlan Sample() {
  JailPlan plan;
  plan.profile = Profile::kRunner;
  plan.own_user = 7;
  plan.argv = {"/runner", "", "a b"};
  plan.environment = {"A=1"};
  plan.binds = {{"/from", "/to", true}, {"/x", "/y", false}};
  plan.links = {{"usr/lib", "/lib", false}};
  plan.copy_target = "/artifact.so";
  plan.cpus = {0, 3};
  plan.address_space = uint64_t{1} << 40;
  plan.threads = 2;
  return plan;
}

TEST(JailPlan, SurvivesItsJourney) {
  const auto plan = Decode(Encode(Sample()));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->profile, Profile::kRunner);
  EXPECT_EQ(plan->argv, Sample().argv);
  EXPECT_EQ(plan->binds[0].target, "/to");
  EXPECT_TRUE(plan->binds[0].writable);
  EXPECT_EQ(plan->links[0].source, "usr/lib");
  EXPECT_EQ(plan->cpus, Sample().cpus);
  EXPECT_EQ(plan->address_space, uint64_t{1} << 40);
  EXPECT_EQ(plan->threads, 2U);
}

TEST(JailPlan, RefusesEveryOtherLength) {
  const std::string bytes = Encode(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(Decode(bytes.substr(0, size))) << size;
  EXPECT_FALSE(Decode(bytes + '\0'));
  // A count that promises more than there is.
  std::string lying = bytes;
  for (size_t at = 0; at + 8 <= lying.size(); ++at) {
    lying = bytes;
    lying.replace(at, 8, 8, '\xff');
    Decode(lying);  // may or may not decode; must not fall over
  }
}

}  // namespace
}  // namespace assay::jail
