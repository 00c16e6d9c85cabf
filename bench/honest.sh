#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Honest variants must never be refused: 200 of them (templates at random knobs and kernels written in other ways, both
# compilers, -O2 and -O3, FMA or not, three widths, one and two threads) over all contracts, on five seeds, 20 of them to
# the end of the exam. Prints a table and each refusal; ends with 0 when there was none.
# Usage: bench/honest.sh [BUILD]     default: build/ci, as ./test makes it
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci}
[ -x "$build/bin/verify_test" ] || { echo "no $build/bin/verify_test; run ./test, or name a build with tests" >&2; exit 4; }
export ASSAY_HONEST_VARIANTS=${ASSAY_HONEST_VARIANTS:-200} ASSAY_HONEST_SEEDS=${ASSAY_HONEST_SEEDS:-5}
export ASSAY_HONEST_EXAMS=${ASSAY_HONEST_EXAMS:-20}
exec "$build/bin/verify_test" --gtest_filter='HonestVariants.*'
