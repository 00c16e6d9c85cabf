#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One type, one name: no two files define types of the same name in the same namespace.

Usage: scripts/names.py [FOLDER]     default: src; exit 1 and one line per breach, else silent and 0.

Compilers need not say so, and the linker then takes one of the two destructors for both.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPEN = re.compile(r"^namespace ?([\w:]*) ?\{")
CLOSE = re.compile(r"^\}  // namespace")
# A definition at the margin: no forward declaration, no specialisation, no member defined outside of its class.
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?) (\w+)(?: final)?(?: ?:[^:;][^;]*)?(?: ?\{|$)")


def definitions(path):
    spaces, template = [], False
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        opened = OPEN.match(line)
        if opened:
            spaces.append(opened.group(1) or f"<{path}>")
        elif CLOSE.match(line) and spaces:
            spaces.pop()
        else:
            found = TYPE.match(line)
            if found and not template:
                yield "::".join([*spaces, found.group(1)]), number
        template = line.startswith("template <")


def breaches(folder):
    places = collections.defaultdict(list)
    for path in sorted([*folder.rglob("*.h"), *folder.rglob("*.cpp")]):
        for name, number in definitions(path):
            places[name].append(f"{path.relative_to(folder)}:{number}")
    for name, where in places.items():
        if len({place.split(":")[0] for place in where}) > 1:
            yield f"{name} is defined in {' and '.join(where)}; rename one"


def main():
    found = list(breaches(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src"))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
