#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every file of tests/hostile under five secret seeds: a table of class, outcome, check and seconds. Ends with 0 when
# every hostile case was refused, at least 90 % of them for the reason that the file states, and no honest one was.
# Usage: bench/redteam.sh [FOLDER [SEEDS]]     ASSAY_BIN: the program, default build/release/bin/assay
set -euo pipefail
cd "$(dirname "$0")/.."
assay=${ASSAY_BIN:-$PWD/build/release/bin/assay}
[ -x "$assay" ] || { echo "no program at $assay; build it, or set ASSAY_BIN" >&2; exit 4; }
folder=$(realpath "${1:-tests/hostile}")
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT
code=0
"$assay" redteam "$folder" --seeds "${2:-5}" --json "$cases" || code=$?
python3 - "$cases" <<'PYTHON'
import json, sys
cases = [c for c in json.load(open(sys.argv[1]))["cases"] if c["expected"] != "verified"]
right = sum(c["as_stated"] for c in cases)
print(f"{right} of {len(cases)} for the stated reason: {100 * right / len(cases):.1f} %, at least 90 % wanted")
sys.exit(0 if right >= 0.9 * len(cases) else 1)
PYTHON
exit "$code"
