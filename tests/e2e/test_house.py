#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The house rules bite: each breach is found, and its accepted neighbour is not."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import house  # noqa: E402
import names  # noqa: E402
import sizes  # noqa: E402


def body(lines):
    return "".join(f"  use({i});\n" for i in range(lines))


class Sizes(unittest.TestCase):
    def breaches(self, text, name="one.cpp"):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / name).write_text(text)
            return list(sizes.breaches(pathlib.Path(folder)))

    def test_functions(self):
        for name, head in (("plain", "int f(int a) {\n"), ("method", "Result<int> Room::f(int a) const {\n"), ("inside", "namespace a {\nstruct B {\nint f() {\n"),
                           ("linkage", 'extern "C" void f() {\n'), ("constructor", "A::A(int x) : x_(x), y_{x} {\n"), ("template", "template <class T, class U>\nauto f(T t) -> U {\n"),
                           ("test", "TEST(Suite, Name) {\n"), ("returns a struct", "struct stat f() {\n")):
            closing = "}\n" * (head.count("{") - head.count("}"))
            lines = 70 - (2 if head.startswith("template") else 1) - 1
            with self.subTest(name):
                self.assertEqual([], self.breaches(head + body(lines) + closing))
                found = self.breaches(head + body(lines + 1) + closing)
                self.assertEqual(1, len(found), found)
                self.assertIn("71 lines", found[0])

    def test_what_is_no_function(self):
        for name, text in (("a table", "constexpr Row kRows[] = {\n" + "  {1, \"f() {\"},\n" * 100 + "};\n"), ("a class", "class A {\n" + "  int f(int x);\n" * 100 + "};\n"),
                           ("a raw string", "void f() {\n  use(R\"x(\n" + "{ } (\n" * 10 + ")x\");\n}\n"), ("a macro", "#define M(x) {\\\n" + " a;\\\n" * 80 + " b\nint x;\n"),
                           ("braces in literals", "void f() {\n  use('{', \"}\", 1'000);  // {\n}\n"), ("an enum", "enum class E {\n" + "  kA,\n" * 100 + "};\n")):
            with self.subTest(name):
                self.assertEqual([], self.breaches(text))

    def test_files(self):
        self.assertEqual([], self.breaches("int a;\n" * 500))
        self.assertIn("501 lines", self.breaches("int a;\n" * 501)[0])
        self.assertIn("balance", self.breaches("void f() {\n")[0])


class Names(unittest.TestCase):
    def test_two_types_of_one_name(self):
        for name, other, breach in (("a struct twice", "namespace a {\nstruct X {\n};\n}  // namespace a\n", True),
                                    ("a class", "namespace a {\nclass X final : public Y {\n};\n}  // namespace a\n", True),
                                    ("a declaration", "namespace a {\nstruct X;\n}  // namespace a\n", False),
                                    ("a part of it", "namespace a {\nstruct X::State {\n};\n}  // namespace a\n", False),
                                    ("another namespace", "namespace b {\nstruct X {\n};\n}  // namespace b\n", False),
                                    ("nobody else's", "namespace a {\nnamespace {\nstruct X {\n};\n}  // namespace\n}  // namespace a\n", False)):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "one.h").write_text("namespace a {\nstruct X {\n};\n}  // namespace a\n")
                (pathlib.Path(folder) / "two.cpp").write_text(other)
                self.assertEqual(breach, bool(list(names.breaches(pathlib.Path(folder)))))


class Words(unittest.TestCase):
    def test_denied_words(self):
        rules = house.denied()
        for text, denied in (("see " + "/work" + "/main", True), ("the work/main loop", False), ("a session " + "of ours", True), ("a session opens", False),
                             ("TO" + "DO later", True), ("XXXXXX of mkdtemp", False), ("issue " + "7", True), ("an issue with two", False)):
            with self.subTest(text):
                self.assertEqual(denied, any(rule.search(text) for rule, _ in rules))


class Layers(unittest.TestCase):
    def test_a_foreign_include_is_found(self):
        spec = (ROOT / "scripts/layers.py").read_text()
        self.assertIn("layers:begin", spec)
        with tempfile.TemporaryDirectory(dir=ROOT / "tests") as folder:
            room = pathlib.Path(folder) / "base"
            room.mkdir()
            (room / "one.h").write_text('// SPDX-License-Identifier: Apache-2.0\n#include "engine/campaign.h"\n#include "base/text.h"\n#include <sqlite3.h>\n')
            ended = subprocess.run([sys.executable, ROOT / "scripts/layers.py", pathlib.Path(folder).relative_to(ROOT)], capture_output=True, text=True)
        self.assertEqual(1, ended.returncode, ended)
        self.assertIn("base may not include engine/campaign.h", ended.stdout)
        self.assertIn("belongs to src/ledger/", ended.stdout)
        self.assertNotIn("text.h", ended.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
