#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the supervisor at random instants: nothing finished is lost, nothing recorded is repeated, the campaign ends.

ASSAY_FULL=1 draws fifty instants, else four. ASSAY_KILL_SEED repeats a draw. ASSAY_KILL_CONTRACT, ASSAY_KILL_BUDGET and
ASSAY_KILLS put another campaign under the same hammer (bench/kill.sh).
"""
import collections
import json
import os
import random
import re
import signal
import sys
import threading
import time

from support import DONE, ENDED, FULL, LIMIT, TOY, USAGE, Workspace, main

CONTRACT = os.environ.get("ASSAY_KILL_CONTRACT", str(TOY))
BUDGET = int(os.environ.get("ASSAY_KILL_BUDGET", "5"))
KILLS = int(os.environ.get("ASSAY_KILLS", "50" if FULL else "4"))
KILLS_PER_CAMPAIGN = 3 if KILLS > 6 else 6
SEED = 3
ROUND = 4  # proposals of one round see the same outcomes


class Kill(Workspace):
    def setUp(self):
        super().setUp()
        if CONTRACT == str(TOY):
            self.admitted()
        else:
            self.expect(DONE, "contract", "check", CONTRACT)  # an admission is no part of a campaign
        self.draw = os.environ.get("ASSAY_KILL_SEED", str(random.SystemRandom().randrange(1 << 32)))
        self.random = random.Random(self.draw)
        print(f"ASSAY_KILL_SEED={self.draw}", file=sys.stderr)
        self.seen = set()

    def begin(self, *more):
        return self.start("run", CONTRACT, *more, "--json", "run.json", "--report", "page.html")

    def fresh(self):
        return self.begin("--budget", BUDGET, "--seed", SEED)

    def candidates(self, campaign):
        firsts = {}
        for event in self.events(campaign):
            if event["kind"] == "attempt":
                firsts.setdefault(event["ordinal"], json.loads(event["body"])["candidate"])
        return [firsts[ordinal] for ordinal in sorted(firsts)]

    def instant(self, seconds):
        """A function that says when to strike: a random time, or a random row and a moment after it."""
        if seconds is not None:
            strike = time.monotonic() + self.random.uniform(0, seconds)
            return lambda: time.monotonic() >= strike
        rows, moment, seen = len(self.events()) + self.random.randrange(4), self.random.uniform(0, 1.5), []  # a campaign has some seventeen rows

        def due():
            if not seen and len(self.events()) >= rows:
                seen.append(time.monotonic())
            return bool(seen) and time.monotonic() >= seen[0] + moment

        return due

    def kill_when(self, process, due):
        """Kills the supervisor alone. What it had announced as finished comes back, or None when it ended first."""
        deadline = time.monotonic() + 10 * LIMIT
        pieces = collections.defaultdict(bytes)
        readers = [threading.Thread(target=lambda pipe=pipe: pieces.update({pipe: pipe.read()})) for pipe in (process.stdout, process.stderr)]
        for reader in readers:
            reader.start()
        while process.poll() is None and not due():
            self.assertLess(time.monotonic(), deadline, "neither an end nor the row to strike at")
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        for reader in readers:
            reader.join()
        err = pieces[process.stderr].decode(errors="replace")
        for pipe in (process.stdout, process.stderr):
            pipe.close()
        if process.returncode != -signal.SIGKILL:
            self.assertIn(process.returncode, ENDED, err)
            return None
        return {int(number) for number in re.findall(r"^\[ *(\d+)/", err, re.M)}

    def first_round(self):
        """What a campaign of this seed that nobody killed in its first round proposes there."""
        process, before = self.fresh(), {e["campaign"] for e in self.events()}
        wanted = min(ROUND, BUDGET)
        fresh = lambda: {e["campaign"] for e in self.events()} - before
        self.kill_when(process, lambda: any(len(self.candidates(name)) >= wanted for name in fresh()))
        return self.candidates(fresh().pop())[:wanted]

    def uninterrupted(self):
        """What a whole campaign proposes first, and how long it takes."""
        started = time.monotonic()
        outcome = self.finish(self.fresh(), limit=10 * LIMIT)
        self.assertIn(outcome.code, ENDED, outcome)
        seconds = time.monotonic() - started
        run = json.loads((self.folder / "run.json").read_text())
        return self.candidates(run["id"])[:min(ROUND, BUDGET)], seconds

    def check_nothing_lost(self, campaign, announced, before):
        events = self.events(campaign)
        self.assertEqual(before, events[:len(before)], "a row that was written stays as it was")
        recorded = {e["ordinal"] for e in events if e["kind"] == "attempt"}
        self.assertLessEqual(announced, recorded, "what was announced as finished is in the ledger")
        return events

    def check_nothing_repeated(self, campaign):
        events = self.events(campaign)
        counts = collections.Counter((e["kind"], e["ordinal"]) for e in events if e["kind"] in ("ranking", "end", "decision"))
        self.assertEqual([], [key for key, count in counts.items() if count != 1])
        references = [json.loads(e["body"])["name"] for e in events if e["kind"] == "reference"]
        self.assertEqual(len(references), len(set(references)), references)
        revisions = collections.defaultdict(list)
        for event in events:
            if event["kind"] == "attempt":
                revisions[event["ordinal"]].append(json.loads(event["body"]))
        self.assertEqual(list(range(1, len(revisions) + 1)), sorted(revisions))
        order = {"none": 0, "screened": 1, "verified": 2, "examined": 3}
        for ordinal, rows in revisions.items():
            self.assertEqual(1, len({row["candidate"] for row in rows}), f"attempt {ordinal} is one candidate")
            states = [(row["outcome"], row["trust"], tuple(row["notes"])) for row in rows]
            self.assertEqual(len(states), len(set(states)), f"attempt {ordinal}: a step was recorded twice: {states}")
            trust = [order[row["trust"]] for row in rows]
            self.assertEqual(trust, sorted(trust), f"attempt {ordinal} loses no trust by being resumed")
            builds = {row["artifact"]["id"] for row in rows if "artifact" in row}
            self.assertLessEqual(len(builds), 1, f"attempt {ordinal} was built once")
        firsts = [rows[0]["candidate"] for _, rows in sorted(revisions.items())]
        self.assertEqual(len(firsts), len(set(firsts)), "no candidate is tried twice")
        spent = [o for o, rows in revisions.items() if "duplicate_of" not in rows[-1]]
        self.assertLessEqual(len(spent), BUDGET)
        # Units of an attempt belong to one revision and level.
        database = self.ledger()
        units = database.execute("SELECT ordinal, revision, level FROM units WHERE campaign = ?", (campaign,)).fetchall()
        database.close()
        self.assertEqual(len(units), len({tuple(unit) for unit in units}))

    def one_campaign(self, expected, seconds, kills):
        """Kills one campaign a few times, lets it end and looks; the number of kills that met it alive comes back."""
        before = {e["campaign"] for e in self.events()}
        process, campaign, known, done = self.fresh(), None, [], 0
        while done < kills:
            announced = self.kill_when(process, self.instant(seconds))
            if announced is None:
                break
            done += 1
            self.check_no_process_left()
            campaign = campaign or self.new_campaign(before)
            if campaign is None:  # killed before there was anything to lose
                self.assertEqual(set(), announced)
                process = self.fresh()
                continue
            known = self.check_nothing_lost(campaign, announced, known)
            self.expect(DONE, "ledger", "check")
            if known and known[-1]["kind"] == "end":
                self.assertIn("has ended", self.expect(USAGE, "run", CONTRACT, "--resume", campaign).err)
                self.check_nothing_repeated(campaign)
                return done
            process = self.begin("--resume", campaign)
        if process.returncode is None:
            outcome = self.finish(process, limit=10 * LIMIT)
            self.assertIn(outcome.code, ENDED, outcome)
        campaign = campaign or self.new_campaign(before)
        run = self.check_json(self.folder / "run.json")
        self.assertEqual((campaign, "budget"), (run["id"], run["stopped"]["why"]))
        self.assertEqual(known, self.events(campaign)[:len(known)])
        self.check_nothing_repeated(campaign)
        self.assertEqual(expected, self.candidates(campaign)[:len(expected)], "the same proposals as without a kill")
        self.check_page(self.folder / "page.html")
        return done

    def new_campaign(self, before):
        if not (self.folder / ".assay/ledger.db").exists():
            return None
        database = self.ledger()
        try:
            ids = [row["id"] for row in database.execute("SELECT id FROM campaigns ORDER BY rowid")]
        finally:
            database.close()
        fresh = [name for name in ids if name not in before and name not in self.seen]
        self.seen.update(fresh)
        return fresh[-1] if fresh else None

    def check_no_process_left(self):
        folders = list(self.temporary.iterdir())  # a killed supervisor cannot clear away; the next one does
        for folder in folders:
            self.assertRegex(folder.name, r"^assay-")
        moved, self.temporary = self.temporary, self.base / "home"
        self.check_nothing_left()
        self.temporary = moved

    def test_a_campaign_killed_at_any_instant_ends_as_if_it_had_not_been(self):
        expected, seconds = self.uninterrupted() if KILLS > 6 else (self.first_round(), None)
        database = self.ledger()
        self.seen.update(row["id"] for row in database.execute("SELECT id FROM campaigns"))
        database.close()
        done = 0
        for _ in range(3 * KILLS):  # a campaign that ends before its first kill costs nothing but time
            if done >= KILLS:
                break
            done += self.one_campaign(expected, seconds, min(KILLS_PER_CAMPAIGN, KILLS - done))
        self.assertGreaterEqual(done, KILLS)
        print(f"{done} kills", file=sys.stderr)
        # The next build clears what the killed ones could not.
        source = (TOY / "honest/fused.cpp").read_text()
        (self.folder / "fresh.cpp").write_text(source + f"// {self.draw}\nstatic const char kDraw[] = \"{self.draw}\";\nconst void* Keep() {{ return kDraw; }}\n")
        self.assay("verify", TOY, "fresh.cpp", "--stop-after", "build")
        self.check_nothing_left()


if __name__ == "__main__":
    main()
