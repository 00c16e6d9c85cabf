// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/cpp/diagnostics.h"
#include "language/cpp/elf_file.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SourcePolicy, HeadersAndAssembler) {
  struct Row {
    const char* name;
    const char* source;
    const char* complaint;  // "" = accepted
  };
  const Row rows[] = {
      {"standard header", "#include <cmath>\n", ""},
      {"the harness's header", "#include <assay/contract.h>\n", ""},
      {"in quotes", "#include \"immintrin.h\"\n", ""},
      {"system header", "#include <sys/mman.h>\n", ""},
      {"absolute path", "#include \"/etc/passwd\"\n", "line 1: #include of /etc/passwd"},
      {"parent folder", "\n#include <../x.h>\n", "line 2"},
      {"system folder with a way out", "#include <sys/../../x>\n", "#include of"},
      {"the reference", "#include <assay/reference.h>\n", "#include of assay/reference.h"},
      {"blanks and continuation", "# \\\n include   \"secret.h\"\n", "secret.h"},
      {"digraph", "%:include \"secret.h\"\n", "secret.h"},
      {"from a macro", "#define H <math.h>\n#include H\n", "from a macro"},
      {"import", "#import <math.h>\n", "#import reads files"},
      {"in a comment", "// #include \"secret.h\"\n/*\n#include \"secret.h\"\n*/\n", ""},
      {"comment marks in a string", "const char* a = \"/*\";\n#include \"secret.h\"\n// */\n", "secret.h"},
      {"assembler that computes", "void f() { asm volatile(\"vzeroupper\\n\\tnop\" ::: \"memory\"); }\n", ""},
      {"incbin", "asm(\".incbin \\\"/etc/passwd\\\"\");\n", "assembler with .incbin"},
      {"section", "__asm__(\".section .init_array\");\n", "assembler with .section"},
      {"pushsection in pieces", "asm(\".push\" \"section .x\");\n", "assembler with .pushsection"},
      {"hidden in an escape", "asm(\"\\56incbin\");\n", "numeric escapes"},
      {"raw string", "asm(R\"(.incbin \"x\")\");\n", "assembler with .incbin"},
      {"a question for a standard header", "#if defined(__has_include) && __has_include(<immintrin.h>)\n#endif\n", ""},
      {"a question for a file", "#if 1\n#elif __has_include(\"/etc/passwd\")\n#endif\n", "line 2: __has_include of"},
      {"a question by a macro", "#define F <math.h>\n#if __has_include(F)\n#endif\n", "line 2: __has_include of"},
      {"the next one", "#if __has_include_next(<math.h>)\n#endif\n", "__has_include_next asks for files"},
      {"pragma for the compiler", "#pragma GCC optimize(\"O3\")\n#pragma omp parallel\n", ""},
      {"pragma for a file", "#pragma GCC dependency \"/etc/passwd\"\n", "a pragma with dependency"},
      {"pragma operator", "_Pragma(\"GCC dependency \\\"/etc/passwd\\\"\")\n", "a pragma with dependency"},
      {"the word without assembler", "const char* help = \".section\";\n", ""},
      {"digit separators and characters", "int x = 1'000'000; char c = '\"';\n#include <cmath>\n", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto complaint = CheckSource(row.source);
    if (*row.complaint == '\0')
      EXPECT_FALSE(complaint) << *complaint;
    else
      EXPECT_THAT(complaint.value_or(""), HasSubstr(row.complaint));
  }
}

TEST(SourcePolicy, TextThatTheAssemblerGetsFromMacros) {
  EXPECT_FALSE(MakesAssemblerText("#define TEXT(x) #x\nconst char* a = TEXT(b);\n"));
  EXPECT_FALSE(MakesAssemblerText("#define TWICE(x) x x\nvoid f() { asm(TWICE(\"nop;\")); }\n"));
  EXPECT_TRUE(MakesAssemblerText("#define TEXT(x) #x\nasm(TEXT(nop));\n"));
  const std::string made =
      "# 1 \"candidate.cpp\"\n# 1 \"/usr/include/x.h\" 1\nasm(\".symver a\");\n# 2 \"candidate.cpp\" 2\n";
  EXPECT_FALSE(CheckExpanded(made + "asm(\"nop\");\n", "candidate.cpp"));
  EXPECT_THAT(CheckExpanded(made + "asm(\".inc\" \"bin x\");\n", "candidate.cpp").value_or(""), HasSubstr(".incbin"));
}

TEST(ElfFile, SurvivesNoise) {
  EXPECT_FALSE(ElfFile::Parse(""));
  EXPECT_FALSE(
      ElfFile::Parse("\x7f"
                     "ELF"));
  std::string header(64, '\xff');
  header.replace(0, 4,
                 "\x7f"
                 "ELF");
  header[4] = 2;
  header[5] = 1;
  header[18] = 62;
  header[19] = 0;
  EXPECT_FALSE(ElfFile::Parse(header));
  EXPECT_TRUE(CheckSharedObject(header, FilePolicy{}));
}

TEST(OwnMessages, KeepsTheCandidatesLinesOnly) {
  const std::string output =
      "In file included from /usr/include/x.h:3,\n                 from candidate.cpp:1:\n/usr/include/x.h:9:1: error: "
      "secret text\n    9 | secret line\n      | ^~~\n"
      "candidate.cpp: In function 'void f()':\ncandidate.cpp:2:3: error: 'y' was not declared\n    2 |   y = "
      "\x1b[31m1;\n      |   ^\n";
  const std::string own = OwnMessages(output, "candidate.cpp");
  EXPECT_THAT(own, HasSubstr("'y' was not declared"));
  EXPECT_THAT(own, HasSubstr("2 |   y ="));
  EXPECT_THAT(own, Not(HasSubstr("secret")));
  EXPECT_THAT(own, Not(HasSubstr("\x1b")));
  EXPECT_THAT(OwnMessages("cc1plus: out of memory allocating 9 bytes\n", "candidate.cpp"), HasSubstr("out of memory"));
  EXPECT_LT(OwnMessages("candidate.cpp:1:1: error: " + std::string(9000, 'x'), "candidate.cpp").size(), 2100U);
}

}  // namespace
}  // namespace assay
