#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each campaign tries one honest kernel and one planted fault of the contract's author, and ends where the gate is wrong
# about either. All of them, again and again: ends with 0 when every honest one passed and every fault was refused.
# Usage: bench/controls.sh [SEEDS [CONTRACT ...]]     default: 5 seeds, all contracts; ASSAY_BIN: the program
set -euo pipefail
cd "$(dirname "$0")/.."
assay=${ASSAY_BIN:-$PWD/build/release/bin/assay}
[ -x "$assay" ] || { echo "no program at $assay; build it, or set ASSAY_BIN" >&2; exit 4; }
seeds=${1:-5}
shift || true
[ $# -gt 0 ] || set -- $(ls contracts/*/contract.toml | cut -d / -f 2)
code=0
for name in "$@"; do
  for kind in honest mutants; do
    [ -d "contracts/$name/$kind" ] || continue
    "$assay" redteam "contracts/$name/$kind" --contract "$name" --seeds "$seeds" 2>/dev/null || code=1
  done
done
exit "$code"
