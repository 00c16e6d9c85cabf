#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same walls for an ordinary user: when the tests run as root, these commands run as nobody."""
import json
import os
import pathlib
import shutil
import subprocess

from support import DONE, NO_VERDICT, PROGRAM, REFUSED, ROOT, TOY, Workspace, main

NOBODY = 65534


def as_nobody():
    """The prefix that gives up root, or the reason why that cannot be tried here."""
    if os.geteuid() != 0:
        return [], None
    if shutil.which("setpriv") is None:
        return None, "NOT TESTED: no setpriv (util-linux) to become an ordinary user with"
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    for path in (PROGRAM, ROOT / "contracts"):
        if subprocess.run([*prefix, "test", "-r", path]).returncode != 0:
            return None, f"NOT TESTED: an ordinary user cannot read {path}"
    return prefix, None


class OrdinaryUser(Workspace):
    def setUp(self):
        super().setUp()
        self.prefix, why_not = as_nobody()
        if why_not:
            print(why_not)
            self.skipTest(why_not)
        if self.prefix:
            for path in [self.base, *self.base.rglob("*")]:
                os.chown(path, NOBODY, NOBODY)

    def verdict(self, code, contract, file):
        outcome = self.expect(code, "verify", contract, file, "--json", "verdict.json", prefix=self.prefix)
        return outcome, json.loads((self.folder / "verdict.json").read_text())

    def test_an_honest_kernel_is_verified(self):
        outcome, verdict = self.verdict(DONE, TOY, TOY / "honest/fused.cpp")
        self.assertEqual("verified", verdict["outcome"], outcome)
        self.assertIn("seccomp", verdict["machine"]["walls"])
        self.check_nothing_left()

    def test_hostile_kernels_are_refused_for_what_they_do(self):
        hostile = ROOT / "tests/hostile"
        for file, reasons in (("writes_past_end.cpp", ("wrote_outside",)), ("opens_socket.cpp", ("forbidden_call",)), ("forks_without_end.cpp", ("forbidden_call",))):
            with self.subTest(file):
                outcome, verdict = self.verdict(REFUSED, "softmax_rows", hostile / file)
                self.assertIn(verdict["reason"], reasons, outcome)
        self.check_nothing_left()

    def test_the_doctor_says_which_walls_stand(self):
        outcome = self.expect((DONE, NO_VERDICT), "doctor", prefix=self.prefix)
        self.assertIn("sandbox walls", outcome.out)

    def test_what_belongs_to_the_user_stays_so(self):
        self.expect(DONE, "verify", TOY, "plain", "--stop-after", "load", prefix=self.prefix)
        owner = NOBODY if self.prefix else os.geteuid()
        foreign = [str(p) for p in self.base.rglob("*") if pathlib.Path(p).lstat().st_uid != owner]
        self.assertEqual([], foreign)


if __name__ == "__main__":
    main()
