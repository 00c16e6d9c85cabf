#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds that the gate costs: screen, verify and exam of a campaign of gqa_attention, and check by check.
Usage: bench/cost.sh [CAMPAIGN.json ...]     without files it runs one campaign of 22 attempts
"""
import collections
import json
import pathlib
import statistics
import sys

from figures import campaign, keep, table, verdict

CONTRACT = "gqa_attention"
SCREEN = ("policy", "smoke", "hidden shapes, at a glance", "one call at the timed shape")
VERIFY = ("hidden shapes", "value regimes", "memory", "history", "determinism", "relations", "timed shapes")
WANTED = {"screen": 0.3, "verify": 1.5, "exam": 15.0}


def costs(document, by_stage, by_check):
    """An attempt's checks come in the order of the stages; the exam asks those of the first two once more."""
    first = len(SCREEN) + len(VERIFY)
    for attempt in document["attempts"]:
        checks = [(check["name"], check["seconds"]) for check in attempt.get("checks", [])]
        if [name for name, _ in checks[:len(SCREEN)]] != list(SCREEN):
            continue
        parts = {"screen": checks[:len(SCREEN)]}
        if [name for name, _ in checks[len(SCREEN):first]] == list(VERIFY):
            parts["verify"] = checks[len(SCREEN):first]
        if len(checks) > first + len(SCREEN) + len(VERIFY):
            parts["exam"] = checks[first:]
        for stage, members in parts.items():
            by_stage[stage].append(sum(seconds for _, seconds in members))
            for name, seconds in members:
                by_check[stage, name].append(seconds)


def main():
    folder = keep()
    documents = [json.loads(pathlib.Path(name).read_text()) for name in sys.argv[1:]]
    if not documents:
        documents = [campaign(folder, CONTRACT, "cost", "--budget", 22, "--seed", 1)[0]]
    by_stage, by_check = collections.defaultdict(list), collections.defaultdict(list)
    for document in documents:
        costs(document, by_stage, by_check)
    table(["stage", "check", "asked", "median s", "largest s"],
          [[stage, name, len(seconds), f"{statistics.median(seconds):.3f}", f"{max(seconds):.3f}"]
           for (stage, name), seconds in by_check.items()])
    rows, reached = [], True
    for stage, wanted in WANTED.items():
        median = statistics.median(by_stage[stage]) if by_stage[stage] else float("inf")
        reached = reached and median < wanted
        rows.append([stage, len(by_stage[stage]), f"{median:.2f}", f"{wanted}"])
    table(["stage", "candidates", "median s", "wanted below"], rows)
    verdict(reached, ", ".join(f"{row[0]} {row[2]} s" for row in rows), folder)


if __name__ == "__main__":
    main()
