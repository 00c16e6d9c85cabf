#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user's own kernel: a C function that no contract knows, drafted, completed, checked, searched."""
import re

from support import DONE, ENDED, USAGE, Workspace, main

SUMS = """/* Row sums of a dense matrix, each scaled by its own weight: somebody's slow, trusted kernel. */
#include <stdint.h>

static float row_sum(const float *row, int64_t n) {
  float sum = 0.0f;
  for (int64_t i = 0; i < n; i++) sum += row[i];
  return sum;
}

void weighted_row_sums(const float *x, const float *weight, float *y, int64_t rows, int64_t columns, float scale) {
  for (int64_t r = 0; r < rows; r++)
    y[r] = scale * weight[r] * row_sum(x + r * columns, columns);
}
"""


SHAPES = {"x": '["rows", "columns"]', "weight": '["rows"]', "y": '["rows"]'}


class Init(Workspace):
    def fill_the_reference(self, text):
        """The extents once more, where the draft of the reference asks for them."""
        for tensor, shape in SHAPES.items():
            text, count = re.subn(rf"(\b{tensor}_extents = )\{{FILL_IN\}}", rf"\g<1>{{{shape.strip('[]')}}}".replace('"', ""), text)
            self.assertEqual(1, count, f"no extents of {tensor} in the draft")
        return re.sub(r"//\s*FILL IN[^\n]*", "", text)

    def fill_the_gaps(self, text):
        """What a person does with the draft: shapes, ranges, a workload, a cost."""
        self.assertIn("FILL IN", text)
        for tensor, shape in SHAPES.items():
            text, count = re.subn(rf"(\[tensor\.{tensor}\][^\[]*?shape\s*=\s*)\[[^\]]*\]", rf"\g<1>{shape}", text, count=1)
            self.assertEqual(1, count, f"no shape of {tensor} in the draft")
        for axis, numbers in (("rows", "{ min = 0, max = 256 }"), ("columns", "{ min = 1, max = 1024, near = [16] }")):
            text, count = re.subn(rf"(?m)^(\s*{axis}\s*=\s*)\{{[^}}]*\}}", rf"\g<1>{numbers}", text, count=1)
            self.assertEqual(1, count, f"no axis {axis} in the draft")
        text = re.sub(r"(?m)^#? ?\[cost\]\n#? ?flops\s*=.*$", '[cost]\nflops = "rows*columns"', text)
        text = re.sub(r'(?m)^(summary\s*=\s*)""', r'\g<1>"Weighted sums of rows"', text)
        text = re.sub(r"(?m)^(axes\s*=\s*)\{[^}]*\}", r"\g<1>{ rows = 32, columns = 128 }", text)
        return re.sub(r"#\s*FILL IN[^\n]*", "", text)

    def test_from_a_c_file_to_a_proved_winner(self):
        (self.folder / "sums.c").write_text(SUMS)
        drafted = self.expect(DONE, "init", "row_sums", "--from", "sums.c", "--entry", "weighted_row_sums")
        folder = self.folder / "contracts/row_sums"
        for file in ("contract.toml", "reference.h", "baseline.cpp"):
            self.assertIn(file, drafted.out)
            self.assertTrue((folder / file).is_file())
        draft = (folder / "contract.toml").read_text()
        gaps = draft.count("FILL IN")
        self.assertGreater(gaps, 0)
        self.assertIn(f"{gaps} gap", drafted.out)

        # With gaps left it is refused, and the text says where.
        refused = self.expect(USAGE, "contract", "check", "row_sums", "--no-run")
        self.assertRegex(refused.err, r"contract\.toml:\d+: ")

        self.edit(folder / "contract.toml", self.fill_the_gaps)
        if "FILL_IN" in (folder / "reference.h").read_text():
            self.edit(folder / "reference.h", self.fill_the_reference)
        looked = self.expect(DONE, "contract", "check", "row_sums", "--no-run")
        self.assertIn("weighted_row_sums with 6 arguments", looked.out)
        self.assertIn("template row_sums", looked.out)
        checked = self.expect(DONE, "contract", "check", "row_sums")
        self.assertIn("row_sums: admitted", checked.out)

        self.expect(ENDED, "run", "row_sums", "--budget", 2, "--json", "run.json", "--report", "page.html")
        run = self.check_json(self.folder / "run.json")
        self.assertEqual("row_sums", run["contract"])
        self.assertIsNotNone(run["incumbent"])
        self.check_page(self.folder / "page.html")
        self.check_nothing_left()

    def test_what_cannot_be_drafted_is_refused_with_the_reason(self):
        (self.folder / "sums.c").write_text(SUMS)
        cases = (
            (["init", "Row-Sums", "--from", "sums.c", "--entry", "weighted_row_sums"], ["NAME", "lower-case"]),
            (["init", "row_sums", "--from", "missing.c", "--entry", "weighted_row_sums"], ["missing.c"]),
            (["init", "row_sums", "--from", "sums.c", "--entry", "weighted_row_sum"], ["weighted_row_sum"]),
            (["init", "row_sums", "--from", "sums.c"], ["--entry"]),
        )
        for arguments, words in cases:
            with self.subTest(arguments=arguments):
                outcome = self.expect(USAGE, *arguments)
                for word in words:
                    self.assertIn(word, outcome.err)
                self.assertFalse((self.folder / "contracts/row_sums").exists(), "nothing is written half")

    def test_an_existing_folder_is_not_overwritten(self):
        (self.folder / "sums.c").write_text(SUMS)
        (self.folder / "contracts/row_sums").mkdir(parents=True)
        outcome = self.expect(USAGE, "init", "row_sums", "--from", "sums.c", "--entry", "weighted_row_sums")
        self.assertIn("exists", outcome.err)


if __name__ == "__main__":
    main()
