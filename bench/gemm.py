#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm 1024 cubed on one thread: against the f32 peak and against OpenBLAS at its best.  Usage: bench/gemm.sh [SEED]"""
import os
import sys

from figures import bench, campaign, interval, keep, table, verdict

CONTRACT, WORKLOAD, PEAK, BUDGET = "gemm", "square-1k", 0.86, 22


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    folder = keep()
    document, seconds = campaign(folder, CONTRACT, "campaign", "--budget", BUDGET, "--seed", seed, "--threads", 1, "--workload", WORKLOAD)
    incumbent = document["incumbent"]
    if not incumbent:
        verdict(False, f"no examined incumbent ({document['stopped']['why']})", folder)
    fraction = incumbent["floor_fraction"]
    rows = [["campaign", name, interval(decision)] for name, decision in incumbent["speedup"].items()]

    # The library chooses its kernels by itself; a core type may be named instead. Both are tried, the faster one counts.
    slower = []
    for core in ("", "SkylakeX"):
        if core:
            os.environ["OPENBLAS_CORETYPE"] = core
        else:
            os.environ.pop("OPENBLAS_CORETYPE", None)
        report = bench(folder, CONTRACT, f"openblas-{core or 'own-choice'}", "--against", "openblas", "--workload", WORKLOAD, "--threads", 1)
        decision = next(d for d in report["decisions"] if d["against"] == "openblas")
        rows.append([f"bench, OPENBLAS_CORETYPE={core or '(unset)'}", "openblas", interval(decision)])
        if decision["decision"] == "SLOWER":
            slower.append(core or "its own choice")
    os.environ.pop("OPENBLAS_CORETYPE", None)
    table(["", "against", "decision"], rows)
    print(f"of the f32 peak measured in this run: {fraction:.3f} (wanted: {PEAK}), campaign {seconds:.0f} s")
    verdict(fraction >= PEAK and not slower, f"{fraction:.3f} of the peak; " + (f"SLOWER than OpenBLAS with {', '.join(slower)}" if slower else "not SLOWER than OpenBLAS"), folder)


if __name__ == "__main__":
    main()
