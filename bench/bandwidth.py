#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What memory bounds, 4096 x 1024 with cold caches: incumbents as a share of the better of copy and triad bandwidth, measured
in the same run.  Usage: bench/bandwidth.sh [SEED ...]     default: seed 1, some 6 minutes"""
import sys

from figures import campaign, interval, keep, table, verdict

WORKLOAD, BUDGET = "rows-4k", 40
BARS = (("add_rmsnorm", 1, 0.90), ("add_rmsnorm", 2, 0.90), ("softmax_rows", 2, 0.80))


def main():
    seeds = [int(seed) for seed in sys.argv[1:]] or [1]
    folder = keep()
    rows, met = [], True
    for contract, threads, bar in BARS:
        for seed in seeds:
            document, seconds = campaign(folder, contract, f"{contract}-{threads}-{seed}", "--budget", BUDGET, "--threads", threads,
                                         "--workload", WORKLOAD, "--seed", seed)
            incumbent = document["incumbent"] or {}
            fraction = (incumbent.get("floor_fraction") or 0) if incumbent.get("examined") else 0
            ends = incumbent.get("floor_interval") or {"low": 0, "high": 0}
            met = met and fraction >= bar
            strongest = next(iter(incumbent.get("decisions") or []), None)
            rows.append([contract, threads, seed, f"{fraction:.3f} [{ends['low'] or 0:.3f} .. {ends['high'] or 0:.3f}]", f">= {bar:.2f}",
                         strongest["against"] if strongest else "-", interval(strongest), f"{seconds:.0f}", "yes" if fraction >= bar else "no"])
    table(["contract", "threads", "seed", "of the bandwidth", "wanted", "strongest", "decision", "seconds", "reached"], rows)
    verdict(met, f"campaigns of {BUDGET} attempts on {WORKLOAD}", folder)


if __name__ == "__main__":
    main()
