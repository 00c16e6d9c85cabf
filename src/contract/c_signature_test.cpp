// SPDX-License-Identifier: Apache-2.0
#include "contract/c_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "base/file.h"
#include "contract/load.h"
#include "contract/signature.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string Read(std::string_view source, std::string_view symbol = "f") {
  const Result<CSignature> read = ReadSignature(source, symbol, "user.cpp");
  if (!read.ok()) return read.error().message;
  std::string text;
  for (const CParameter& p : read.value().parameters) {
    text += (text.empty() ? "" : ", ") + std::string(p.const_target ? "const " : "") + p.type +
            (p.pointer ? "* " : " ") + p.name;
  }
  return text;
}

TEST(ReadSignature, UnderstandsWhatPeopleWrite) {
  const std::pair<const char*, const char*> cases[] = {
      {"void f(float* x, int n) {}", "float* x, int32_t n"},
      {"extern \"C\" void f(const float *x, float* __restrict__ y, int64_t n) {}",
       "const float* x, float* y, int64_t n"},
      {"extern \"C\" {\nstatic inline void f(float const * restrict x, double* y) {} }", "const float* x, double* y"},
      {"void f(const float x[], float y[static 4], std::size_t n);", "const float* x, float* y, size_t n"},
      {"/* void f(int); */ // void f(int)\nvoid f(/* in */ const int8_t* a, // out\n unsigned char *b) noexcept {}",
       "const int8_t* a, uint8_t* b"},
      {"__attribute__((noinline, target(\"avx2\"))) void f(float* x __attribute__((aligned(64))), long long n) {}",
       "float* x, int64_t n"},
      {"[[gnu::noinline]] void f(const signed char* a, float* o, unsigned int n) {}",
       "const int8_t* a, float* o, unsigned n"},
      {"void f(float*, int);\nvoid g() { f(0, 1); }\nvoid f(float* x, int n) { }", "float* x, int32_t n"},
      {"#define A 1\n#if A\nvoid f(const std::int32_t* i, float* o, float alpha)\n#endif\n{}",
       "const int32_t* i, float* o, float alpha"},
      {"const char* s = \"void f(int);\"; void f(float* x) {}", "float* x"},
      {"void f(const float* const x, float* const y) {}", "const float* x, float* y"},
      {"void f(float *x) ;", "float* x"},
  };
  for (const auto& [source, expected] : cases) EXPECT_EQ(Read(source), expected) << source;
}

TEST(ReadSignature, SaysWhatItCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"void g(float* x) {}\nvoid ff(float* x) {}", "user.cpp:1: f: no such function, or a macro makes it"},
      {"", "the file defines no function"},
      {"int f(float* x) {}", "user.cpp:1: f: returns a value"},
      {"float* f(float* x) {}", "returns a value"},
      {"template <class T> void f(T* x) {}", "is a template"},
      {"void f(float** x) {}", "a pointer to pointers"},
      {"void f(float* x[4]) {}", "a pointer to pointers"},
      {"void f(float& x) {}", "a reference cannot cross"},
      {"void f(std::vector<float> x) {}", "a template type"},
      {"void f(float* x, void (*g)(int)) {}", "a function pointer"},
      {"void f(float* x, ...) {}", "list of any length"},
      {"void f(float* x, int n = 3) {}", "a default value"},
      {"void f(float*, int n) {}", "a parameter without a name"},
      {"void f(\n  float* x,\n  Matrix m) {}", "user.cpp:3: f.m: the type Matrix is not known"},
      {"void f(unsigned* x) {}", "no dtype is unsigned above 8 bits"},
      {"void f(float* x, int min) {}", "f.min: a name has"},
      {"void f(float* x, int x) {}", "x: two parameters have this name"},
      {"void f(const float* x, int n) {}", "has no pointer to non-const"},
      {"void C::f(float* x) {}", "user.cpp:1: f:"},
  };
  for (const auto& [source, expected] : cases) EXPECT_THAT(Read(source), HasSubstr(expected)) << source;
  EXPECT_THAT(Read("void f(float* x) {}", "a b"), HasSubstr("is no C symbol"));
  EXPECT_THAT(Read(std::string("void f(float* x) {}\0", 20)), HasSubstr("NUL byte"));
}

TEST(ReadSignature, SurvivesMutations) {
  std::mt19937 random(3);  // NOLINT: a fixed seed on purpose
  const std::string source =
      "extern \"C\" { /* c */ void f(const float* x, float y[], int n) { x = \"a\\\"b\"; } }\n#define Q(x) \\\n "
      "x\nR\"d(raw)d\"";
  for (int round = 0; round < 20000; ++round) {
    std::string text = source;
    for (uint64_t edits = 1 + random() % 5; edits > 0; --edits) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = "(){}[]\"'*/\\#,;<>=R\n"[random() % 19];
      } else {
        text.erase(at, 1 + random() % 10);
      }
      if (text.empty()) text = "x";
    }
    const Result<CSignature> read = ReadSignature(text, "f", "user.cpp");
    if (!read.ok()) continue;
    EXPECT_FALSE(read.value().parameters.empty());
    const Result<std::string> widened = WidenedReference(text, read.value());
    EXPECT_TRUE(!widened.ok() || !widened.value().empty());
  }
}

constexpr std::string_view kSource = R"code(#include <math.h>
#include <stddef.h>

static float square(float x) { return x * x; }

// y = x / sqrt(mean(x^2) + eps)
extern "C" void rms(const float* x, float* y, int n, float eps) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += square(x[i]);
  const float scale = 1.0f / sqrtf(sum / (float)n + eps);
  for (int i = 0; i < n; ++i) y[i] = std::fmax(x[i] * scale, -1e30f);
}
)code";

TEST(DraftContract, LoadsAtOnceWithOneAxis) {
  const CSignature signature = ReadSignature(kSource, "rms", "user.cpp").value();
  const TemporaryFolder folder = TemporaryFolder::Create("assay-draft-").value();
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder.path() / name) << text; };
  write("contract.toml", DraftContract(signature, "my_rms").value());
  write("reference.h", WidenedReference(kSource, signature).value());
  write("baseline.cpp", DraftBaseline(kSource, signature));
  const Result<Contract> contract = LoadContract(folder.path());
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  EXPECT_EQ(EntryPrototype(contract.value()), "void rms(const float* x, float* y, int64_t n, float eps)");
  EXPECT_TRUE(contract.value().slice.empty());
  EXPECT_FALSE(DraftContract(signature, "no/name").ok());
}

TEST(DraftContract, MarksWhatItCannotGuess) {
  const CSignature signature =
      ReadSignature("void f(const float* a, float* c, int m, int n) {}", "f", "user.cpp").value();
  const TemporaryFolder folder = TemporaryFolder::Create("assay-draft-").value();
  std::ofstream(folder.path() / "contract.toml") << DraftContract(signature, "two").value();
  EXPECT_THAT(LoadContract(folder.path()).error().message,
              HasSubstr("tensor.a.shape: \"FILL_IN\" uses FILL_IN, which is not known here"));
}

// The drafts are C++ that compiles; needs a compiler, which every machine that runs assay has.
TEST(DraftBaseline, Compiles) {
  if (std::system("c++ --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no compiler on this machine";  // NOLINT(cert-env33-c)
  const TemporaryFolder folder = TemporaryFolder::Create("assay-draft-").value();
  const CSignature signature = ReadSignature(kSource, "rms", "user.cpp").value();
  std::ofstream(folder.path() / "baseline.cpp") << "#include <cmath>\n" << DraftBaseline(kSource, signature);
  std::ofstream(folder.path() / "reference.h") << WidenedReference(kSource, signature).value();
  std::ofstream(folder.path() / "reference.cpp")
      << "#include \"reference.h\"\n"
      << "template void Reference<double>(const assay::Args<double>&, const assay::Slice&);\n"
      << "template void Reference<assay::Bounded>(const assay::Args<assay::Bounded>&, const assay::Slice&);\n"
      << "template void Reference<assay::Taped>(const assay::Args<assay::Taped>&, const assay::Slice&);\n"
      << "template void Reference<assay::Exact>(const assay::Args<assay::Exact>&, const assay::Slice&);\n";
  const auto compile = [&](const std::string& name) {
    const std::string command =
        "c++ -std=c++20 -fsyntax-only -I" ASSAY_SOURCE_DIR "/src/numerics " + (folder.path() / name).string();
    return std::system(command.c_str());  // NOLINT(cert-env33-c)
  };
  EXPECT_EQ(compile("baseline.cpp"), 0);
  EXPECT_EQ(compile("reference.cpp"), 0);
}

}  // namespace
}  // namespace assay
