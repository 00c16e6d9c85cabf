#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole campaigns on the toy contract."""
import json
import re
import signal
import time

from support import DONE, ENDED, INTERRUPTED, NO_VERDICT, REFUSED, USAGE, Workspace, main

# Adds one in the last place of every answer: builds, runs, is wrong.
WRONG = """// SPDX-License-Identifier: Apache-2.0
// assay:template own
// assay:knob SHIFT = 1 | 2 | 3
// assay:flag -O2
#include <stdint.h>
extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  for (int64_t i = 0; i < B * N; ++i) y[i] = a * x[i] + b + 0.001f * SHIFT;
}
"""


class Campaigns(Workspace):
    def setUp(self):
        super().setUp()
        self.admitted()

    def test_a_campaign_ends_with_a_proved_winner_and_its_evidence(self):
        contract = self.toy()
        outcome = self.expect(ENDED, "run", contract, "--budget", 5, "--json", "run.json", "--report", "page.html")
        run = self.check_json(self.folder / "run.json")
        self.assertEqual("toy_scale_add", run["contract"])
        self.assertEqual({"strict", "relaxed"}, {r["name"] for r in run["references"]})
        self.assertEqual(5, run["budget"]["attempts"])
        self.assertEqual("budget", run["stopped"]["why"])
        self.assertIsNotNone(run["incumbent"], outcome)
        kinds = {d["decision"] for d in run["incumbent"]["speedup"].values()}
        headline = run["incumbent"]["decisions"][0]["decision"]
        self.assertEqual(NO_VERDICT if headline in ("UNDECIDED", "UNSTABLE") else DONE, outcome.code, kinds)
        page = self.check_page(self.folder / "page.html")
        for words in ("toy_scale_add", run["command"], run["machine"]["processor"].split("@")[0].strip(), "Interval"):
            self.assertIn(words, page)
        self.assertIn(f"report: {self.folder}/page.html", outcome.out)
        self.assertIn(f"replay: {run['command']}", outcome.out)
        self.check_nothing_left()

        # What is in the ledger can be shown again, and is what was shown.
        events = self.events()
        self.assertEqual("end", events[-1]["kind"])
        self.assertEqual(1, [e["kind"] for e in events].count("decision"))
        self.assertRegex(self.expect(DONE, "ledger", "check").out, rf"^{len(events)} rows, each as it was written")
        self.assertIn(run["id"], self.expect(DONE, "ledger").out)
        shown = self.expect(DONE, "ledger", "show", run["id"]).out
        self.assertIn(outcome.out.strip().splitlines()[0], shown)
        self.expect(DONE, "report", run["id"], "--out", "again.html")
        again = self.check_page(self.folder / "again.html")
        self.assertEqual(page.split("<h2>")[0], again.split("<h2>")[0])

        # An ended campaign is not resumed, and says so.
        refused = self.expect(USAGE, "run", contract, "--resume", run["id"])
        self.assertIn("has ended (budget)", refused.err)
        self.assertIn("no unfinished campaign", self.expect(USAGE, "run", contract, "--resume").err)

    def test_one_seed_proposes_the_same_first_round(self):
        contract = self.toy()
        firsts = []
        for _ in range(2):
            self.expect(ENDED, "run", contract, "--budget", 3, "--seed", 7, "--json", "run.json", "--report", "page.html")
            run = self.check_json(self.folder / "run.json")
            firsts.append([a["candidate"] for a in run["attempts"][:3]])
        self.assertEqual(firsts[0], firsts[1])
        self.assertNotEqual(len(firsts[0]), 0)

    def test_json_on_standard_output_is_json_alone(self):
        contract = self.toy()
        outcome = self.expect(ENDED, "run", contract, "--budget", 2, "--strategy", "random", "--json", "-", "--report", "page.html")
        self.assertEqual("random", json.loads(outcome.out)["strategy"])
        (self.folder / "run.json").write_text(outcome.out)
        self.check_json(self.folder / "run.json")

    def test_when_every_proposal_is_rejected_the_exit_is_one(self):
        contract = self.toy(template=WRONG)
        outcome = self.expect(REFUSED, "run", contract, "--budget", 3, "--json", "run.json", "--report", "page.html")
        run = self.check_json(self.folder / "run.json")
        self.assertIsNone(run["incumbent"])
        self.assertEqual({("rejected", "wrong_answer")}, {(a["outcome"], a["reason"]) for a in run["attempts"]})
        self.assertIn("every proposal was rejected", outcome.out)
        self.check_page(self.folder / "page.html")
        self.check_nothing_left()

    def test_an_interrupt_stops_in_order_and_can_be_continued(self):
        contract = self.toy()
        process = self.start("run", contract, "--budget", 4, "--json", "run.json", "--report", "page.html")
        deadline = time.monotonic() + 120
        while not any(e["kind"] == "reference" for e in self.events()) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        outcome = self.finish(process)
        self.assertEqual(INTERRUPTED, outcome.code, outcome)
        run = self.check_json(self.folder / "run.json")
        self.assertEqual("interrupted", run["stopped"]["why"])
        self.assertRegex(outcome.out, rf"continue: assay run .* --resume {run['id']}")
        self.assertNotIn("end", [e["kind"] for e in self.events()])
        self.check_nothing_left()
        self.assertIn("unfinished", self.expect(DONE, "ledger").out)

        before = self.events()
        self.expect(ENDED, "run", contract, "--resume", run["id"], "--json", "run.json", "--report", "page.html")
        resumed = self.check_json(self.folder / "run.json")
        self.assertEqual((run["id"], "budget"), (resumed["id"], resumed["stopped"]["why"]))
        self.assertEqual(before, self.events()[:len(before)], "what was recorded stands")

    def test_a_changed_contract_is_not_continued(self):
        contract = self.toy()
        process = self.start("run", contract, "--budget", 4, "--report", "page.html")
        while not any(e["kind"] == "reference" for e in self.events()) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.assertEqual(INTERRUPTED, self.finish(process).code)
        self.edit(contract / "contract.toml", lambda text: text.replace("max = 256", "max = 128"))
        refused = self.expect(USAGE, "run", contract, "--resume")
        self.assertRegex(refused.err, re.compile("changed since campaign .* start a new campaign", re.S))


if __name__ == "__main__":
    main()
