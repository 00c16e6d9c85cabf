// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace assay {
namespace {

using std::chrono::milliseconds;

TEST(Child, EndsInExactlyOneWay) {
  struct Case {
    const char* name;
    const char* script;
    Outcome expected;
    const char* output;
  };
  const Case cases[] = {
      {"clean exit", "exit 0", Exited{0}, ""},
      {"exit code", "exit 7", Exited{7}, ""},
      {"killed by a signal", "kill -SEGV $$", Signaled{SIGSEGV, {}}, ""},
      {"never ends", "echo begun; sleep 60", TimedOut{milliseconds(200)}, "begun\n"},
      {"leaves a grandchild behind", "sleep 60 & exit 3", Exited{3}, ""},
      {"prints on both", "echo a; echo b >&2", Exited{0}, "a\nb\n"},
      {"prints more than is kept", "head -c 200000 /dev/zero | tr '\\0' x", Exited{0}, nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ChildOptions options;
    options.capture = true;
    options.output_cap = 1000;
    auto child = Child::Spawn({"sh", "-c", c.script}, options);
    ASSERT_TRUE(child.ok());
    const bool ends = !std::holds_alternative<TimedOut>(c.expected);
    const auto outcome = child.value().Wait(ends ? milliseconds(20000) : milliseconds(200));
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.value(), c.expected) << Describe(outcome.value());
    EXPECT_EQ(child.value().output(), c.output != nullptr ? c.output : std::string(1000, 'x'));
  }
}

TEST(Child, TakesItsSettings) {
  ChildOptions options;
  options.capture = true;
  options.environment = {"ONLY=this"};
  options.directory = "/";
  auto child = Child::Spawn({"/bin/sh", "-c", "pwd; echo $ONLY$HOME"}, options);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child.value().Wait(milliseconds(20000)).ok());
  EXPECT_EQ(child.value().output(), "/\nthis\n");
}

TEST(Child, IsBuriedByItsScope) {
  pid_t pid = 0;
  {
    const auto child = Child::Spawn({"sleep", "60"});
    ASSERT_TRUE(child.ok());
    pid = child.value().pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
  EXPECT_FALSE(Child::Spawn({"no-such-program-anywhere"}).ok());
}

}  // namespace
}  // namespace assay
