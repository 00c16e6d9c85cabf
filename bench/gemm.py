#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm 1024 cubed on one thread: against the f32 peak and against OpenBLAS at its best.  Usage: bench/gemm.sh [SEED]"""
import sys

from figures import campaign, interval, keep, table, verdict

CONTRACT, WORKLOAD, PEAK, BUDGET = "gemm", "square-1k", 0.86, 22


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    folder = keep()
    document, seconds = campaign(folder, CONTRACT, "campaign", "--budget", BUDGET, "--seed", seed, "--threads", 1, "--workload", WORKLOAD)
    incumbent = document["incumbent"]
    if not incumbent:
        verdict(False, f"no examined incumbent ({document['stopped']['why']})", folder)
    fraction = incumbent["floor_fraction"]
    # The library chooses its kernels by itself (peer openblas); AVX-512 ones may be named instead (openblas_avx512).
    kinds = {r["name"]: r["kernel_family"] for r in document["references"]}
    rows = [[name, kinds.get(name) or "", decision["decision"], interval(decision)] for name, decision in incumbent["speedup"].items()]
    slower = [name for name, d in incumbent["speedup"].items() if name.startswith("openblas") and d["decision"] == "SLOWER"]
    table(["against", "what it says of itself", "decision", ""], rows)
    print(f"of the f32 peak measured in this run: {fraction:.3f} (wanted: {PEAK}), campaign {seconds:.0f} s")
    verdict(fraction >= PEAK and not slower, f"{fraction:.3f} of the peak; " + (f"SLOWER than {', '.join(slower)}" if slower else "not SLOWER than OpenBLAS"), folder)


if __name__ == "__main__":
    main()
