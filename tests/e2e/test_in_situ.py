#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel between its neighbours, against what it replaces: y = a (a x + b) + b between two kernels that do half of it."""
import json

from support import DONE, ENDED, NO_VERDICT, USAGE, Workspace, main

ONCE, TWICE = "a * x[i] + b", "a * (a * x[i] + b) + b"
KERNEL = """// SPDX-License-Identifier: Apache-2.0
// assay:template own
// assay:flag -O2 | -O3
// assay:flag -march=native
#include <stdint.h>
extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  for (int64_t i = 0; i < B * N; ++i) y[i] = %s;
}
"""
NEIGHBOURS = """axes = { B = 64, N = 1024 }
state = "in-situ"
near = { producer = "half", consumer = "half" }

[peer.unfused]
sequence = ["half(y = between)", "half(x = between)"]
"""


class InSitu(Workspace):
    def fused(self, workload=NEIGHBOURS):
        half = self.toy("half")
        fused = self.toy("fused", lambda text: text.replace("axes = { B = 64, N = 1024 }\n", workload), KERNEL % TWICE)
        for file in (*fused.glob("*.cpp"), *fused.glob("mutants/*"), *fused.glob("honest/*"), fused / "reference.h"):
            text = file.read_text().replace(ONCE, TWICE).replace("fmaf(a, x[i], b)", "fmaf(a, fmaf(a, x[i], b), b)")
            file.write_text(text.replace("factor * x[i] + offset", "factor * (factor * x[i] + offset) + offset"))
        return half, fused

    def test_a_campaign_in_situ_against_a_sequence(self):
        _, fused = self.fused()
        outcome = self.expect(ENDED, "run", fused, "--budget", 2, "--threads", 1, "--json", "run.json")
        run = self.check_json(self.folder / "run.json")
        decided = {d["against"] for d in run["incumbent"]["decisions"]}
        self.assertEqual({"strict", "relaxed", "unfused"}, decided, outcome)
        decision = [json.loads(e["body"]) for e in self.events() if e["kind"] == "decision"]
        self.assertEqual(1, len(decision))
        explained = self.expect(DONE, "explain", "timing", run["incumbent"]["attempt"]).out
        explained = " ".join(explained.split())  # lines are broken where the width says
        self.assertIn("the same to the last digit", explained)
        self.assertRegex(explained, r"blocks-64, in situ: \d+ % of own .* is its own kernel's time")
        self.check_nothing_left()

    def test_a_kernel_is_benched_between_its_neighbours(self):
        _, fused = self.fused()
        self.expect((DONE, NO_VERDICT), "bench", fused, "relaxed", "--against", "strict", "--threads", 1, "--csv", "units.csv")
        header, *units = (self.folder / "units.csv").read_text().splitlines()
        columns = header.split(",")
        self.assertGreater(len(units), 5)
        for unit in units:
            values = dict(zip(columns, unit.split(",")))
            self.assertEqual(("1", "0"), (values["calls"], values["gated"]), unit)
            self.assertNotEqual("0", values["own_ns"], unit)
            self.assertLess(int(values["own_ns"]), int(values["wall_ns"]), unit)

    def test_neighbours_that_do_not_fit_are_told(self):
        half, fused = self.fused(NEIGHBOURS.replace("near = { producer = \"half\"", "near = { producer = \"whole\""))
        outcome = self.expect(USAGE, "run", fused)
        self.assertRegex(outcome.err, r"fused/contract\.toml:\d+: workload\.blocks-64\.near\.producer: whole is no contract's folder")
        self.edit(fused / "contract.toml", lambda text: text.replace('"whole"', '"half"'))
        shown = self.expect(DONE, "contract", "check", fused, "--no-run").out
        self.assertIn("producer half (B=64 N=1024), its y is x", shown)
        self.assertIn("peer unfused: half(y = between), then half(x = between)", shown)
        self.edit(half / "contract.toml", lambda text: text.replace("max = 4096", "max = 512").replace("N = 1024 }", "N = 512 }"))
        outcome = self.expect(USAGE, "contract", "check", fused, "--no-run")
        self.assertIn("the sizes of half that follow (y to x) are not legal", outcome.err)


if __name__ == "__main__":
    main()
