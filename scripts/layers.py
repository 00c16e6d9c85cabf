#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds src/ to the include table of docs/ARCHITECTURE.md.

Usage: scripts/layers.py [SRC]      exit 1 and one line per breach, else silent and 0.

Also checked here because it is the same walk: SPDX lines, and system headers that belong to one place.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWNED = {"sqlite3.h": "src/ledger/", "nlohmann/": "src/record/json_library.h", "CLI/": "src/app/cli/"}
INNER = {"record/json_library.h": "src/record/json"}  # a header of ours that brings such a system header along


def table():
    text = (ROOT / "docs/ARCHITECTURE.md").read_text()
    block = text.split("<!-- layers:begin -->")[1].split("<!-- layers:end -->")[0]
    rows = {}
    for line in block.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 2 and cells[0] not in ("room", "") and not set(cells[0]) <= {"-"}:
            rows[cells[0]] = cells[1].split()
    return rows


def breaches(src, rows):
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".S"):
            continue
        relative = path.relative_to(ROOT)
        room = path.relative_to(src).parts[0]
        lines = path.read_text(errors="replace").splitlines()
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
            yield f"{relative}:1: no SPDX line"
        if room not in rows:
            yield f"{relative}:1: room {room} is not in the include table"
            continue
        for number, line in enumerate(lines, 1):
            system = re.match(r"\s*#\s*include\s*<([^>]+)>", line)
            for header, owner in OWNED.items():
                if system and system.group(1).startswith(header) and not str(relative).startswith(owner):
                    yield f"{relative}:{number}: <{system.group(1)}> belongs to {owner}"
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if match and match.group(1) in INNER and not str(relative).startswith(INNER[match.group(1)]):
                yield f"{relative}:{number}: {match.group(1)} belongs to {INNER[match.group(1)]}*"
            if not match or "/" not in match.group(1):
                continue
            target = match.group(1)
            other = target.split("/")[0]
            if other not in rows or other == room:
                continue
            if other not in rows[room] and target not in rows[room]:
                yield f"{relative}:{number}: {room} may not include {target}"


def main():
    src = (ROOT / (sys.argv[1] if len(sys.argv) > 1 else "src")).resolve()
    found = list(breaches(src, table()))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
