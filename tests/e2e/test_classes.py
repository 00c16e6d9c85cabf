#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each class of outputs has a toy contract: it is admitted, its honest kernels pass, its mutants are refused as wrong."""
import json

from support import DONE, REFUSED, TOY, Workspace, main

CLASSES = [TOY.parent / name for name in ("toy_requantise", "toy_dynamic_codes", "toy_top_k", "toy_triangular_solve", "toy_dropout")]


class Classes(Workspace):
    def verdict(self, code, contract, kernel):
        outcome = self.expect(code, "verify", contract, kernel, "--json", "verdict.json")
        return outcome, json.loads((self.folder / "verdict.json").read_text())

    def check(self, contract):
        outcome = self.expect(DONE, "contract", "check", contract)
        self.assertIn("admitted", outcome.out)
        for kernel in ("strict", *sorted((contract / "honest").glob("*.cpp")), *sorted((contract / "templates").glob("*.cpp"))):
            outcome, verdict = self.verdict(DONE, contract, kernel)
            self.assertEqual(("verified", None), (verdict["outcome"], verdict["reason"]), outcome)
        mutants = sorted((contract / "mutants").glob("*.cpp"))
        self.assertGreaterEqual(len(mutants), 3, contract)
        for kernel in mutants:
            outcome, verdict = self.verdict(REFUSED, contract, kernel)
            self.assertEqual(("rejected", "wrong_answer"), (verdict["outcome"], verdict["reason"]), outcome)
        self.check_nothing_left()


for folder in CLASSES:
    setattr(Classes, f"test_{folder.name}", lambda self, folder=folder: self.check(folder))


if __name__ == "__main__":
    main()
