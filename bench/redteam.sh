#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every file of tests/hostile under five secret seeds: a table of class, outcome, check and seconds. Ends with 0 when
# every hostile case was refused, at least 90 % of them for the reason that the file states, and no honest one was.
# Usage: bench/redteam.sh [--as-nobody] [FOLDER [SEEDS]]     ASSAY_BIN: the program, default build/release/bin/assay
# --as-nobody (of root): the same by an ordinary user, on a copy of contracts and files.
set -euo pipefail
cd "$(dirname "$0")/.."
as=()
if [ "${1:-}" = --as-nobody ]; then
  shift
  [ "$(id -u)" = 0 ] || { echo "you are an ordinary user: leave out --as-nobody" >&2; exit 4; }
  as=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all)
fi
assay=${ASSAY_BIN:-$PWD/build/release/bin/assay}
[ -x "$assay" ] || { echo "no program at $assay; build it, or set ASSAY_BIN" >&2; exit 4; }
folder=$(realpath "${1:-tests/hostile}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ${#as[@]} -gt 0 ]; then
  cp -r contracts "$work/contracts"
  cp -r "$folder" "$work/files"
  folder=$work/files
  chown -R 65534:65534 "$work"
  export HOME=$work  # of the user's cache
  unset XDG_CACHE_HOME
  cd "$work"
  "${as[@]}" test -x "$assay" || { echo "an ordinary user may not run $assay" >&2; exit 4; }
fi
code=0
"${as[@]}" "$assay" redteam "$folder" --seeds "${2:-5}" --json "$work/cases.json" || code=$?
python3 - "$work/cases.json" <<'PYTHON'
import json, sys
cases = [c for c in json.load(open(sys.argv[1]))["cases"] if c["expected"] != "verified"]
right = sum(c["as_stated"] for c in cases)
print(f"{right} of {len(cases)} for the stated reason: {100 * right / len(cases):.1f} %, at least 90 % wanted")
sys.exit(0 if right >= 0.9 * len(cases) else 1)
PYTHON
exit "$code"
