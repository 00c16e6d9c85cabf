# SPDX-License-Identifier: Apache-2.0
"""What every end-to-end test needs: the program, a workspace that is gone afterwards, and the questions asked of it."""
import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("ASSAY_BIN", ROOT / "build/ci/bin/assay"))
FULL = os.environ.get("ASSAY_FULL", "") not in ("", "0")
TOY = ROOT / "tests/data/toy/toy_scale_add"
SCHEMA = ROOT / "docs/run.schema.json"

DONE, REFUSED, INTERRUPTED, OUR_FAULT, USAGE, NO_VERDICT = 0, 1, 2, 3, 4, 5
# A campaign ends by its rules; whether its decision holds depends on how quiet the machine is.
ENDED = (DONE, NO_VERDICT)
LIMIT = 240  # seconds; a guard against a hang, no expectation


class Outcome:
    """A finished command."""

    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err

    def __str__(self):
        return f"$ {' '.join(map(str, self.argv))}\nexit {self.code}\n--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}"


class Workspace(unittest.TestCase):
    """A test in an empty folder with a home and a temporary folder of its own."""

    maxDiff = None

    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="assay-e2e-"))
        self.addCleanup(shutil.rmtree, self.base, True)
        self.folder = self.base / "workspace"
        self.temporary = self.base / "tmp"
        for folder in (self.folder, self.temporary, self.base / "home"):
            folder.mkdir()
        (self.folder / ".assay").mkdir()  # a workspace of its own, wherever the temporary folder lies

    def admitted(self):
        """Gives this workspace the toy contract's admission, which costs more than a small campaign."""
        shutil.rmtree(self.folder / ".assay")
        shutil.copytree(admitted_workspace() / ".assay", self.folder / ".assay")

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.base / "home"), "TMPDIR": str(self.temporary), "TERM": "xterm", **more}

    def start(self, *arguments, prefix=(), **more):
        argv = [*prefix, PROGRAM, *map(str, arguments)]
        return subprocess.Popen(argv, cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True, **more)

    def finish(self, process, limit=LIMIT):
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            out, err = process.communicate()
            self.fail(f"did not end in {limit} s: {process.args}\n{err.decode(errors='replace')[-4000:]}")
        return Outcome(process.args, process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def assay(self, *arguments, **more):
        return self.finish(self.start(*arguments, **more))

    def expect(self, codes, *arguments, **more):
        """Runs a command that must end with one of `codes`."""
        outcome = self.assay(*arguments, **more)
        self.assertIn(outcome.code, codes if isinstance(codes, tuple) else (codes,), outcome)
        return outcome

    def toy(self, name="toy", change=None, template=None):
        """A copy of the toy contract, so that a test may change it."""
        copy = self.folder / "contracts" / name
        shutil.copytree(TOY, copy)
        if change:
            self.edit(copy / "contract.toml", change)
        if template:
            for old in (copy / "templates").iterdir():
                old.unlink()
            (copy / "templates" / "own.cpp").write_text(template)
        return copy

    def edit(self, path, change):
        before = path.read_text()
        after = change(before)
        self.assertNotEqual(before, after, f"the change does not touch {path}")
        path.write_text(after)

    # -- the ledger, read as any stranger would

    def ledger(self):
        database = sqlite3.connect(f"file:{self.folder}/.assay/ledger.db?mode=ro", uri=True)
        database.row_factory = sqlite3.Row
        return database

    def events(self, campaign=None):
        if not (self.folder / ".assay/ledger.db").exists():
            return []
        database = self.ledger()
        try:
            rows = database.execute("SELECT sequence, campaign, kind, ordinal, body, link FROM events ORDER BY sequence").fetchall()
        except sqlite3.OperationalError as problem:
            if "no such table" in str(problem):
                return []
            raise
        finally:
            database.close()
        return [row for row in map(dict, rows) if campaign in (None, row["campaign"])]

    # -- what a finished campaign must look like

    def check_json(self, path):
        document = json.loads(pathlib.Path(path).read_text())
        problems = sorted(schema().iter_errors(document), key=lambda e: list(map(str, e.path)))
        self.assertEqual([], [f"/{'/'.join(map(str, p.path))}: {p.message[:300]}" for p in problems])
        self.check_sense(document)
        return document

    def check_sense(self, run):
        """What the schema cannot say."""
        self.assertTrue(all(re.fullmatch(r"[a-z]+\d*", wall) for wall in run["machine"]["walls"]), run["machine"])
        attempts = run["attempts"]
        self.assertEqual(list(range(1, len(attempts) + 1)), [a["id"] for a in attempts])
        own = [a for a in attempts if a["duplicate_of"] is None]
        self.assertEqual(run["budget"]["spent"], len(own), "the budget counts what reached the builder, duplicates cost nothing")
        self.assertLessEqual(run["budget"]["spent"], run["budget"]["attempts"])
        for attempt in attempts:
            self.assertTrue(all(parent < attempt["id"] for parent in attempt["parents"]), attempt)
            if attempt["duplicate_of"] is not None:
                self.assertLess(attempt["duplicate_of"], attempt["id"])
        incumbent = run["incumbent"]
        if incumbent is None:
            return
        winner = attempts[incumbent["attempt"] - 1]
        self.assertEqual(("verified", "examined"), (winner["outcome"], winner["trust"]), winner)
        self.assertTrue(incumbent["examined"])
        standing = {r["name"] for r in run["references"] if "rejected" not in r}
        self.assertEqual(standing, set(incumbent["speedup"]), "a figure for each reference that stands, and for no other")
        for name, decision in incumbent["speedup"].items():
            self.assertEqual(name, decision["against"])
            self.assertLessEqual(decision["low"], decision["high"])
            if decision["value"] is not None:
                self.assertTrue(decision["low"] <= decision["value"] <= decision["high"], decision)

    def check_page(self, path):
        """One file that carries its evidence: nothing in it asks another machine for anything."""
        page = pathlib.Path(path).read_text()
        self.assertTrue(page.startswith("<!doctype html>"), page[:80])
        self.assertIn("</html>", page)
        addresses = [a for a in re.findall(r"https?://[^\s\"'<>)]+", page) if not a.startswith("http://www.w3.org/")]
        self.assertEqual([], addresses)
        self.assertEqual([], re.findall(r"\b(?:src|href|action|data)\s*=\s*[\"']?(?!#|data:)[^\s>]*", page.split("</style>")[1]))
        self.assertEqual([], re.findall(r"@import|url\(\s*[\"']?(?!data:|#)|<(?:script|iframe|link|object|embed)\b[^>]*>", page))
        return page

    def check_nothing_left(self):
        """No process of a jail and no temporary folder outlives its command."""
        deadline = time.monotonic() + 10  # the kernel buries asynchronously
        while (left := helpers(self.base)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([], left)
        self.assertEqual([], sorted(p.name for p in self.temporary.iterdir()))


@functools.lru_cache(None)
def admitted_workspace():
    """A folder in whose ledger the toy contract is admitted; made once, copied by those that need it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-e2e-"))
    atexit.register(shutil.rmtree, folder, True)
    (folder / ".assay").mkdir()
    ended = subprocess.run([PROGRAM, "contract", "check", TOY], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    if ended.returncode != DONE:
        raise AssertionError(f"the toy contract is not admitted, exit {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return folder


@functools.lru_cache(None)
def schema():
    import jsonschema  # Debian: python3-jsonschema

    document = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(document)
    return jsonschema.Draft7Validator(document)


def helpers(base):
    """Command lines of our jails and runners that were started on behalf of `base`, zombies left aside."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            if not re.search(r"assay(-runner|-jail)?\b", line) or process.name == str(os.getpid()):
                continue
            state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
            owner = (process / "environ").read_bytes() + os.fsencode(line) + os.fsencode(os.readlink(process / "cwd"))
        except OSError:  # it ended while we looked, or is not ours to look at
            continue
        if state != "Z" and os.fsencode(str(base)) in owner:
            found.append(f"{process.name}: {line[:200]}")
    return found


def main():
    if not PROGRAM.exists():
        sys.exit(f"no program at {PROGRAM}; build the target assay, or set ASSAY_BIN")
    unittest.main(verbosity=2)
