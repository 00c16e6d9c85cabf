#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What memory bounds, 4096 x 1024 with cold caches: incumbents as a share of the better of copy and triad bandwidth, measured
in the same run.  Usage: bench/bandwidth.sh [SEED ...]     default: seed 1, some 6 minutes"""
import sys

from figures import campaign, interval, keep, table, verdict

WORKLOAD, BUDGET = "rows-4k", 40
BARS = (("add_rmsnorm", 1, 0.90), ("add_rmsnorm", 2, 0.90), ("softmax_rows", 2, 0.80))


def of_bandwidth(document):
    """Fraction and interval. A printed floor may know a higher rate (of reading alone, calibrated) that no kernel which writes
    can have; here the better of copy and triad counts."""
    incumbent, rates = document["incumbent"], document["rates"]
    if not incumbent or not incumbent["examined"] or not incumbent["floor_fraction"]:
        return 0.0, 0.0, 0.0
    floor = incumbent["floor"]
    scale = floor["bytes"] / max(rates["copy_bytes"], rates["triad_bytes"]) / floor["seconds"]
    ends = incumbent["floor_interval"]
    return tuple(scale * (value or 0) for value in (incumbent["floor_fraction"], ends["low"], ends["high"]))


def main():
    seeds = [int(seed) for seed in sys.argv[1:]] or [1]
    folder = keep()
    rows, met = [], True
    for contract, threads, bar in BARS:
        for seed in seeds:
            document, seconds = campaign(folder, contract, f"{contract}-{threads}-{seed}", "--budget", BUDGET, "--threads", threads,
                                         "--workload", WORKLOAD, "--seed", seed)
            incumbent = document["incumbent"] or {}
            fraction, low, high = of_bandwidth(document)
            met = met and fraction >= bar
            strongest = next(iter(incumbent.get("decisions") or []), None)
            rows.append([contract, threads, seed, f"{fraction:.3f} [{low:.3f} .. {high:.3f}]", f">= {bar:.2f}",
                         strongest["against"] if strongest else "-", interval(strongest), f"{seconds:.0f}", "yes" if fraction >= bar else "no"])
    table(["contract", "threads", "seed", "of the bandwidth", "wanted", "strongest", "decision", "seconds", "reached"], rows)
    verdict(met, f"campaigns of {BUDGET} attempts on {WORKLOAD}", folder)


if __name__ == "__main__":
    main()
