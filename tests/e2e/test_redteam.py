#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A handful of hostile kernels for each stage, and what the command does where one gets through. All of them: bench/redteam.sh."""
import json
import shutil
import xml.etree.ElementTree

from support import DONE, NO_VERDICT, REFUSED, ROOT, TOY, USAGE, Workspace, main

HOSTILE = ROOT / "tests/hostile"
# Stage by stage: build, walls, memory and answers, history.
HANDFUL = ("exports_memcpy.cpp", "opens_file.cpp", "returns_nothing.cpp", "writes_past_end.cpp", "leaves_rounding_mode.cpp", "honest_lanes.cpp")
KEYS = {"class", "file", "contract", "outcome", "stage", "reason", "check", "seconds"}


class Redteam(Workspace):
    def corpus(self, *names, **texts):
        folder = self.folder / "corpus"
        folder.mkdir(exist_ok=True)
        for name in names:
            shutil.copy(HOSTILE / name, folder / name)
        for name, text in texts.items():
            (folder / f"{name}.cpp").write_text("// SPDX-License-Identifier: Apache-2.0\n" + text)
        return folder

    def redteam(self, codes, folder, *more):
        outcome = self.expect(codes, "redteam", folder, "--json", "cases.json", *more)
        document = json.loads((self.folder / "cases.json").read_text())
        self.assertEqual("assay.redteam.1", document["format"])
        self.assertIn("seccomp", document["walls"])
        for case in document["cases"]:
            self.assertLessEqual(KEYS, set(case))
        return outcome, document["cases"]

    def test_a_handful_is_refused_for_what_it_does(self):
        outcome, cases = self.redteam(DONE, self.corpus(*HANDFUL), "--junit", "junit.xml")
        self.assertEqual([], [(c["file"], c["reason"]) for c in cases if not c["as_stated"]], outcome)
        self.assertEqual(set(HANDFUL), {c["file"] for c in cases})
        tests = list(xml.etree.ElementTree.parse(self.folder / "junit.xml").iter("testcase"))
        self.assertEqual(len(cases), len(tests))
        self.assertEqual([], [t.get("name") for t in tests if t.find("failure") is not None or t.find("error") is not None])
        self.check_nothing_left()

    def test_one_that_gets_through_is_told(self):
        right = (TOY / "honest/fused.cpp").read_text().replace("assay:expect verified", "assay:expect rejected wrong_answer")
        shutil.copytree(TOY, self.folder / "contracts/toy_scale_add")
        outcome, cases = self.redteam(REFUSED, self.corpus(right=right), "--junit", "junit.xml")
        self.assertEqual(["verified"], [c["outcome"] for c in cases])
        self.assertEqual("toy_scale_add", cases[0]["contract"], "found by the entry that the file defines")
        self.assertIn("GOT THROUGH", outcome.out)
        self.assertEqual(1, sum(1 for _ in xml.etree.ElementTree.parse(self.folder / "junit.xml").iter("failure")))

    def test_an_honest_one_that_is_turned_away_is_told(self):
        wrong = (HOSTILE / "exports_memcpy.cpp").read_text().replace("assay:expect rejected policy", "assay:expect verified")
        outcome, _ = self.redteam(REFUSED, self.corpus(wrong=wrong))
        self.assertIn("TURNED AWAY", outcome.out)

    def test_another_reason_is_told_and_is_no_breach(self):
        other = (HOSTILE / "exports_memcpy.cpp").read_text().replace("assay:expect rejected policy", "assay:expect rejected hang")
        outcome, cases = self.redteam(DONE, self.corpus(other=other))
        self.assertIn("stated rejected hang", outcome.out)
        self.assertFalse(cases[0]["as_stated"])

    def test_what_cannot_run_is_no_success(self):
        note = "// assay:expect rejected policy\n// assay:note class: odd, contract: no_such_contract\n"
        outcome, cases = self.redteam(NO_VERDICT, self.corpus(lost=note))
        self.assertEqual(("failed", "odd"), (cases[0]["outcome"], cases[0]["class"]))
        self.assertIn("no_such_contract", outcome.out)
        outcome, cases = self.redteam(NO_VERDICT, self.corpus(lost="// assay:expect rejected wrong_answr\n"))
        self.assertIn("rejected REASON", cases[0]["failure"])

    def test_a_directive_that_no_build_would_take_is_refused_by_policy(self):
        text = "// assay:expect rejected policy\n// assay:flag -fplugin=/tmp/x.so\n#include <stdint.h>\nextern \"C\" void softmax_rows(const float*, float*, int64_t, int64_t) {}\n"
        _, cases = self.redteam(DONE, self.corpus(plugin=text))
        self.assertEqual(("rejected", "build", "policy"), (cases[0]["outcome"], cases[0]["stage"], cases[0]["reason"]))

    def test_a_check_that_is_left_out(self):
        folder = self.corpus("returns_zeros.cpp")
        whole, cases = self.redteam(DONE, folder)
        by = cases[0]["check"]
        outcome, cases = self.redteam(DONE, folder, "--without", by)
        self.assertEqual("rejected", cases[0]["outcome"])
        self.assertNotEqual(by, cases[0]["check"])
        self.assertIn(f"without the checks: {by}", outcome.out)
        self.assertEqual([by], json.loads((self.folder / "cases.json").read_text())["without"])
        refused = self.expect(USAGE, "redteam", folder, "--without", "smoek")
        self.assertIn("--without smoek: no such check", refused.err)
        self.assertIn(by, refused.err)

    def test_seeds_and_classes(self):
        folder = self.corpus("exports_memcpy.cpp", "returns_zeros.cpp")
        _, cases = self.redteam(DONE, folder, "--seeds", "2", "--only", "interposition")
        self.assertEqual([("exports_memcpy.cpp", 1), ("exports_memcpy.cpp", 2)], [(c["file"], c["seed"]) for c in cases])
        for more in (["--only", "no such class"], ["--contract", "gemm"]):
            self.assertIn("no .cpp file", self.expect(USAGE, "redteam", folder, *more).err)
        self.assertIn("no such folder", self.expect(USAGE, "redteam", self.folder / "nowhere").err)


if __name__ == "__main__":
    main()
