#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay calibrate: what this machine can do, kept for a day; figures that cannot be are refused, never kept.

Whether a busy machine lets anything be measured is not ours to say: what needs figures is skipped without them."""
import json
import time

from support import DONE, NO_VERDICT, USAGE, Workspace, main


class Calibrate(Workspace):
    def kept(self):
        return sorted((self.base / "home/.cache/assay").glob("calibration-*.json"))

    def measure(self, *arguments):
        """The document of a calibration that was measured, or the test ends here."""
        outcome = self.expect((DONE, NO_VERDICT), "calibrate", "--json", "-", *arguments)
        document = json.loads(outcome.out)
        self.assertEqual("assay.calibration.1", document["format"])
        if outcome.code == NO_VERDICT:
            self.assertTrue(document["refused"], "a refusal says why")
            self.assertIn("refused", outcome.err)
            self.skipTest(f"SKIPPED: {document['refused']}")
        return document

    def test_the_second_comes_from_the_cache_and_force_measures_anew(self):
        first = self.measure()
        self.assertFalse(first["from_cache"])
        self.assertEqual(1, len(self.kept()))
        self.assertEqual({"f32", "f64"}, {p["element"] for p in first["peaks"]} & {"f32", "f64"})
        self.assertEqual({1, first["threads"]}, {p["threads"] for p in first["peaks"]})
        self.assertLessEqual({"read", "write", "copy", "triad"}, {s["access"] for s in first["streams"] if s["level"] == "DRAM"})
        second = json.loads(self.expect(DONE, "calibrate", "--json", "-").out)
        self.assertTrue(second["from_cache"])
        self.assertGreaterEqual(second["age_seconds"], first["age_seconds"])
        for key in first.keys() - {"from_cache", "age_seconds"}:
            self.assertEqual(first[key], second[key], key)
        text = self.expect(DONE, "calibrate").out
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        self.assertTrue(text.startswith(first["processor"].split()[0]), text)
        self.assertIn("cached for", text.splitlines()[-1])
        time.sleep(1.1)  # the age is told in whole seconds
        self.assertFalse(self.measure("--max-age", "0")["from_cache"])
        self.assertFalse(self.measure("--force")["from_cache"])
        self.check_nothing_left()

    def test_a_damaged_file_is_measured_anew(self):
        self.measure("--threads", "1")
        (file,) = self.kept()
        file.write_text(file.read_text()[:100])
        self.assertFalse(self.measure("--threads", "1")["from_cache"])
        json.loads(file.read_text())

    def test_a_refusal_is_never_kept(self):
        outcome = self.expect((DONE, NO_VERDICT), "calibrate", "--threads", "1")
        self.assertEqual(1 if outcome.code == DONE else 0, len(self.kept()), outcome)

    def test_more_threads_than_processors(self):
        outcome = self.expect(USAGE, "calibrate", "--threads", "9999")
        self.assertRegex(outcome.err, r"--threads 9999: this process may use \d+ processors?")
        self.assertEqual([], self.kept())

    def test_bad_input(self):
        for arguments in (["--threads", "0"], ["--max-age", "-1"], ["--max-age", "nan"], ["--max-age", "day"], ["more"]):
            with self.subTest(arguments):
                self.expect(USAGE, "calibrate", *arguments)

    def test_it_makes_no_workspace(self):
        (self.folder / ".assay").rmdir()
        self.expect((DONE, NO_VERDICT), "calibrate", "--threads", "1")
        self.assertEqual([], list(self.folder.iterdir()))


if __name__ == "__main__":
    main()
