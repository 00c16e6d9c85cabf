#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents say is what the program does."""
import re

from support import DONE, ROOT, Workspace, main, schema


def reasons_page():
    """{reason: (meaning, advice)} of docs/reasons.md."""
    rows = {}
    for line in (ROOT / "docs/reasons.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and cells[0].startswith("`"):
            rows[cells[0].strip("`")] = (cells[1], cells[2])
    return rows


class Documents(Workspace):
    def test_every_reason_has_a_row_with_the_advice_that_the_program_gives(self):
        def unwrapped(text):
            return re.sub(r"(?m)(?<=\S)\n  (?=\S)", " ", re.sub(r"(?m)^(\w+)\n", r"\1:", text))

        told = dict(re.findall(r"(?m)^(\w+):  (.*)$", unwrapped(self.expect(DONE, "explain", "reason").out)))
        page = reasons_page()
        self.assertEqual(list(told), list(page), "the same reasons in the same order")
        for reason, advice in told.items():
            meaning, written = page[reason]
            self.assertEqual(advice, written, reason)
            self.assertGreater(len(meaning), 10, reason)
            self.assertEqual(f"{reason}:  {advice}\n", unwrapped(self.expect(DONE, "explain", "reason", reason).out))

    def test_the_schema_knows_the_same_reasons(self):
        self.assertEqual(list(reasons_page()), schema().schema["definitions"]["reason"]["enum"])

    def test_help_is_the_page(self):
        page = (ROOT / "docs/cli.md").read_text()
        sections = re.split(r"^## assay ", page, flags=re.M)[1:]
        self.assertGreater(len(sections), 7)
        for section in sections:
            command, body = section.split("\n", 1)
            expected = "\n".join(line for line in body.split("\n") if not line.startswith("```")).strip()
            self.assertEqual(expected, self.expect(DONE, *command.split(), "--help").out.strip(), command)

    def test_links_between_documents_lead_somewhere(self):
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)|\b(docs/[\w/.-]+\.(?:md|json|svg))\b", page.read_text()):
                path = target[0] or target[1]
                if "://" in path:
                    continue
                found = (page.parent / path).exists() if target[0] else (ROOT / path).exists()
                self.assertTrue(found, f"{page.relative_to(ROOT)}: {path}")

    def test_contested_bounds_name_what_exists(self):
        page = (ROOT / "docs/contested-bounds.md").read_text()
        tests = set()
        for path in sorted((ROOT / "src").rglob("*_test.cpp")):
            tests.update(".".join(pair) for pair in re.findall(r"(?m)^TEST(?:_[FP])?\((\w+), (\w+)\)", path.read_text()))
        sources = (ROOT / "src/verify/mutants.cpp").read_text()
        rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
        rows = [row for row in rows if row[0].strip() != "case"]
        self.assertGreater(len(rows), 25)
        for row in rows:
            self.assertEqual(4, len(row), row)
            seen = row[3]
            self.assertRegex(seen, r"[`\"(]", row[0])
            for name in re.findall(r"`([^`]+)`", seen):
                if "/" in name and name.endswith(".cpp"):
                    self.assertTrue((ROOT / name).exists(), name)
                else:
                    self.assertIn(name.split("/")[-1], tests)
            for fault in re.findall(r'"(?:mutant )?([^"]+)"', seen):
                words = [word for word in ("truncation instead of rounding", "one-pass variance", "functions good to ",
                                           "accumulator", "two bf16 for ", "narrow ", "loose functions") if word in fault]
                self.assertTrue(words and all(word in sources for word in words), fault)

    def test_decisions_are_numbered_and_dated(self):
        pages = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
        self.assertEqual([f"{i:04d}" for i in range(1, len(pages) + 1)], [p.name[:4] for p in pages])
        for page in pages:
            text = page.read_text()
            self.assertRegex(text, r"^# \d{4} ", page.name)
            self.assertRegex(text, r"(?m)^(Date: )?\d{4}-\d{2}-\d{2}$", page.name)
            self.assertLess(text.count("\n"), 120, f"{page.name}: one page")


if __name__ == "__main__":
    main()
