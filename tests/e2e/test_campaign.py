#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole campaigns on the toy contract."""
import json
import shutil
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
        outcome = self.expect(ENDED, "run", contract, "--budget", 4, "--json", "run.json", "--report", "page.html")
        run = self.check_json(self.folder / "run.json")
        self.assertEqual("toy_scale_add", run["contract"])
        self.assertEqual({"strict", "relaxed"}, {r["name"] for r in run["references"]})
        self.assertEqual(4, run["budget"]["attempts"])
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

        # Proved again: nothing changed since, so nothing is done until it is asked for.
        self.assertIn("current", self.expect(DONE, "recheck", "--contract", contract).out)
        again = self.expect(DONE, "recheck", run["id"], "--all", "--contract", contract, "--json", "recheck.json")
        self.assertRegex(again.out, rf"{run['id']}\s+toy_scale_add\s+{run['incumbent']['attempt']}\s+stands")
        self.assertEqual(["stands"], [r["outcome"] for r in json.loads((self.folder / "recheck.json").read_text())["rechecks"]])
        self.assertIn("proved again", self.expect(DONE, "ledger", "show", run["id"]).out)
        self.assertRegex(self.expect(DONE, "ledger", "check").out, rf"^{len(events) + 1} rows, each as it was written")

        # An ended campaign is not resumed, and says so.
        refused = self.expect(USAGE, "run", contract, "--resume", run["id"])
        self.assertIn("has ended (budget)", refused.err)
        self.assertIn("no unfinished campaign", self.expect(USAGE, "run", contract, "--resume").err)

    def test_when_every_proposal_is_rejected_the_exit_is_one(self):
        contract = self.toy(template=WRONG)
        outcome = self.expect(REFUSED, "run", contract, "--budget", 3, "--strategy", "random", "--json", "-", "--report", "page.html")
        (self.folder / "run.json").write_text(outcome.out)  # on standard output there is JSON and nothing else
        run = self.check_json(self.folder / "run.json")
        self.assertIsNone(run["incumbent"])
        self.assertEqual({("rejected", "wrong_answer")}, {(a["outcome"], a["reason"]) for a in run["attempts"]})
        self.assertEqual(("random", "exhausted" if len(run["attempts"]) < 3 else "budget"), (run["strategy"], run["stopped"]["why"]))
        self.assertIn("every proposal was rejected", self.check_page(self.folder / "page.html"))
        self.check_nothing_left()

    def test_an_interrupt_stops_in_order_and_can_be_continued(self):
        contract = self.toy(template=WRONG)
        process = self.start("run", contract, "--budget", 2, "--json", "run.json", "--report", "page.html")
        while not any(e["kind"] == "reference" for e in self.events()) and process.poll() is None:
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

        # The same name with another content is another contract.
        changed = self.folder / "changed/toy"
        shutil.copytree(contract, changed)
        self.edit(changed / "contract.toml", lambda text: text.replace("max = 256", "max = 128"))
        refused = self.expect(USAGE, "run", changed, "--resume")
        self.assertRegex(refused.err, r"changed since campaign \w+ began; start a new campaign")

        before = self.events()
        self.expect(REFUSED, "run", contract, "--resume", "--json", "run.json", "--report", "page.html")
        resumed = self.check_json(self.folder / "run.json")
        self.assertEqual((run["id"], "budget"), (resumed["id"], resumed["stopped"]["why"]))
        self.assertEqual(before, self.events()[:len(before)], "what was recorded stands")
        self.assertRegex(self.expect(DONE, "ledger", "check").out, r"^\d+ rows, each as it was written")


if __name__ == "__main__":
    main()
