#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attempts a minute of softmax_rows, compilation included.  Usage: bench/screening.sh [SEED ...]"""
import statistics
import sys

from figures import campaign, keep, table, verdict

CONTRACT, BUDGET, WANTED = "softmax_rows", 22, 12.0


def main():
    seeds = [int(seed) for seed in sys.argv[1:]] or [1, 2, 3]
    folder = keep()
    # The admission belongs to the contract, not to an attempt; it is in the ledger afterwards.
    campaign(folder, CONTRACT, "warm-up", "--budget", 1, "--seed", 99)
    rows, rates = [], []
    for seed in seeds:
        document, _ = campaign(folder, CONTRACT, f"seed-{seed}", "--budget", BUDGET, "--seed", seed)
        by_stage = document["seconds_by_stage"]
        # From source to an estimate: builds (several at once), screening, one restart group.
        seconds = sum(by_stage.get(stage, 0) for stage in ("build", "screen", "estimate"))
        tried = sum(a["duplicate_of"] is None for a in document["attempts"])
        rates.append(60 * tried / seconds)
        rows.append([f"seed {seed}", tried, *(f"{by_stage.get(s, 0):.1f}" for s in ("build", "screen", "estimate", "promote", "crown")), f"{rates[-1]:.1f}"])
    table(["", "attempts", "build s", "screen s", "estimate s", "promote s", "crown s", f"a minute (>= {WANTED:.0f})"], rows)
    print(f"median {statistics.median(rates):.1f}, from {min(rates):.1f} to {max(rates):.1f} attempts a minute")
    verdict(min(rates) >= WANTED, f"at least {min(rates):.1f} attempts a minute", folder)


if __name__ == "__main__":
    main()
