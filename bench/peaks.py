#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peaks and bandwidths of `assay calibrate` against compiled loops under Google Benchmark, in the same minute.
Usage: bench/peaks.sh [THREADS]     Debian: apt-get install libbenchmark-dev

The two run by turns, three times; what is compared is the best of each turn, and the middle one of the three ratios
counts. Ends with 0 when all are within 5 %.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from figures import ROOT, keep, run, table, verdict

ROUNDS = 3
WITHIN = 0.05


def independent():
    """The other program: ASSAY_PEAKS, else built now in a build folder of its own."""
    if "ASSAY_PEAKS" in os.environ:
        return pathlib.Path(os.environ["ASSAY_PEAKS"]).resolve()
    build = ROOT / "build/release"
    for command in (["cmake", "--preset", "release"], ["cmake", "--build", str(build), "--target", "peaks"]):
        ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ended.returncode != 0:
            sys.exit(f"{' '.join(command)} failed; is libbenchmark-dev installed?\n{ended.stdout[-2000:]}")
    return build / "bin/peaks"


def calibrated(folder, threads):
    """{(what, threads): rate} and {level: bytes of one thread}."""
    path = folder / "calibration.json"
    run(folder, "calibrate", "--force", "--threads", threads, "--json", path, codes=(0,))
    document = json.loads(path.read_text())
    rates = {(f"peak/{p['element']}", p["threads"]): p["per_second"]["best"] for p in document["peaks"]}
    levels = {}
    for stream in document["streams"]:
        name = f"{stream['level']}/{stream['access']}{'_around' if stream['around'] else ''}"
        rates[name, stream["threads"]] = stream["bytes_per_second"]["best"]
        levels.setdefault(stream["level"], {})[stream["threads"]] = stream["bytes"] // stream["threads"]
    return rates, levels


def compiled(program, levels, threads):
    """The same keys; one run for each number of threads, because a thread's share of memory differs."""
    rates = {}
    for count in sorted({1, threads}):
        sizes = [f"{level}:{of[count]}" for level, of in levels.items() if count in of]
        ended = subprocess.run([program, "--benchmark_format=json", *sizes, f"--threads:{count}"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=True)
        for row in json.loads(ended.stdout)["benchmarks"]:
            if row.get("aggregate_name") == "best" and row["threads"] == count:
                rates[re.match(r"\w+/\w+", row["run_name"]).group(0), count] = row["items_per_second"]
    return rates


def main():
    folder = keep()
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else len(os.sched_getaffinity(0))
    program = independent()
    ours, theirs = [], []
    for _ in range(ROUNDS):
        rates, levels = calibrated(folder, threads)
        ours.append(rates)
        theirs.append(compiled(program, levels, threads))
    rows, outside = [], []
    for key in ours[0]:
        if not all(key in rates for rates in theirs):
            rows.append([key[0], key[1], f"{ours[0][key] / 1e9:.1f}", "-", "-", "not compiled here"])
            continue
        ratios = [a[key] / b[key] for a, b in zip(ours, theirs)]
        middle = statistics.median(ratios)
        inside = abs(middle - 1) <= WITHIN
        outside += [] if inside else [f"{key[0]} with {key[1]}"]
        rows.append([key[0], key[1], f"{statistics.median(r[key] for r in ours) / 1e9:.1f}", f"{statistics.median(r[key] for r in theirs) / 1e9:.1f}",
                     f"{middle:.3f}", f"{'yes' if inside else 'NO'} ({min(ratios):.3f} .. {max(ratios):.3f})"])
    table(["figure", "threads", "calibrate G/s", "compiled G/s", "ratio", "within 5 %"], rows)
    verdict(not outside, f"{len(rows) - len(outside)} of {len(rows)} within 5 %" + (f"; not {', '.join(outside)}" if outside else ""), folder)


if __name__ == "__main__":
    main()
