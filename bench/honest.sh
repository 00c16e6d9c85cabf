#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Honest variants must never be refused: 60 of them (knobs at random, both compilers, -O2 and -O3, one and two threads)
# over the four contracts, three seeds. Prints how many were tried and each refusal; ends with 0 when there was none.
# Usage: bench/honest.sh [BUILD]     default: build/ci, as ./test makes it
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci}
[ -x "$build/bin/verify_test" ] || { echo "no $build/bin/verify_test; run ./test, or name a build with tests" >&2; exit 4; }
export ASSAY_HONEST_VARIANTS=${ASSAY_HONEST_VARIANTS:-60} ASSAY_HONEST_SEEDS=${ASSAY_HONEST_SEEDS:-3}
exec "$build/bin/verify_test" --gtest_filter='HonestVariants.*'
