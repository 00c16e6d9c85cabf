#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention prefill, T=1024 H=16 KV=8 D=128: defaults, random points, campaigns.  Usage: bench/gqa.sh [SEED ...]"""
import sys

from figures import bench, campaign, interval, keep, table, templates, times, verdict

CONTRACT, WORKLOAD, BUDGET, THREADS = "gqa_attention", "prefill-1k", 22, 2
LIMITS = {"strict": 18.0, "relaxed": 5.5, "openblas": 1.25}
PEAK = 0.75
WANTED = 4  # of five campaigns


def figures(document):
    """{reference: decision} and the fraction of the peak, at the interval's lower end, of an examined incumbent."""
    incumbent = document["incumbent"]
    if not incumbent or not incumbent["examined"]:
        return {}, 0.0, 0.0
    return incumbent["speedup"], incumbent["floor_fraction"] or 0.0, incumbent["floor_interval"]["low"] or 0.0


def reached(speedup, low_fraction):
    ends = all(name in speedup and (speedup[name]["low"] or 0) >= limit and speedup[name]["decision"] == "FASTER" for name, limit in LIMITS.items())
    return ends and low_fraction >= PEAK


def row(name, document, seconds):
    speedup, fraction, low = figures(document)
    return [name, *(interval(speedup.get(r)) for r in LIMITS), f"{fraction:.3f} [{low:.3f} ..]", f"{seconds:.0f}", "yes" if reached(speedup, low) else "no"]


def main():
    seeds = [int(seed) for seed in sys.argv[1:]] or [1, 2, 3, 4, 5]
    folder = keep()
    heads = ["", *(f"against {name} (>= {limit})" for name, limit in LIMITS.items()), f"of the f32 peak (>= {PEAK})", "seconds", "reached"]

    rows = []
    for template in templates(CONTRACT):
        decisions = {}
        for reference in LIMITS:
            report = bench(folder, CONTRACT, f"default-{template}-{reference}", template, "--against", reference, "--workload", WORKLOAD, "--threads", THREADS)
            decisions[reference] = next(d for d in report["decisions"] if d["against"] == reference)
            mine = next(s for arm, s in report["seconds"].items() if arm not in LIMITS)
            fraction = report["floors"][0]["seconds"] / mine if report["floors"] else 0
        rows.append([f"{template}, defaults", *(interval(decisions[r]) for r in LIMITS), f"{fraction:.3f}", "", ""])
    print("1. every template at its defaults")
    table(heads, rows)

    common = ("--budget", BUDGET, "--threads", THREADS)
    print(f"2. the best of {BUDGET} random legal points")
    table(heads, [row(f"random, seed {seeds[0]}", *campaign(folder, CONTRACT, "random", *common, "--seed", seeds[0], "--strategy", "random"))])

    print(f"3. campaigns of {BUDGET} attempts")
    results = [(seed, *campaign(folder, CONTRACT, f"seed-{seed}", *common, "--seed", seed)) for seed in seeds]
    table(heads, [row(f"seed {seed}", document, seconds) for seed, document, seconds in results])
    good = sum(reached(*(lambda f: (f[0], f[2]))(figures(document))) for _, document, _ in results)
    wanted = min(WANTED, len(seeds))
    peers = [r for _, d, _ in results for r in d["references"] if r["name"] == "openblas"]
    fractions = sorted(w["floor_fraction"] or 0 for peer in peers for w in peer["workloads"].values())
    if fractions:
        print(f"the peer itself: {times(fractions[0])} .. {times(fractions[-1])} of the peak (wanted: 0.50), {peers[0]['kernel_family'] or 'kernel family not told'}")
    verdict(good >= wanted, f"{good} of {len(seeds)} campaigns, wanted {wanted}", folder)


if __name__ == "__main__":
    main()
