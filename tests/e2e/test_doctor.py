#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay doctor: what stands and what is missing, each gap with what it costs."""
import json

from support import DONE, NO_VERDICT, Workspace, main


class Doctor(Workspace):
    def test_its_exit_code_is_what_it_found(self):
        outcome = self.expect((DONE, NO_VERDICT), "doctor", "--json", "doctor.json")
        found = json.loads((self.folder / "doctor.json").read_text())
        self.assertEqual("assay.doctor.1", found["format"])
        names = [f["what"] for f in found["findings"]]
        for name in ("sandbox walls", "compiler", "second compiler", "peer library"):
            self.assertIn(name, names)
        gaps = [f for f in found["findings"] if not f["there"]]
        self.assertEqual(NO_VERDICT if gaps else DONE, outcome.code, outcome)
        self.assertTrue(all(f["detail"] for f in gaps), "each gap says what it costs or how to close it")
        self.assertIn("No gap." if not gaps else "Something is missing", outcome.out)
        self.check_nothing_left()

    def test_json_on_standard_output(self):
        outcome = self.expect((DONE, NO_VERDICT), "doctor", "--json", "-")
        self.assertGreater(len(json.loads(outcome.out)["findings"]), 3)

    def test_it_makes_no_workspace(self):
        (self.folder / ".assay").rmdir()
        self.expect((DONE, NO_VERDICT), "doctor")
        self.assertEqual([], list(self.folder.iterdir()))


if __name__ == "__main__":
    main()
