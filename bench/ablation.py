#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is each check for? Every hostile file once through the whole gate, then again without the check that refused it:
refused by another one later, or through. Cross-cutting refusals (walls, memory guards, machine state, time limit, policy
of the build) have no check that could be left out and are listed as they are.
Usage: bench/ablation.sh [FOLDER]     default: tests/hostile; ASSAY_BIN: the program, default build/release/bin/assay
BENCH_OUT: where the runs' JSON stays; a run that is there already is not repeated.
"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys

from figures import ROOT, keep, program, run, table


def redteam(folder, corpus, name, *more):
    path = folder / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    run(folder, "redteam", corpus, "--json", path, *more, codes=(0, 1, 5))
    return json.loads(path.read_text())


def names_of_checks(folder, corpus):
    """The program lists them when it is asked to leave out one that is not there."""
    argv = [str(program()), "redteam", str(corpus), "--without", "?"]
    ended = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = " ".join(ended.stderr.split())
    if ended.returncode != 4 or "there are: " not in said:
        sys.exit(f"exit {ended.returncode}: {ended.stderr}")
    return said.split("there are: ", 1)[1].split("; ")


def part_of(corpus, files, folder):
    """The files and their honest neighbours, laid out as in the corpus."""
    shutil.rmtree(folder, ignore_errors=True)
    for file in files:
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus / file, target)
        for line in (corpus / file).read_text(errors="replace").splitlines()[:20]:
            if "assay:note" in line and "twin:" in line:
                twin = line.split("twin:", 1)[1].split(",")[0].strip()
                shutil.copy(corpus / pathlib.Path(file).parent / twin, target.parent / twin)
    return folder


def main():
    corpus = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "tests/hostile").resolve()
    folder = keep()
    hostile = [case for case in redteam(folder, corpus, "whole")["cases"] if case["expected"] != "verified"]
    by_check = collections.defaultdict(list)
    for case in hostile:
        if case["outcome"] == "rejected":
            by_check[case["check"] or case["stage"]].append(case)
    checks, rows = names_of_checks(folder, corpus), []
    names = list(dict.fromkeys(checks + sorted(by_check)))
    # Cases of one file may end at different checks; a file is asked again for each of them.
    for name in names:
        files = sorted({case["file"] for case in by_check[name]})
        if name not in checks:
            rows.append([name, len(files), "-", "-", "no check to leave out"])
            continue
        if not files:
            rows.append([name, 0, 0, 0, ""])
            continue
        part = part_of(corpus, files, folder / "part")
        again = redteam(folder, part, f"without {name}", "--without", name)["cases"]
        again = [case for case in again if case["file"] in files]
        through = sorted({pathlib.Path(case["file"]).stem for case in again if case["outcome"] != "rejected"})
        others = collections.Counter(case["check"] or case["stage"] for case in again if case["outcome"] == "rejected")
        rows.append([name, len(files), len(files) - len(through), len(through),
                     "; ".join(filter(None, [", ".join(through), ", then ".join(f"{c} {n}" for c, n in others.most_common(3))]))])
    print(f"{len({case['file'] for case in hostile})} hostile files\n")
    table(["check", "files it refuses", "refused without it", "only by it", "which; who else"], rows)
    print(f"files: {folder}")


if __name__ == "__main__":
    main()
