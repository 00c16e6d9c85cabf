#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One kernel through the gate: honest ones pass, wrong ones are refused with the reason that names the cause."""
import json

from support import DONE, REFUSED, ROOT, TOY, USAGE, Workspace, main

DOES_NOT_COMPILE = '// assay:template own\nextern "C" void toy_scale_add( { }\n'
HAS_NO_ENTRY = '// assay:template own\nextern "C" void another_name() {}\n'
WRITES_PAST_THE_END = """// assay:template own
#include <stdint.h>
extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  for (int64_t i = 0; i < B * N; ++i) y[i] = a * x[i] + b;
  y[B * N] = 0;
}
"""


class Verify(Workspace):
    def verdict(self, code, file, *more):
        outcome = self.expect(code, "verify", TOY, file, "--json", "verdict.json", *more)
        verdict = json.loads((self.folder / "verdict.json").read_text())
        self.assertEqual("assay.verdict.1", verdict["format"])
        self.assertEqual("toy_scale_add", verdict["contract"])
        self.assertIn("seccomp", verdict["machine"]["walls"], "a verdict says which walls stood")
        return outcome, verdict

    def test_honest_kernels_are_verified(self):
        for file in (TOY / "honest/fused.cpp", "strict"):
            outcome, verdict = self.verdict(DONE, file)
            self.assertEqual(("verified", "verified", "verify", None), tuple(verdict[k] for k in ("outcome", "trust", "stage", "reason")), outcome)
            self.assertIn("VERIFIED", outcome.out)
        self.check_nothing_left()

    def test_mutants_are_rejected_for_their_answers(self):
        for file in sorted((TOY / "mutants").glob("*.cpp")):
            outcome, verdict = self.verdict(REFUSED, file)
            self.assertEqual(("rejected", "wrong_answer"), (verdict["outcome"], verdict["reason"]), outcome)
            self.assertNotEqual("", verdict["evidence"])
            self.assertIn("mend: ", outcome.out)
        self.check_nothing_left()

    def test_the_reason_names_the_cause(self):
        for name, source, stage, reason in (("syntax", DOES_NOT_COMPILE, "build", "build_failed"),
                                            ("writes_past", WRITES_PAST_THE_END, "screen", "wrote_outside")):
            with self.subTest(name):
                file = self.folder / f"{name}.cpp"
                file.write_text("// SPDX-License-Identifier: Apache-2.0\n" + source)
                outcome, verdict = self.verdict(REFUSED, file)
                self.assertEqual((stage, reason), (verdict["stage"], verdict["reason"]), outcome)
        file = self.folder / "no_entry.cpp"
        file.write_text(HAS_NO_ENTRY)
        outcome, verdict = self.verdict(REFUSED, file)
        self.assertIn(verdict["reason"], ("build_failed", "policy", "load_failed"), outcome)
        self.assertIn("toy_scale_add", outcome.out, "the missing entry is named")

    def test_each_stage_can_be_the_last(self):
        for stage, trust in (("build", "none"), ("load", "none"), ("screen", "screened"), ("measure", "verified"), ("exam", "examined")):
            with self.subTest(stage):
                outcome, verdict = self.verdict(DONE, TOY / "templates/plain.cpp", "--stop-after", stage, "--set", "LANES=4")
                self.assertEqual((stage, trust), (verdict["stage"], verdict["trust"]), outcome)
                self.assertEqual("4", verdict["knobs"]["LANES"])
        # A mutant that builds and loads is not refused by stages it did not reach.
        self.verdict(DONE, TOY / "mutants/tail_lost.cpp", "--stop-after", "load")
        self.check_nothing_left()

    def test_a_contract_that_cannot_tell_right_from_wrong_is_not_admitted(self):
        folder = self.toy()
        honest = (TOY / "honest/fused.cpp").read_text().replace("assay:expect verified", "assay:expect rejected wrong_answer")
        (folder / "mutants/no_mutant.cpp").write_text(honest)
        outcome = self.expect(REFUSED, "contract", "check", folder)
        self.assertIn("NOT admitted", outcome.out)
        self.assertIn("no_mutant", outcome.out)
        self.check_nothing_left()

    def test_knobs_and_flags_that_the_file_does_not_have(self):
        plain = TOY / "templates/plain.cpp"
        for arguments, words in ((["--set", "LANE=4"], ["LANE", "LANES"]), (["--set", "LANES=5"], ["LANES", "1", "16"]), (["--set", "LANES"], ["--set", "KNOB=VALUE"]),
                                 (["--set", "LANES=4", "--set", "LANES=8"], ["LANES", "twice"]), (["--flag", "-Ofast"], ["-Ofast"])):
            with self.subTest(arguments=arguments):
                outcome = self.expect(USAGE, "verify", TOY, plain, *arguments)
                for word in words:
                    self.assertIn(word, outcome.err)

    def test_a_mutant_of_a_shipped_contract_by_the_contracts_name(self):
        outcome = self.expect(REFUSED, "verify", "softmax_rows", ROOT / "contracts/softmax_rows/mutants/no_maximum.cpp")
        self.assertRegex(outcome.out, r"^softmax_rows: REJECTED at (screen|verify), wrong_answer")


if __name__ == "__main__":
    main()
