#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decisions agree with a second implementation to the last digit: on synthetic streams of every kind, and live."""
import json
import os
import subprocess
import sys

from support import DONE, NO_VERDICT, PROGRAM, ROOT, TOY, USAGE, Workspace, main

sys.path.insert(0, str(ROOT / "tests/support"))
import decision  # noqa: E402

FIELDS = ("against", "workload", "decision", "value", "low", "high", "reproduction", "groups", "redrawn", "margin",
          "alpha", "group_log_ratios", "restarts", "bad_restarts", "regimes")
KINDS = {"FASTER", "SLOWER", "SAME", "UNDECIDED", "UNSTABLE"}


class Decision(Workspace):
    def agree(self, report, where):
        ours = {(d["against"], d["workload"]): d for d in decision.decide(report["units"], report["design"])}
        theirs = {(d["against"], d["workload"]): d for d in report["decisions"]}
        self.assertEqual(sorted(ours), sorted(theirs), where)
        for key, mine in ours.items():
            for field in FIELDS:
                self.assertEqual(mine[field], theirs[key][field], f"{where}: {key} {field}")
        return {d["decision"] for d in ours.values()}

    def test_on_synthetic_streams(self):
        folder = self.folder / "streams"
        folder.mkdir()
        ran = subprocess.run([PROGRAM.parent / "measure_test", "--gtest_filter=Streams.AreWrittenForASecondImplementation"],
                             env={**os.environ, "ASSAY_DECISIONS": str(folder)}, capture_output=True, text=True, check=False)
        self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
        kinds = set()
        files = sorted(folder.glob("*.json"))
        self.assertGreaterEqual(len(files), 140)
        for file in files:
            kinds |= self.agree(json.loads(file.read_text()), file.name)
        self.assertEqual(KINDS, kinds, "every kind of decision was compared")

    def test_a_live_decision_and_what_it_does_not_depend_on(self):
        self.expect((DONE, NO_VERDICT), "bench", TOY, "strict", "--against", "relaxed", "--threads", "1", "--json", "bench.json")
        report = json.loads((self.folder / "bench.json").read_text())
        self.assertEqual("assay.bench.1", report["format"])
        self.agree(report, "live")
        self.assertEqual(1, len(report["comparisons"]))
        # A disturbed group says nothing, whatever its units are.
        for unit in report["units"]:
            if unit[8]:
                unit[4] *= 100
        self.agree(report, "live, disturbed groups changed")

    def test_a_comparison_with_itself_again_and_again(self):
        outcome = self.expect((DONE, NO_VERDICT), "bench", TOY, "--aa", "--repeat", "2", "--threads", "1", "--json", "aa.json")
        self.assertIn("byte copy of", outcome.out)
        report = json.loads((self.folder / "aa.json").read_text())
        self.assertEqual(2, len(report["comparisons"]))
        for one in report["comparisons"]:
            self.assertIn(one["decision"], KINDS)
            self.assertEqual(one["value"] is not None, one["decision"] in ("FASTER", "SLOWER", "SAME"))
            if "too busy" not in one["note"]:
                self.assertGreater(one["groups"], 0)
            self.assertGreater(one["seconds"], 0)
        self.agree(report, "against itself")

    def test_what_a_comparison_needs(self):
        for more in ((), ("--aa", "--against", "strict")):
            outcome = self.expect(USAGE, "bench", TOY, "strict", *more)
            self.assertIn("either --against B or --aa", outcome.err)

    def test_a_shared_object_is_no_kernel_source(self):
        self.expect(DONE, "verify", TOY, TOY / "honest/fused.cpp")
        built = max((self.folder / ".assay").rglob("*.so"), key=lambda file: file.stat().st_mtime, default=None)
        self.assertIsNotNone(built, "the cache holds what was built")
        outcome = self.expect(USAGE, "verify", TOY, built)
        self.assertIn("is a shared object; give the source", outcome.err)


if __name__ == "__main__":
    main()
