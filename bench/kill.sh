#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the supervisor at random instants, each campaign resumed to its end: 50 instants of the toy campaign, 5 of
# gqa_attention. Nothing finished is lost, nothing recorded is repeated. Ends with 0 when all of it held.
# Usage: bench/kill.sh [TOY-KILLS [GQA-KILLS]]
set -euo pipefail
cd "$(dirname "$0")/.."
export ASSAY_BIN=${ASSAY_BIN:-$PWD/build/release/bin/assay}
python=/usr/bin/python3
[ -x "$python" ] || python=python3
ASSAY_KILLS=${1:-50} "$python" tests/e2e/test_kill.py
ASSAY_KILLS=${2:-5} ASSAY_KILL_CONTRACT=gqa_attention ASSAY_KILL_BUDGET=${ASSAY_KILL_BUDGET:-22} "$python" tests/e2e/test_kill.py
