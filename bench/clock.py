# SPDX-License-Identifier: Apache-2.0
"""The clock on this machine, live: an arm against its own copy, a planted slowdown, and both beside a hog.

Each part prints what was decided and ends the script with 1 when its bar is not met."""
import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time

import figures

CLAIMS = ("FASTER", "SLOWER")
# The toy's kernel with a loop of known length behind it: a millisecond of one thread that no compiler removes.
SPINNER = """// assay:template spinner
// assay:knob LOOPS = {loops} default {first}
#include <stdint.h>
#include <assay/contract.h>
extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {{
  for (int64_t i = 0; i < B * N; ++i) y[i] = a * x[i] + b;
  for (volatile int64_t spent = 0; spent < LOOPS; spent = spent + 1) {{
  }}
}}
"""
TOY = figures.ROOT / "tests/data/toy/toy_scale_add"


def compare(folder, *arguments):
    """The comparisons of one `assay bench`."""
    out = folder / f"bench-{time.monotonic_ns()}.json"
    figures.run(folder, "bench", *arguments, "--json", out)
    return json.loads(out.read_text())["comparisons"]


def spread(total, names):
    """`total` tries over `names`, as even as it goes."""
    return [(name, total // len(names) + (i < total % len(names))) for i, name in enumerate(names) if i < total]


def tally(comparisons):
    kinds = {}
    for one in comparisons:
        kinds[one["decision"]] = kinds.get(one["decision"], 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def against_itself(folder, tries):
    contracts = sorted(path.parent.name for path in (figures.ROOT / "contracts").glob("*/contract.toml"))
    claims = made = 0
    print("| contract | comparisons with a copy of itself | widest interval | seconds, median |\n|---|---|---|---|")
    for name, count in spread(tries, contracts):
        comparisons = compare(folder, figures.ROOT / "contracts" / name, "--aa", "--repeat", count)
        claims += sum(one["decision"] in CLAIMS for one in comparisons)
        made += len(comparisons)
        widest = max(comparisons, key=lambda one: one["high"] - one["low"])
        seconds = sorted(one["seconds"] for one in comparisons)
        print(f"| {name} | {tally(comparisons)} | {widest['low']:.4f} .. {widest['high']:.4f} | {seconds[len(seconds) // 2]:.1f} |", flush=True)
    print(f"{claims} of {made} claimed a difference that is not there; at most one wanted")
    return claims <= 1


def spinner(folder):
    """A file whose LOOPS take about a millisecond here, and its two settings."""
    def seconds(loops):
        began = time.perf_counter()
        os.system(f"{binary} {loops}")
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as work:
        source, binary = f"{work}/spin.c", f"{work}/spin"
        with open(source, "w", encoding="utf8") as file:
            file.write("#include <stdlib.h>\nint main(int c, char** v) { (void)c; long n = atol(v[1]);"
                       "for (volatile long i = 0; i < n; i = i + 1) {} return 0; }\n")
        if os.system(f"cc -O2 -o {binary} {source}") != 0:
            sys.exit("no C compiler to size the spinner with")
        many = 200_000_000
        rate = many / min(seconds(many) - seconds(0) for _ in range(3))
    plain = int(rate * 1e-3)
    slow = int(plain * 1.03)
    file = folder / "spinner.cpp"
    file.write_text(SPINNER.format(loops=f"{plain}|{slow}", first=plain))
    return file, slow


def slowdown(folder, tries):
    file, slow = spinner(folder)
    comparisons = compare(folder, TOY, file, "--set", f"LOOPS={slow}", "--against", file, "--threads", 1, "--repeat", tries)
    found = sum(one["decision"] == "SLOWER" for one in comparisons)
    longest = max(one["seconds"] for one in comparisons)
    print(f"a kernel of 1 ms that does 3 % more: {tally(comparisons)}; the longest took {longest:.1f} s")
    print(f"found in {found} of {tries}, at least nine in ten within 20 s wanted")
    return found >= 0.9 * tries and longest < 20


def burn(seconds):
    """Busy for `seconds`, idle for as long, until it is killed."""
    while True:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        time.sleep(seconds)


def beside_a_hog(folder, tries):
    file, slow = spinner(folder)
    hog = multiprocessing.Process(target=burn, args=(1.0,), daemon=True)
    hog.start()
    try:
        half = tries // 2
        slower = compare(folder, TOY, file, "--set", f"LOOPS={slow}", "--against", file, "--threads", 1, "--repeat", half)
        same = compare(folder, TOY, file, "--aa", "--threads", 1, "--repeat", tries - half)
    finally:
        hog.kill()
    wrong = sum(one["decision"] in ("FASTER", "SAME") for one in slower) + sum(one["decision"] in CLAIMS for one in same)
    print(f"beside a hog, 3 % more work: {tally(slower)}; the same bytes: {tally(same)}")
    print(f"{wrong} of {tries} wrong, none wanted")
    return wrong == 0


PARTS = {"aa": (against_itself, 60), "slowdown": (slowdown, 10), "hog": (beside_a_hog, 30)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--tries", type=int, help="of each part; default 60, 10 and 30")
    arguments = parser.parse_args()
    folder = figures.keep()
    met = True
    for name in arguments.part or PARTS:
        part, tries = PARTS[name]
        print(f"\n## {name}\n", flush=True)
        met = part(folder, arguments.tries or tries) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
