# SPDX-License-Identifier: Apache-2.0
"""The clock on this machine, live: an arm against its own copy, a planted slowdown, and both beside a hog.

Each part prints what was decided and ends the script with 1 when its bar is not met."""
import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

import figures

CLAIMS = ("FASTER", "SLOWER")
# The toy's kernel with a chain of known length behind it, on each thread of the team. A chain of multiplications takes the same
# cycles wherever it lies in memory; a loop over a volatile variable takes one of two times, as the stack happens to lie.
CHAIN = """  uint64_t spent = {first};
  for (int64_t i = 0; i < {count}; ++i) spent = spent * 6364136223846793005u + 1;
"""
SPINNER = """// assay:template spinner
// assay:knob LOOPS = {loops} default {first}
// assay:flag -O2
#include <assay/contract.h>
#include <stdint.h>
extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {{
#pragma omp parallel for
  for (int64_t row = 0; row < B; ++row) {{
    for (int64_t i = row * N; i < (row + 1) * N; ++i) y[i] = a * x[i] + b;
{chain}    if (spent == 42) y[row * N] = 0;
  }}
}}
"""
# The same shared object called again and again in one process: what anybody else would measure. As many calls between two looks
# at the clock as a unit has, so that an interrupt counts here as there; and all on one line of memory, because a unit has other
# contents for each call and the two would else differ by what caches do.
LOOP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static int64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static int less(const void* a, const void* b) { int64_t x = *(const int64_t*)a, y = *(const int64_t*)b; return (x > y) - (x < y); }
int main(int count, char** words) {
  void* object = dlopen(words[1], RTLD_NOW);
  if (count < 3 || !object) { fprintf(stderr, "%s\\n", dlerror()); return 1; }
  void (*kernel)(const float*, float*, int64_t, int64_t, float, float) =
      (void (*)(const float*, float*, int64_t, int64_t, float, float))dlsym(object, "toy_scale_add");
  float *x = aligned_alloc(64, 4096), *y = aligned_alloc(64, 4096);
  for (int i = 0; i < 1024; ++i) { x[i] = 1; y[i] = 0; }
  enum { kTimes = 1500 };
  static int64_t taken[kTimes];
  const int calls = atoi(words[2]);
  for (int i = 0; i < kTimes; ++i) {
    const int64_t start = now();
    for (int call = 0; call < calls; ++call) kernel(x, y, 2, 1, 2, 1);
    taken[i] = now() - start;
  }
  qsort(taken, kTimes, sizeof taken[0], less);
  printf("%f\\n", (double)taken[kTimes / 2] / calls);
  return 0;
}
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
        contract = figures.ROOT / "contracts" / name
        headline = tomllib.loads((contract / "contract.toml").read_text())["workload"]
        comparisons = compare(folder, contract, "--aa", "--workload", next(iter(headline)), "--repeat", count)
        claims += sum(one["decision"] in CLAIMS for one in comparisons)
        made += len(comparisons)
        widest = max(comparisons, key=lambda one: one["high"] - one["low"])
        seconds = sorted(one["seconds"] for one in comparisons)
        print(f"| {name} | {tally(comparisons)} | {widest['low']:.4f} .. {widest['high']:.4f} | {seconds[len(seconds) // 2]:.1f} |", flush=True)
    print(f"{claims} of {made} claimed a difference that is not there; at most one wanted")
    return claims <= 1


def spinner(folder, seconds_a_call=1e-3, threads=1):
    """A file whose LOOPS take about so long here, and a setting that takes 3 % longer."""
    def took(loops):
        began = time.perf_counter()
        os.system(f"{binary} {loops}")
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as work:
        source, binary = f"{work}/spin.c", f"{work}/spin"
        with open(source, "w", encoding="utf8") as file:
            file.write("#include <stdint.h>\n#include <stdlib.h>\nint main(int c, char** v) {\n  const long n = atol(v[1]);\n"
                       + CHAIN.format(first="c", count="n") + "return spent == 42; }\n")
        if os.system(f"cc -O2 -o {binary} {source}") != 0:
            sys.exit("no C compiler to size the spinner with")
        many = 100_000_000
        rate = many / min(took(many) - took(0) for _ in range(3))
    plain = int(rate * seconds_a_call * threads) // 64 * 64
    slow = int(plain * 1.03) // 64 * 64
    file = folder / "spinner.cpp"
    file.write_text(SPINNER.format(loops=f"{plain}|{slow}", first=plain, chain=CHAIN.format(first="(uint64_t)row", count="LOOPS / B")))
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


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def in_one_process(program, artifact, calls, threads):
    """Nanoseconds a call of the loop."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "ACTIVE", "OMP_PROC_BIND": "TRUE"}
    ran = subprocess.run([program, artifact, str(calls)], env=environment, capture_output=True, text=True, check=True)
    return float(ran.stdout)


def inside(folder, tries):
    """A unit's value beside an in-process loop over the same bytes, which runs before and after it: the clock of a machine
    that is shared wanders by more than what is looked for. Medians over the tries, and how far these lie apart."""
    met = True
    toy = shutil.copytree(TOY, folder / TOY.name, dirs_exist_ok=True)
    text = (toy / "contract.toml").read_text()
    (toy / "contract.toml").write_text(text.replace("axes = { B = 64, N = 1024 }", "axes = { B = 2, N = 1 }"))
    with tempfile.TemporaryDirectory() as work:
        program = f"{work}/loop"
        with open(f"{program}.c", "w", encoding="utf8") as file:
            file.write(LOOP)
        if os.system(f"cc -O2 -o {program} {program}.c -ldl") != 0:
            sys.exit("no C compiler for the in-process loop")
        # With all cores a kernel of 100 us is told without a bar: fresh contents for each call, which come from another core's
        # cache, are a microsecond by themselves, and the wake-up of the team after a stop as much again.
        for threads, seconds, bar in ((1, 100e-6, 2000), (os.cpu_count(), 1e-3, 10000), (os.cpu_count(), 100e-6, None)):
            file, _ = spinner(folder, seconds, threads)
            artifact, calls, loop, beyond = None, 0, None, []
            for number in range(tries + 1):
                out = folder / "inside.json"
                before = loop
                figures.run(folder, "bench", toy, file, "--aa", "--threads", threads, "--json", out)
                report = json.loads(out.read_text())
                # Not those of the control, which does 3 % more.
                shared = [u for u in report["units"] if not u[7] and not u[8] and u[1] != report["design"]["planted"]]
                artifact = artifact or folder / f".assay/cache/objects/{report['arms'][0]['file_hash']}.so"
                calls = calls or median([u[3] for u in shared])
                loop = in_one_process(program, artifact, calls, threads)
                # The first only tells what to loop over.
                if number > 0:
                    around = (before + loop) / 2
                    beyond.append((median([(u[4] - u[5]) / u[3] for u in shared]) - around, around))
            excess, around = median([one[0] for one in beyond]), median([one[1] for one in beyond])
            apart = sorted(one[0] / 1e3 for one in beyond)
            few = bar is None or abs(excess) < bar
            met = met and few
            print(f"{threads} thread{'s' if threads > 1 else ''}: a unit says {excess / 1e3:+.2f} us a call more than a loop in one "
                  f"process ({around / 1e3:.2f} us), {100 * excess / around:+.2f} %; single tries {apart[0]:+.2f} .. {apart[-1]:+.2f} us; "
                  f"{'told only' if bar is None else 'met' if few else 'NOT met'}", flush=True)
    return met


PARTS = {"aa": (against_itself, 60), "slowdown": (slowdown, 10), "hog": (beside_a_hog, 30), "inside": (inside, 9)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--tries", type=int, help="of each part; default 60, 10, 30 and 9")
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
