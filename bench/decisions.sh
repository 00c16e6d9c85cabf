#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The decision's operating characteristics on synthetic streams: false claims, power, spoilt and two-faced restarts, groups
# to a decision. Whole campaigns through the same race and the same decision as live ones. Ends with 0 when each bar of
# docs/clock.md is met. About ten minutes on two cores.
# Usage: bench/decisions.sh [CAMPAIGNS [BUILD]]     default: 20000, build/ci as ./test makes it
set -euo pipefail
cd "$(dirname "$0")/.."
build=${2:-build/ci}
[ -x "$build/bin/measure_test" ] || { echo "no $build/bin/measure_test; run ./test, or name a build with tests" >&2; exit 4; }
echo "| stream | campaigns | FASTER % | SLOWER % | SAME % | UNDECIDED % | UNSTABLE % | groups, median / p90 | short groups |"
echo "|---|---|---|---|---|---|---|---|---|"
code=0
said=$(ASSAY_SIMULATE=${1:-20000} "$build/bin/measure_test" --gtest_filter='Simulation.*' --gtest_brief=1 2>&1) || code=$?
grep '^|' <<<"$said"
[ $code = 0 ] || grep -v '^|' <<<"$said"
exit $code
