#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cheats that give right answers must gain nothing on the clock, and what they write for others is theirs to answer for."""
import json

from support import DONE, NO_VERDICT, REFUSED, ROOT, Workspace, main

SOFTMAX = ROOT / "contracts/softmax_rows"
HOSTILE = ROOT / "tests/hostile"


class Gate(Workspace):
    def test_a_cache_by_content_is_never_faster_than_its_honest_twin(self):
        outcome = self.expect((DONE, NO_VERDICT), "bench", SOFTMAX, HOSTILE / "caches_by_content.cpp", "--against",
                              HOSTILE / "honest_plain.cpp", "--workload", "rows-128", "--json", "bench.json")
        decisions = json.loads((self.folder / "bench.json").read_text())["decisions"]
        self.assertTrue(decisions, outcome)
        for decision in decisions:
            self.assertNotEqual("FASTER", decision["decision"], outcome)

    def test_work_for_calls_of_another_unit_is_found_in_the_decoy(self):
        self.expect(REFUSED, "verify", SOFTMAX, HOSTILE / "first_call_works_for_all.cpp", "--json", "verdict.json")
        verdict = json.loads((self.folder / "verdict.json").read_text())
        self.assertEqual(("rejected", "wrote_outside"), (verdict["outcome"], verdict["reason"]))


if __name__ == "__main__":
    main()
