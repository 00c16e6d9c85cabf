#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transcripts of what the program says, with everything that differs between machines and runs scrubbed away.

The accepted ones are tests/golden/*.txt; scripts/accept-golden writes them anew. No line is wider than 80 columns.
"""
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import unicodedata

from support import DONE, ENDED, INTERRUPTED, LIMIT, PROGRAM, REFUSED, ROOT, TOY, USAGE, Workspace, main

GOLDEN = ROOT / "tests/golden"
ACCEPT = os.environ.get("ASSAY_ACCEPT", "") not in ("", "0")
COLUMNS = 80
CONTRACTS = ("add_rmsnorm", "argmax", "cholesky_solve", "cross_entropy", "dropout", "gemm", "gemm_bf16",
             "gqa_attention", "layernorm", "quantize_rows", "quantized_gemm", "rope", "softmax_rows",
             "topk_softmax_router")

ZEROS = """// SPDX-License-Identifier: Apache-2.0
// assay:template zeros
#include <stdint.h>
extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  for (int64_t i = 0; i < B * N; ++i) y[i] = 0 * x[i];
}
"""


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in line)


def scrub_numbers(text):
    text = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12,16}\b", "HASH", text)
    return re.sub(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?x?(?: (?:ns|us|ms|s|min|h)\b)?", "N", text)


def scrub_places(text, workspace):
    for place, word in ((str(workspace.folder), "WORKSPACE"), (str(workspace.temporary), "TMP"), (str(ROOT), "SOURCES"), (str(PROGRAM.parent), "PROGRAM")):
        text = text.replace(place, word)
    return text


def unwrap(text):
    """Continuation lines (four blanks) join the line before: where a line breaks depends on its numbers."""
    return re.sub(r"\n    (?=\S)", " ", text)


def scrub_counts(text):
    return re.sub(r"\d+ knobs, \d+ flag groups, at most \S+ points", "N knobs, N flag groups, at most N points",
                  re.sub(r"\d+ mutants, \d+ honest", "N mutants, N honest", text))


def scrub_verdict(text):
    """Which check saw it first, and at which input, is drawn anew each time."""
    text = unwrap(text)
    text = re.sub(r"(?m)^(  check: ).*$", r"\1CHECK", text)
    text = re.sub(r"(?m)^(  evidence: ).*$", r"\1EVIDENCE", text)
    text = re.sub(r"(REJECTED at )\w+", r"\1STAGE", text)
    return re.sub(r"(?m)^(  check +cases +seconds\n)(?:  .*\n?)+", lambda m: re.sub(" +", " ", m.group(1)) + " CHECK N N ...\n", text)


def scrub_summary(text):
    """What a campaign found is up to the machine; what a summary tells of it is not."""
    lines = unwrap(text).strip("\n").split("\n")
    # The headline may be wrapped, with two blanks, before the table.
    while len(lines) > 1 and re.match(r"  \S", lines[1]) and not lines[1].startswith("  against"):
        lines[0] += " " + lines.pop(1).strip()
    text = "\n".join(lines)
    text = re.sub(r"\A(toy_scale_add: ).*(the strongest reference).*", r"\1VERDICT, \2", text)
    text = re.sub(r"(?m)^  (strict|relaxed): .*\n", "", text)  # why there is no decision
    rows = lambda m: m.group(1) + "".join(sorted(re.sub(r"  (strict|relaxed) .*", r"  \1 DECISION", line) + "\n" for line in m.group(2).splitlines()))
    text = re.sub(r"(?m)^(  against .*\n)((?:  (?:strict|relaxed) .*\n)+)", rows, text)
    text = re.sub(r"(?m)^(  winner: attempt )\d+, .*$", r"\1N, CANDIDATE", text)
    text = re.sub(r"(?m)^(  attempts: ).*$", r"\1OUTCOMES", text)
    text = re.sub(r"(?m)^(  controls: )(?=.*honest \S+ verified)(?=.*fault \S+ refused \(\w+\)).*$", r"\1ONE HONEST VERIFIED, ONE FAULT REFUSED", text)
    text = re.sub(r"(?m)^(  floor: )(?:[\d.]+(?: \([\d.]+ \.\. [\d.]+\))? of the .* (?:measured in this run|calibrated) \([^)]*\), workload \S+|none; no decision, or no peak that could be believed)$", r"\1FLOOR", text)
    text = re.sub(r"(?m)^(  proved: examined, )\d+ checks, \d+ cases", r"\1N checks, N cases", text)
    text = re.sub(r"(?m)^(  machine: ).*(, )\d+( cores, )\d+( threads used)$", r"\1PROCESSOR\2N\3N\4", text)
    text = re.sub(r"(?m)^(  time: ).*(; stopped: )", r"\1N\2", text)
    text = re.sub(r"(?m)^(  spent on: ).*(?:\n    \S.*)*$", r"\1STAGES", text)
    text = re.sub(r"(?m)^  rates not believed: .*\n?", "", text)
    text = re.sub(r"(report: .*-)[0-9a-f]{12}\.html", r"\1HASH.html", text)
    return re.sub(r" {2,}(?=\S)(?<!^  )", "  ", text) + "\n"


class Golden(Workspace):
    def setUp(self):
        super().setUp()
        self.admitted()
        self.toy("toy_scale_add")  # found by its name: no path of this machine in a text

    def check_width(self, text):
        wide = [line for line in text.split("\n") if width(line) > COLUMNS]
        self.assertEqual([], wide, f"wider than {COLUMNS} columns")

    def check(self, name, command, text, scrub=lambda text: text, one_line_a_message=False):
        text = text.replace("\r\n", "\n")
        if not one_line_a_message:
            self.check_width(scrub_places(text, self))
        scrubbed = f"$ assay {' '.join(command)}\n" + scrub(scrub_places(text, self))
        scrubbed = "\n".join(line.rstrip() for line in scrubbed.rstrip("\n").split("\n")) + "\n"
        path = GOLDEN / f"{name}.txt"
        if ACCEPT:
            path.write_text(scrubbed)
            return
        self.assertTrue(path.exists(), f"{path.name} is missing; run scripts/accept-golden")
        self.assertEqual(path.read_text(), scrubbed, f"{path.name} differs; if this is meant, run scripts/accept-golden")

    def test_the_rest_fits_too(self):
        for command in (["explain", "reason"], ["doctor"]):
            with self.subTest(command):
                self.check_width(self.assay(*command).out)

    def test_help(self):
        for name, command in (("help", ["--help"]), ("help_run", ["run", "--help"])):
            with self.subTest(name):
                self.check(name, command, self.expect(DONE, *command).out)
        for command in ("verify", "bench", "contract check", "init", "explain", "ledger", "report", "doctor", "calibrate"):
            with self.subTest(command):
                self.check_width(self.expect(DONE, *command.split(), "--help").out)

    def test_usage_errors(self):
        commands = (["run"], ["run", "toy_scale_add", "--frob"], ["run", "toy_scale_add", "--workload", "blocks-65"], ["run", "toy_scale_add", "--strategy", "rando"],
                    ["run", "nosuch"], ["verify", "toy_scale_add", "plane"], ["verify", "toy_scale_add", "plain", "--stop-after", "lunch"],
                    ["verify", "toy_scale_add", "plain", "--set", "LANE=4"], ["explain", "reason", "wrong_answr"], ["frobnicate"])
        text = ""
        for command in commands:
            outcome = self.expect(USAGE, *command)
            self.assertEqual("", outcome.out)
            text += f"$ assay {' '.join(command)}\n{outcome.err}"
        # An error is one line, however long: editors and scripts read FILE:LINE: KEY: from it.
        self.check("usage_errors", ["..."], text, one_line_a_message=True)

    def test_contract_check_without_running(self):
        for contract in CONTRACTS:
            with self.subTest(contract):
                command = ["contract", "check", contract, "--no-run"]
                self.check(f"check_{contract}", command, self.expect(DONE, *command).out, scrub_counts)

    def test_explain_reason(self):
        command = ["explain", "reason", "wrong_answer"]
        self.check("explain_reason", command, self.expect(DONE, *command).out)

    def test_verdicts(self):
        (self.folder / "zeros.cpp").write_text(ZEROS)
        command = ["verify", "toy_scale_add", "zeros.cpp"]
        self.check("verify_mutant", command, self.expect(REFUSED, *command).out, lambda text: scrub_verdict(text))
        command = ["verify", "toy_scale_add", "plain", "--set", "LANES=4"]
        out = self.expect(DONE, *command).out
        self.check("verify_honest", command, out, scrub_verdict)

    def run_on_a_terminal(self, *command, enough=None, **more):
        """Everything that an 80-column terminal saw, and the exit code; with `enough` it is interrupted once it saw that."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        process = subprocess.Popen([PROGRAM, *command], cwd=self.folder, env=self.environment(**more), stdin=follower, stdout=follower, stderr=follower,
                                   start_new_session=True)
        os.close(follower)
        seen = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            seen += piece
            if enough and enough in seen:
                process.send_signal(signal.SIGINT)
                enough = None
        os.close(leader)
        return process.wait(LIMIT), seen.decode(errors="replace")

    def test_a_campaign_on_a_terminal(self):
        command = ["run", "toy_scale_add", "--budget", "2", "--report", "page.html"]
        code, seen = self.run_on_a_terminal(*command)
        self.assertIn(code, ENDED, seen[-4000:])
        self.assertIn("\x1b[2K", seen, "a terminal sees progress on one line")
        shown = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", seen).replace("\r\n", "\n")
        self.check_width(scrub_places(shown.replace("\r", "\n"), self))
        summary = shown[shown.rindex("\ntoy_scale_add: "):]
        self.check("campaign_terminal", command, summary, scrub_summary)

        code, seen = self.run_on_a_terminal(*command, enough=b" s |", NO_COLOR="1")
        self.assertEqual(INTERRUPTED, code, seen[-4000:])
        self.assertIsNone(re.search(r"\x1b\[[0-9;]*m", seen), "NO_COLOR is obeyed")

    def test_a_campaign_without_a_terminal(self):
        shutil.rmtree(self.folder / "contracts")
        self.toy("toy_scale_add", template=ZEROS)
        command = ["run", "toy_scale_add", "--budget", "2", "--report", "page.html"]
        outcome = self.expect(REFUSED, *command)
        self.assertNotRegex(outcome.out + outcome.err, r"[\x1b\r]", "no escape codes without a terminal")
        self.check_width(outcome.err)
        self.assertRegex(outcome.err, r"(?m)^\[  1/2\] rejected wrong_answer ")
        self.check("campaign_plain", command, outcome.out, scrub_summary)


if __name__ == "__main__":
    main()
