// SPDX-License-Identifier: Apache-2.0
#include "sandbox/libraries.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sandbox/test_support.h"

namespace assay {
namespace {

bool Has(const std::vector<Library>& libraries, const std::string& name) {
  return std::any_of(libraries.begin(), libraries.end(),
                     [&name](const Library& library) { return library.name == name; });
}

TEST(Libraries, FollowWhatIsNeeded) {
  const auto object = testing::CompileShared("#include <math.h>\ndouble f(double x) { return sin(x); }", {"-lm"});
  const std::filesystem::path roots[] = {object, "libstdc++.so.6"};
  const auto libraries = ResolveLibraries(roots);
  ASSERT_TRUE(libraries.ok()) << libraries.error().message;
  for (const char* name : {"libm.so.6", "libc.so.6", "libstdc++.so.6", "libgcc_s.so.1"})
    EXPECT_TRUE(Has(libraries.value(), name)) << name;
  for (const Library& library : libraries.value()) EXPECT_FALSE(std::filesystem::is_symlink(library.source));
}

TEST(Libraries, SayWhatIsMissing) {
  std::ofstream(testing::Workshop() / "text.so") << "no program at all";
  const struct {
    std::filesystem::path root;
    bool ok;
  } cases[] = {{"libm.so.6", true},
               {"libno-such-thing.so.1", false},
               {"/no/such/file.so", false},
               {testing::Workshop() / "text.so", true}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.root);
    const std::filesystem::path roots[] = {c.root};
    EXPECT_EQ(ResolveLibraries(roots).ok(), c.ok)
        << "what is no library needs none; loading it fails later, with the loader's words";
  }
  EXPECT_TRUE(LoaderOf("/bin/sh").ok());
  EXPECT_FALSE(LoaderOf(testing::Workshop() / "text.so").ok());
}

}  // namespace
}  // namespace assay
