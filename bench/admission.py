#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is each contract admitted every time, by how much does it tell right from wrong, and which narrow formats does it refuse?

A check draws its shapes and values anew; a contract that is admitted by luck shows in a few runs. Ends with 0 when every
contract was admitted every time.
Usage: bench/admission.sh [--runs N] [CONTRACT ...]     default: 4 runs, all contracts; ASSAY_BIN: the program
"""
import argparse
import json
import re

from figures import ROOT, keep, run, table, verdict

# What has to be refused wherever a contract has the place for it, by the name of the mutant. "narrow bf16 x" is an
# operand; of the accumulator, functions and output the name says so.
FAULTS = {
    "tf32": "narrow tf32",
    "bf16 x2": "two bf16",
    "bf16": "narrow bf16 (?!accumulator|functions|output)",
    "acc.": "narrow bf16 accumulator",
    "2^-17": "functions good to",
    "trunc.": "truncation|rounds toward zero",
    "1 pass": "one[ _-]pass",
}


def check(folder, contract, number):
    path = folder / f"{contract}-{number}.json"
    run(folder, "contract", "check", ROOT / "contracts" / contract, "--json", path, codes=(0, 1))
    return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("contracts", nargs="*", metavar="CONTRACT")
    parser.add_argument("--runs", type=int, default=4)
    chosen = parser.parse_args()
    folder = keep()
    rows, complaints, right = [], [], True
    for name in chosen.contracts or sorted(path.parent.name for path in ROOT.glob("contracts/*/contract.toml")):
        verdicts = [check(folder, name, number) for number in range(chosen.runs)]
        admitted = sum(v["admitted"] for v in verdicts)
        right = right and admitted == chosen.runs
        complaints += sorted({f"{name}: {complaint}" for v in verdicts for complaint in v["complaints"]})
        cells = []
        for words in FAULTS.values():
            asked = [case for v in verdicts for case in v["cases"] if re.match(f"mutant .*({words})", case["name"])]
            refused = sum(case["as_expected"] for case in asked)
            right = right and refused == len(asked)
            cells.append(f"{refused}/{len(asked)}" if asked else "-")
        mutants = [v["smallest_mutant"] for v in verdicts if v["smallest_mutant"] is not None]
        rows.append([name, f"{admitted}/{chosen.runs}", f"{min(mutants):.3g}" if mutants else "-",
                     f"{max(v['largest_honest'] or 0 for v in verdicts):.2f}",
                     f"{sorted(v['seconds'] for v in verdicts)[len(verdicts) // 2]:.0f}", *cells])
    print("Refused of asked, by what is narrowed; smallest mutant and largest honest error in units of the limit.\n")
    table(["contract", "admitted", "mutant", "honest", "s", *FAULTS], rows)
    print("\n".join(complaints))
    verdict(right, "every contract admitted every time", folder)


if __name__ == "__main__":
    main()
