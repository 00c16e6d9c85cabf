# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: running the program, reading its JSON, tables with intervals."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENDED = (0, 5)


def program():
    """The program that is measured: ASSAY_BIN, else what ./quickstart built."""
    path = pathlib.Path(os.environ.get("ASSAY_BIN", ROOT / "build/release/bin/assay")).resolve()
    if not path.exists():
        sys.exit(f"no program at {path}; run ./quickstart, or set ASSAY_BIN")
    return path


def keep():
    """Where JSON and reports of this run stay: BENCH_OUT, else a new folder that is named at the end."""
    folder = pathlib.Path(os.environ.get("BENCH_OUT") or tempfile.mkdtemp(prefix="assay-bench-")).resolve()
    (folder / ".assay").mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"note: the load of this machine is {load:.1f}; figures want an idle one", file=sys.stderr)
    return folder


def run(folder, *arguments, codes=ENDED):
    argv = [str(program()), *map(str, arguments)]
    print("$ assay " + " ".join(argv[1:]), file=sys.stderr, flush=True)
    began = time.monotonic()
    ended = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if ended.returncode not in codes:
        sys.exit(f"exit {ended.returncode}, wanted one of {codes}\n{ended.stdout}")
    return ended, time.monotonic() - began


def campaign(folder, contract, name, *more):
    """Runs a campaign; its document and the seconds it took."""
    path = folder / f"{name}.json"
    _, seconds = run(folder, "run", contract, "--json", path, "--report", folder / f"{name}.html", *more)
    return json.loads(path.read_text()), seconds


def bench(folder, contract, name, *arguments):
    path = folder / f"{name}.json"
    run(folder, "bench", contract, *arguments, "--json", path)
    return json.loads(path.read_text())


def templates(contract):
    return sorted(path.stem for path in (ROOT / "contracts" / contract / "templates").glob("*.cpp"))


def times(value):
    return "-" if value is None else f"{value:.2f}"


def interval(decision):
    if decision is None:
        return "-"
    return f"{decision['decision']} {times(decision['value'])} [{times(decision['low'])} .. {times(decision['high'])}]"


def table(heads, rows):
    rows = [heads, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    for number, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
    print(flush=True)


def verdict(reached, text, folder):
    print(f"{'REACHED' if reached else 'NOT REACHED'}: {text}\nfiles: {folder}")
    sys.exit(0 if reached else 1)


