#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How small a fault does the gate still find? Faults of graded size in a right kernel of softmax_rows, each size
through `assay verify` again and again with fresh secrets. Downward from the largest, until two sizes below the first
that was never caught.
Usage: bench/curve.sh [--runs N] [FAULT...]     default: 20 runs, every fault; ASSAY_BIN: the program, default
build/release/bin/assay
"""
import argparse
import collections
import json
import math
import subprocess
import sys

from figures import ROOT, keep, program, table

BASELINE = ROOT / "contracts/softmax_rows/baseline.cpp"
EXPONENTIAL = "expf(in[c] - maximum)"
SIGNATURE = 'extern "C" void softmax_rows('
# One-sided: the share that is caught is above the lower end with this confidence.
CONFIDENCE = 0.95
RARE = 0.99

HASH = """
static uint64_t Hash(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
"""

# A worker of the team is kept outside of its region, as tests/hostile/returns_early.cpp does: no other thread of a
# candidate's outlives a call. It writes the last element so many microseconds after the call has returned.
LATE = """
#include <atomic>
#include <chrono>
#include <setjmp.h>
#include <omp.h>

static std::atomic<int64_t> posted{0};
static float* posted_to;
static float posted_value;
static jmp_buf outside;
static bool serving = false;

static void Serve() {
  for (int64_t served = 0;;) {
    while (posted.load(std::memory_order_acquire) == served) {
    }
    ++served;
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(SIZE);
    while (std::chrono::steady_clock::now() < until) {
    }
    *posted_to = posted_value;
  }
}

static void Rows(const float* x, float* y, int64_t R, int64_t C) {
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float maximum = in[0];
    for (int64_t c = 1; c < C; ++c)
      if (in[c] > maximum) maximum = in[c];
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) {
      out[c] = expf(in[c] - maximum);
      sum += out[c];
    }
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  if (omp_get_max_threads() > 1 && !serving && setjmp(outside) == 0) {
    serving = true;
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 1) Serve();
      longjmp(outside, 1);
    }
  }
  float* const last = y + R * C - 1;
  const float before = R > 0 ? *last : 0;
  Rows(x, y, R, C);
  if (!serving || R == 0) return;
  posted_value = *last;
  posted_to = last;
  *last = before;
  posted.fetch_add(1, std::memory_order_release);
}
"""


def wrapped(before, after):
    """The right kernel under another name, and one around it that does something more."""
    inner = BASELINE.read_text().replace(SIGNATURE, "static void Right(")
    outer = SIGNATURE + "const float* x, float* y, int64_t R, int64_t C) {\n"
    return inner + before + outer + "  Right(x, y, R, C);\n" + after + "}\n"


def skipped(size, number):
    """One row in `size`, chosen by a hash of the place, the shape and the run, is filled with the row before it."""
    return wrapped(HASH, "  for (int64_t r = 1; r < R; ++r)\n"
                         f"    if (Hash(Hash(Hash({number}ULL * 65537 + R) + C) + r) % {size} == 0)\n"
                         "      for (int64_t c = 0; c < C; ++c) y[r * C + c] = y[(r - 1) * C + c];\n")


def bias(size, _):
    return wrapped("", f"  for (int64_t e = 0; e < R * C; ++e) y[e] *= 1.0F + 0x1p-{size}F;\n")


def bits(size, _):
    cut = ("#include <string.h>\n"
           "static float Cut(float value) {\n  uint32_t word;\n  memcpy(&word, &value, 4);\n"
           f"  word &= ~((1U << (23 - {size})) - 1);\n  memcpy(&value, &word, 4);\n  return value;\n}}\n\n")
    source = BASELINE.read_text().replace(EXPONENTIAL, f"Cut({EXPONENTIAL})")
    return source.replace(SIGNATURE, cut + SIGNATURE)


def late(size, _):
    return "#include <math.h>\n#include <stdint.h>\n" + LATE.replace("SIZE", str(size))


def late_thread(size, _):
    """The same from a thread of its own."""
    return wrapped("#include <chrono>\n#include <thread>\n",
                   "  if (R == 0) return;\n  float* const last = y + R * C - 1;\n  const float value = *last;\n"
                   "  *last = 0;\n  std::thread([=] {\n"
                   f"    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds({size});\n"
                   "    while (std::chrono::steady_clock::now() < until) {\n    }\n    *last = value;\n"
                   "  }).detach();\n")


def hidden(size, _):
    """Threads that are started once and do nothing but sleep."""
    return wrapped("#include <chrono>\n#include <thread>\nstatic int started = 0;\n",
                   f"  for (; started < {size}; ++started)\n"
                   "    std::thread([] { for (;;) std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();\n")


def right(_, __):
    return BASELINE.read_text()


# Name, what a size is, the sizes from the largest fault downward, the source at one. `right` is no fault: what is
# caught of it is a false alarm.
FAULTS = {
    "right": ("-", [0], right),
    "skipped": ("one row in", [4, 64, 1024, 4096, 16384, 65536, 262144], skipped),
    "bias": ("times 1 + 2^-", [8, 16, 19, 20, 21, 22, 23], bias),
    "bits": ("bits kept", [8, 16, 18, 19, 20, 21, 22], bits),
    "late": ("us after return", [10000, 1000, 100, 50, 20, 10, 5, 2, 1, 0], late),
    "late_thread": ("us after return", [10000, 1000, 100, 10, 1, 0], late_thread),
    "hidden": ("threads", [64, 16, 4, 2, 1], hidden),
}


def verdict_of(folder, source):
    """The verdict; a gate that could not finish is asked again, for the machine may be busy."""
    for _ in range(3):
        argv = [str(program()), "verify", str(ROOT / "contracts/softmax_rows"), str(source), "--json", "-"]
        ended = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if ended.returncode in (0, 1):
            return json.loads(ended.stdout)
    sys.exit(f"exit {ended.returncode} on {source}: {ended.stderr[-2000:]}")


def at_least(count, runs, chance):
    """P(X >= count) of a binomial."""
    return sum(math.comb(runs, k) * chance**k * (1 - chance)**(runs - k) for k in range(count, runs + 1))


def lower_end(count, runs):
    """Clopper and Pearson: the share at which so many or more are just improbable."""
    if count == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if at_least(count, runs, middle) > 1 - CONFIDENCE else (middle, high)
    return low


def ask(folder, fault, size, runs):
    """How many of the runs were caught, and where."""
    source, where = folder / f"{fault}-{size}.cpp", collections.Counter()
    for number in range(runs):
        source.write_text(FAULTS[fault][2](size, number))
        verdict = verdict_of(folder, source)
        with (folder / "verdicts.jsonl").open("a") as log:
            log.write(json.dumps({"fault": fault, "size": size, "run": number, "verdict": verdict}) + "\n")
        if verdict["outcome"] == "rejected":
            where[f"{verdict['stage']}: {verdict['check'] or verdict['reason']}"] += 1
    return where


def curve(folder, fault, runs):
    """The rows of one fault, and the smallest size that was caught each time."""
    unit, sizes, _ = FAULTS[fault]
    rows, smallest, whole, missed = [], None, True, 0
    for size in sizes:
        where = ask(folder, fault, size, runs)
        caught = sum(where.values())
        row = [fault, f"{unit} {size}" if unit != "-" else "", f"{caught}/{runs}", f"{lower_end(caught, runs):.3f}",
               ", ".join(f"{name} {count}" for name, count in where.most_common())]
        print("  ".join(row), file=sys.stderr, flush=True)
        rows.append(row)
        whole = whole and caught == runs
        if whole:
            smallest = size
        missed = missed + 1 if caught == 0 or missed else 0
        if missed == 3:
            break
    return rows, smallest


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("faults", nargs="*", metavar="FAULT", help=", ".join(FAULTS))
    chosen = options.parse_args()
    for fault in chosen.faults:
        if fault not in FAULTS:
            sys.exit(f"no fault {fault}; there are: {', '.join(FAULTS)}")
    folder = keep()
    rows, found = [], []
    for fault in chosen.faults or FAULTS:
        more, smallest = curve(folder, fault, chosen.runs)
        rows += more
        if fault != "right":
            found.append(f"{fault}: caught in all runs down to " + (
                f"{FAULTS[fault][0]} {smallest}" if smallest is not None else "no size"))
    table(["fault", "size", "caught", "at least, 95 %", "at which stage and check"], rows)
    print("\n".join(found))
    runs = math.ceil(math.log(1 - CONFIDENCE) / math.log(RARE))
    print(f"To say 99 % of a size with 95 % confidence: {runs} runs without a miss; bench/curve.sh --runs {runs}")
    print(f"files: {folder}")


if __name__ == "__main__":
    main()
