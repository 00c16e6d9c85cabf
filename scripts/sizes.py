#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function in src/ is longer than seventy lines, no file longer than five hundred without a reason given here.

Usage: scripts/sizes.py [SRC]      exit 1 and one line per breach, else silent and 0.

A function that fits on a screen is read as a whole. The reader is a brace counter, not a compiler: it knows
comments, strings, raw strings and preprocessor lines, and takes the outermost pair of braces behind a parameter
list for a function. Where braces do not balance it says so instead of guessing.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_FUNCTION_LINES = 70
MOST_FILE_LINES = 500

# path below the repository's root -> why it may be longer
LONG_FILES = {
    "src/record/json.cpp": "one of the files that speak JSON; each noun is ten lines",
}
# "path:function" -> why it may be longer
LONG_FUNCTIONS = {
    "src/contract/load_test.cpp:TEST": "one table of bad inputs, a row each",
}

MEMBER = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)[^;]*\w$")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b")
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'', re.S)


def blanked(text):
    """The text with comments, literals and preprocessor lines emptied; line breaks stay."""

    def empty(match):
        piece = match.group(0)
        return re.sub(r"[^\n]", " ", piece) if piece.startswith("/") else '""' + "\n" * piece.count("\n")

    text = TOKEN.sub(empty, text)
    lines, inside = [], False
    for line in text.split("\n"):
        directive = inside or line.lstrip().startswith("#")
        inside = directive and line.rstrip().endswith("\\")
        lines.append("" if directive else line)
    return "\n".join(lines)


def is_function(head):
    """Whether the text before an opening brace ends in a function's head."""
    head = re.sub(r"\btemplate\s*<[^{}]*?>\s*(?=\w)", "", head).strip()
    if "(" not in head or head.endswith(("=", ",", "(", "return")):
        return False
    before_parameters = head.split("(")[0]
    if SCOPE.search(before_parameters) and not re.search(r"\w\s+\w+\s*$", before_parameters):
        return False
    return not re.search(r"(?<!operator)(?<![=!<>])=(?!=)[^()]*$", before_parameters)


def name_of(head):
    found = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", head)
    return found.group(1) if found else "?"


def functions(text):
    """(name, first line, last line) of each function; None as name when the braces do not balance."""
    stack, head, head_line, line, inside = [], "", 1, 1, 0
    for char in text:
        if char == "{":
            member = MEMBER.search(head) is not None  # y_{x} in a constructor's list: the head goes on behind it
            function = inside == 0 and not member and is_function(head)
            stack.append((function, head if member else head.strip(), head_line, member))
            inside += function
            head = ""
        elif char == "}":
            if not stack:
                yield None, line, line
                return
            function, its_head, its_line, member = stack.pop()
            inside -= function
            if function:
                yield name_of(its_head), its_line, line
            head, head_line = (its_head + "{}", its_line) if member else ("", line)
        elif char == ";":
            head = ""
        elif head or not char.isspace():
            if not head:
                head_line = line
            head += char
        line += char == "\n"
    if stack:
        yield None, line, line


def breaches(src):
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".S"):
            continue
        relative = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        text = path.read_text(errors="replace")
        count = text.count("\n")
        if count > MOST_FILE_LINES and relative not in LONG_FILES:
            yield f"{relative}:1: {count} lines; split it, or give a reason in scripts/sizes.py"
        if path.suffix == ".S":
            continue
        for name, first, last in functions(blanked(text)):
            if name is None:
                yield f"{relative}:{first}: braces do not balance outside preprocessor lines"
            elif last - first + 1 > MOST_FUNCTION_LINES and f"{relative}:{name}" not in LONG_FUNCTIONS:
                yield f"{relative}:{first}: {name} has {last - first + 1} lines; a function fits on a screen (at most {MOST_FUNCTION_LINES})"


def main():
    src = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "src"
    found = list(breaches(src))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
