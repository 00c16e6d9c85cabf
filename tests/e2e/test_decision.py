#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decisions agree with a second implementation to the last digit: on synthetic streams of every kind, and live."""
import hashlib
import json
import os
import subprocess
import sys

from support import DONE, NO_VERDICT, PROGRAM, REFUSED, ROOT, TOY, USAGE, Workspace, main

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

    def shared(self, name, source, *flags):
        """A kernel as somebody else would link it, and what assay calls it."""
        file = self.folder / name
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", *flags, "-x", "c++", "-", "-o", file], input=source.encode(), check=True)
        return file, "object " + hashlib.sha256(file.read_bytes()).hexdigest()[:16]

    def test_a_shared_object_is_compared(self):
        header = self.folder / "include/assay/contract.h"
        header.parent.mkdir(parents=True)
        header.touch()
        knobs = ("-DLANES=8", "-DUNROLL=1", "-DTHREADS=1", "-DTHREADS_all=2", "-DORDER=1", "-DORDER_up=1")
        file, _ = self.shared("the.so", (TOY / "templates/plain.cpp").read_text(), "-nostartfiles", "-I", self.folder / "include", *knobs)
        subprocess.run(["strip", "--strip-all", file], check=True)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        name = "object " + digest[:16]
        outcome = self.expect((DONE, NO_VERDICT), "bench", TOY, file, "--against", "strict", "--threads", "1", "--json", "bench.json")
        self.assertIn(name + " against strict", outcome.out)
        self.assertIn("not asked of " + name, outcome.out)
        report = json.loads((self.folder / "bench.json").read_text())
        self.assertEqual({"name": name, "file_hash": digest}, report["arms"][0])
        self.assertEqual("strict", report["arms"][1]["name"])
        self.agree(report, "a shared object")

        self.expect(DONE, "verify", TOY, file, "--json", "verdict.json")
        verdict = json.loads((self.folder / "verdict.json").read_text())
        self.assertEqual((digest, "verified"), (verdict["candidate"], verdict["trust"]))
        policy = verdict["checks"][0]
        self.assertEqual("policy", policy["name"])
        for what in ("builds twice", "second compiler", "sanitizers"):
            self.assertTrue(any(line.startswith(what) for line in policy["not_checked"]), policy)

    def test_a_shared_object_goes_through_the_gate_first(self):
        wrong, name = self.shared("wrong.so", (TOY / "mutants/tail_lost.cpp").read_text(), "-nostartfiles")
        for arms in ((wrong, "--against", "strict"), ("strict", "--against", wrong)):
            outcome = self.expect(REFUSED, "bench", TOY, *arms, "--threads", "1")
            self.assertIn("wrong_answer", outcome.out)
            self.assertIn(name, outcome.out)
        for source, flags, evidence in (((TOY / "honest/fused.cpp").read_text(), (), "link with -nostartfiles"),
                                        ("extern \"C\" void other() {}", ("-nostartfiles",), "exports other"),
                                        ("static void other() {} void* volatile kept = (void*)other;", ("-nostartfiles", "-fvisibility=hidden"), "exports nothing")):
            outcome = self.expect(REFUSED, "bench", TOY, self.shared("other.so", source, *flags)[0], "--against", "strict")
            self.assertIn("REJECTED at load, policy", outcome.out)
            self.assertIn(evidence, " ".join(outcome.out.split()))

    def test_what_a_shared_object_cannot_be_asked(self):
        file, name = self.shared("the.so", (TOY / "honest/fused.cpp").read_text(), "-nostartfiles")
        outcome = self.expect(USAGE, "verify", TOY, file, "--stop-after", "exam")
        self.assertIn(name + " came without a source", outcome.err)
        outcome = self.expect(USAGE, "bench", TOY, file, "--set", "UNROLL=2", "--against", "strict")
        self.assertIn("is a shared object and has no knobs", outcome.err)


if __name__ == "__main__":
    main()
