#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is each contract admitted every time, by how much does it tell right from wrong, and which narrow formats does it refuse?

A check draws its shapes and values anew; a contract that is admitted by luck shows in a few runs. Ends with 0 when every
contract was admitted every time.
Usage: bench/admission.sh [--runs N] [CONTRACT ...]     default: 4 runs, all contracts; ASSAY_BIN: the program
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What has to be refused wherever a contract has the place for it, by the words of the mutant's name.
FAULTS = {
    "tf32": ("narrow tf32",),
    "bf16 x2": ("two bf16",),
    "bf16": (),  # see is_fault
    "acc.": ("narrow bf16 accumulator",),
    "2^-17": ("functions good to",),
    "trunc.": ("truncation", "rounds toward zero"),
    "1 pass": ("one pass", "one-pass", "one_pass"),
}
# "narrow bf16 x" is an operand; of the accumulator, functions and output the name says so.
NO_OPERAND = ("accumulator", "functions", "output")


def is_fault(fault, name):
    if fault == "bf16":
        return name.startswith("mutant narrow bf16") and not name.endswith(NO_OPERAND)
    return name.startswith("mutant") and any(word in name for word in FAULTS[fault])


def check(program, contract):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "admission.json"
        ended = subprocess.run([program, "contract", "check", contract, "--json", path], cwd=ROOT, capture_output=True,
                               text=True)
        if not path.is_file():
            sys.exit(f"{contract}: no verdict\n{ended.stdout}{ended.stderr}")
        return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("contracts", nargs="*", metavar="CONTRACT")
    parser.add_argument("--runs", type=int, default=4)
    chosen = parser.parse_args()
    program = os.environ.get("ASSAY_BIN", str(ROOT / "build/release/bin/assay"))
    if not os.access(program, os.X_OK):
        sys.exit(f"no program at {program}; build it, or set ASSAY_BIN")
    names = chosen.contracts or sorted(path.parent.name for path in ROOT.glob("contracts/*/contract.toml"))
    print("Refused of asked, by what is narrowed; smallest mutant and largest honest error in units of the limit.\n")
    print("| contract | admitted | mutant | honest | s | " + " | ".join(FAULTS) + " |")
    print("|---" * (5 + len(FAULTS)) + "|", flush=True)
    right = True
    for name in names:
        verdicts = [check(program, name) for _ in range(chosen.runs)]
        admitted = sum(v["admitted"] for v in verdicts)
        right = right and admitted == chosen.runs
        cells = []
        for fault in FAULTS:
            asked = [case for v in verdicts for case in v["cases"] if is_fault(fault, case["name"])]
            refused = sum(case["as_expected"] for case in asked)
            right = right and refused == len(asked)
            cells.append(f"{refused}/{len(asked)}" if asked else "–")
        mutants = [v["smallest_mutant"] for v in verdicts if v["smallest_mutant"] is not None]
        smallest = f"{min(mutants):.3g}" if mutants else "–"
        honest = max(v["largest_honest"] or 0 for v in verdicts)
        seconds = sorted(v["seconds"] for v in verdicts)[len(verdicts) // 2]
        print(f"| {name} | {admitted}/{chosen.runs} | {smallest} | {honest:.2f} | {seconds:.0f} | " + " | ".join(cells) + " |",
              flush=True)
        for complaint in {c for v in verdicts for c in v["complaints"]}:
            print(f"  {name}: {complaint}", flush=True)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
