#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input is exit 4 with file, line, key and remedy in the text, whatever it is: never a crash, never a verdict."""
import random
import re

from support import DONE, TOY, USAGE, Workspace, main


def line_of(text, part):
    return text[:text.index(part)].count("\n") + 1


def replace(old, new):
    return lambda text: text.replace(old, new, 1)


# name, change of contract.toml, text whose line the message must name (or None), words of key and remedy
CONTRACTS = (
    ("an unknown key", replace("[cost]\nflops", "[cost]\nflopps"), "flopps", ["cost", "flopps", "flops"]),
    ("an unknown table", replace("[cost]", "[coast]"), "[coast]", ["coast", "cost"]),
    ("a type that is none", replace('dtype  = "f32"', 'dtype  = "f33"'), '"f33"', ["tensor.x.dtype", "f32"]),
    ("a text where a list belongs", replace('shape  = ["B", "N"]', 'shape  = "B*N"'), 'shape  = "B*N"', ["shape"]),
    ("an axis that is none", replace('shape  = ["B", "N"]', 'shape  = ["B", "M"]'), '"M"]', ["tensor.x", "M"]),
    ("an argument twice", replace('"x", "y", "B"', '"x", "x", "y", "B"'), "args ", ["args", "x"]),
    ("an argument that nothing declares", replace('"a", "b"]', '"a", "b", "c"]'), "args ", ["args", "c"]),
    ("a contradictory require", replace("slice   =", 'require = ["N < 8", "N > 4000"]\nslice   ='), 'require = ["N < 8"', ["require", "N < 8"]),
    ("a require that no workload meets", replace("slice   =", 'require = ["N % 7 == 3"]\nslice   ='), None, ["blocks-64", "N % 7 == 3"]),
    ("a require that does not parse", replace("slice   =", 'require = ["N % 7 == "]\nslice   ='), 'require = ["N % 7', ["require"]),
    ("a require in C", replace("slice   =", 'require = ["N > 1 && B > 1"]\nslice   ='), "require = [", ["write and, or, not"]),
    ("a shape that overflows", replace('shape  = ["B", "N"]', 'shape  = ["B", "N*4000000000000000000"]'), None, ["blocks-64", "beyond 64 bits"]),
    ("an axis from large to small", replace("min = 1, max = 4096", "min = 4096, max = 1"), "min = 4096", ["N", "max"]),
    ("a generator that is none", replace('values = ["normal(0, 1)", "ladder', 'values = ["norm(0, 1)", "ladder'), '"norm(0, 1)"', ["values", "norm", "normal"]),
    ("a source that is missing", replace('strict  = { source = "baseline.cpp"', 'strict  = { source = "base_line.cpp"'), "base_line.cpp", ["base_line.cpp"]),
    ("a source outside", replace('strict  = { source = "baseline.cpp"', 'strict  = { source = "../../../../../../etc/passwd"'), "passwd", ["passwd"]),
    ("a workload outside the axes", replace("axes = { B = 64", "axes = { B = 1000000"), "B = 1000000", ["B", "256"]),
    ("a workload that lacks an axis", replace("axes = { B = 64, N = 1024 }", "axes = { B = 64 }"), None, ["blocks-64", "N"]),
    ("a version of tomorrow", replace("assay   = 1", "assay   = 2"), "assay   = 2", ["assay", "1"]),
    ("a table twice", lambda text: text + '\n[tensor.x]\nrole = "in"\n', None, ["tensor"]),
    ("text that is no TOML", lambda text: text + "\n[[[\n", "[[[", ["contract.toml"]),
    ("a policy that is none", replace('fp            = "reassociate"', 'fp            = "fast"'), 'fp            = "fast"', ["policy", "fp", "reassociate"]),
)


class BadInput(Workspace):
    def refused(self, *arguments):
        outcome = self.expect(USAGE, *arguments)
        self.assertTrue(outcome.err.startswith("assay"), outcome)
        self.assertNotRegex(outcome.err, r"internal fault|terminate called|Segmentation|ASSAY_CHECK|basic_string|std::|nlohmann|json\.exception")
        self.assertLess(len(outcome.err), 4000, "a message, no log")
        self.assertNotRegex(outcome.err, r"[\x00-\x08\x0b-\x1f\x7f]", "control characters of the input stay out of the terminal")
        return outcome

    def test_contracts(self):
        for number, (name, change, where, words) in enumerate(CONTRACTS):
            with self.subTest(name):
                folder = self.toy(f"toy{number}", change)
                outcome = self.refused("contract", "check", folder, "--no-run")
                for word in words:
                    self.assertIn(word, outcome.err)
                found = re.search(r"contract\.toml:(\d+): ", outcome.err)
                self.assertIsNotNone(found, outcome)
                if where:
                    self.assertEqual(line_of((folder / "contract.toml").read_text(), where), int(found.group(1)), outcome)
                # Every door refuses it alike.
                if number % 6 == 0:
                    self.assertEqual(outcome.err, self.refused("run", folder, "--budget", 1).err)
        self.assertEqual([], self.events())

    def test_the_accepted_neighbours(self):
        """The same changes, just inside the edge, are accepted."""
        for number, change in enumerate((replace("slice   =", 'require = ["N < 8 or N > 1000"]\nslice   ='),
                                         replace("slice   =", 'require = ["N % 8 == 0"]\nslice   ='),
                                         replace("axes = { B = 64", "axes = { B = 256"),
                                         lambda text: text + "\n# the end\n")):
            with self.subTest(number=number):
                self.expect(DONE, "contract", "check", self.toy(f"good{number}", change), "--no-run")

    def test_folders_and_files(self):
        folder = self.toy()
        (folder / "contract.toml").unlink()
        self.assertIn("contract.toml", self.refused("contract", "check", folder, "--no-run").err)
        self.assertIn("nosuch", self.refused("contract", "check", "nosuch", "--no-run").err)
        missing = self.toy("missing")
        (missing / "reference.h").unlink()
        self.assertIn("reference.h", self.refused("contract", "check", missing, "--no-run").err)

    def test_a_cyclic_include(self):
        folder = self.toy()
        (folder / "one.h").write_text('// SPDX-License-Identifier: Apache-2.0\n#pragma once\n#include "two.h"\n')
        (folder / "two.h").write_text('// SPDX-License-Identifier: Apache-2.0\n#pragma once\n#include "one.h"\n')
        self.edit(folder / "reference.h", lambda text: text.replace("#include <assay/reference.h>", '#include <assay/reference.h>\n#include "one.h"'))
        outcome = self.refused("contract", "check", folder, "--no-run")
        self.assertRegex(outcome.err, r"(one|two)\.h:\d+: ")
        self.assertIn("one.h", outcome.err)
        self.assertIn("two.h", outcome.err)

    def test_ten_megabytes_of_noise(self):
        noise = random.Random(1)
        for name, data in (("bytes", noise.randbytes(10 << 20)), ("brackets", b"[" * (10 << 20)), ("a key without end", b"a." * (5 << 20)),
                           ("a deep expression", b'assay = 1\nname = "n"\nrequire = ["' + b"(" * (10 << 20) + b'"]\n'), ("nothing", b""),
                           # below every limit of size, so that the reader itself meets them
                           ("a little noise", noise.randbytes(100000)), ("deep lists", b"args = " + b"[" * 100000), ("deep tables", b"args = " + b"{a=" * 50000),
                           ("a long expression", b'assay = 1\nname = "n"\nrequire = ["' + b"(" * 100000 + b'"]\n'), ("no text", b"\xff\xfe" * 1000)):
            with self.subTest(name):
                folder = self.toy("noise" + re.sub(r"\W", "_", name))
                (folder / "contract.toml").write_bytes(data)
                self.assertIn("contract.toml", self.refused("contract", "check", folder, "--no-run").err)
        folder = self.toy("template")
        (folder / "templates/plain.cpp").write_bytes(b"// assay:template plain\n// assay:knob AA = 1 | 2\n" + noise.randbytes(10 << 20))
        self.refused("contract", "check", folder, "--no-run")
        kernel = self.folder / "noise.cpp"
        kernel.write_bytes(noise.randbytes(10 << 20))
        self.refused("verify", TOY, kernel)
        kernel.write_bytes(b"")
        self.assertNotIn(self.assay("verify", TOY, kernel).code, (0, 3))

    def test_templates(self):
        for name, directive, words in (("a knob without values", "// assay:knob EMPTY =", ["plain.cpp", "EMPTY"]),
                                       ("a knob twice", "// assay:knob LANES = 1", ["plain.cpp", "LANES"]),
                                       ("a word that is none", "// assay:knobs AA = 1 | 2", ["plain.cpp", "knobs"]),
                                       ("a condition on a stranger", "// assay:knob AA = 1 | 2 if NOBODY == 1", ["plain.cpp", "NOBODY"])):
            with self.subTest(name):
                folder = self.toy("template" + re.sub(r"\W", "_", name))
                self.edit(folder / "templates/plain.cpp", lambda text, d=directive: text.replace("// assay:flag -O2", d + "\n// assay:flag -O2", 1))
                outcome = self.refused("contract", "check", folder, "--no-run")
                for word in words:
                    self.assertIn(word, outcome.err)
                self.assertRegex(outcome.err, r"plain\.cpp:\d+: ")

    def test_command_lines(self):
        contract = self.toy()
        cases = (
            ([], ["usage"]),
            (["frobnicate"], ["frobnicate", "assay --help"]),
            (["verifi"], ["verifi", "verify"]),
            (["run"], ["CONTRACT", "assay run --help"]),
            (["run", contract, "--budget", "0"], ["--budget"]),
            (["run", contract, "--budget", "many"], ["--budget"]),
            (["run", contract, "--seed", "-1"], ["--seed"]),
            (["run", contract, "--margin", "nan"], ["--margin"]),
            (["run", contract, "--threads", "0"], ["--threads"]),
            (["run", contract, "--frob"], ["--frob"]),
            (["run", contract, "--workload", "blocks-65"], ["blocks-65", "blocks-64"]),
            (["run", contract, "--strategy", "randomm"], ["randomm", "random", "three-explorers-seven-refiners"]),
            (["run", contract, "--resume", "0123456789ab"], ["0123456789ab", "assay ledger"]),
            (["verify", contract], ["FILE"]),
            (["verify", contract, "plane"], ["plane", "plain"]),
            (["verify", contract, "plain", "--stop-after", "lunch"], ["lunch", "screen"]),
            (["bench", contract], ["--against"]),
            (["bench", contract, "--against", "relaxt"], ["relaxt", "relaxed"]),
            (["contract", "check"], ["CONTRACT"]),
            (["contract"], ["assay contract check --help"]),
            (["explain", "weather"], ["weather"]),
            (["explain", "reason", "wrong_answr"], ["wrong_answr", "wrong_answer"]),
            (["explain", "tolerance"], ["CONTRACT"]),
            (["ledger", "burn"], ["burn"]),
            (["ledger", "show", "0123456789ab"], ["0123456789ab"]),
            (["report", "0123456789ab"], ["0123456789ab"]),
        )
        for arguments, words in cases:
            with self.subTest(" ".join(map(str, arguments[:1] + arguments[2:]))):
                outcome = self.expect(USAGE, *arguments)
                self.assertNotRegex(outcome.err, r"internal fault|terminate called|std::")
                for word in words:
                    self.assertIn(word, outcome.err)
        self.assertEqual([], self.events(), "nothing was begun")

    def test_a_ledger_that_is_none(self):
        (self.folder / ".assay/ledger.db").write_bytes(random.Random(2).randbytes(1 << 20))
        for arguments in (["ledger"], ["ledger", "check"], ["report"]):
            with self.subTest(arguments=arguments):
                outcome = self.assay(*arguments)
                self.assertIn(outcome.code, (3, USAGE), outcome)
                self.assertIn("ledger.db", outcome.err)

    def test_places_that_cannot_be_written(self):
        contract = self.toy()
        outcome = self.assay("init", "x", "--from", contract / "baseline.cpp", "--entry", "toy_scale_add", "--out", "/proc/nowhere/x")
        self.assertIn(outcome.code, (3, USAGE), outcome)
        self.assertIn("/proc/nowhere", outcome.err)


if __name__ == "__main__":
    main()
