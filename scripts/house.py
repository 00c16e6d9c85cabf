#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""House rules for every tracked text: it speaks of the project alone, and each source has its licence line.

Usage: scripts/house.py      exit 1 and one line per breach, else silent and 0.

A path, host or working note of the machine on which a line was written means nothing to its reader.
"""
import pathlib
import re
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SELF = "scripts/house.py"
DENIED = [
    (r"/work/", "a path of one machine"),
    (r"/home/[a-z]|/root/|/Users/", "a path of one machine"),
    (r"\.\./shared\b", "a path outside the repository"),
    (r"\bsession of\b", "a note about how a line came to be"),
    (r"\bas an AI\b|\bcode assistant\b", "a note about how a line came to be"),
    (r"\bissues? #?[0-9]+\b", "a number that a reader of the tree cannot look up"),
    (r"\b(TODO|FIXME|XXX)\b(?!X)", "unfinished work; finish it or record it where work is planned"),
    (r"^(<<<<<<<|>>>>>>>) ", "a merge that was not resolved"),
]
LICENSED = {".h", ".cpp", ".S", ".py", ".sh", ".cmake", ".toml"}
UNLICENSED = ("tests/data/", "tests/golden/")  # data is what it is, to the byte


def tracked():
    listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listing.returncode == 0:
        return [name for name in listing.stdout.decode().split("\0") if name]
    skipped = {".git", "build", ".assay"}  # an exported tree
    return [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and not skipped & set(p.relative_to(ROOT).parts)]


def denied():
    rules = [(re.compile(pattern, re.M), why) for pattern, why in DENIED]
    host = socket.gethostname()
    if len(host) > 6 and "." not in host and host != "localhost" and not host.isalpha():
        rules.append((re.compile(re.escape(host)), "the name of one machine"))
    return rules


def breaches():
    rules = denied()
    for name in sorted(tracked()):
        path = ROOT / name
        if name == SELF or not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        text = data.decode(errors="replace")
        for rule, why in rules:
            for match in rule.finditer(text):
                yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: '{match.group(0).strip()}' is {why}"
        wants_licence = path.suffix in LICENSED or path.name in ("CMakeLists.txt", "quickstart", "test") or text.startswith("#!")
        if wants_licence and not name.startswith(UNLICENSED) and "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n")[:4]):
            yield f"{name}:1: no SPDX line in the first four"


def main():
    found = list(breaches())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
