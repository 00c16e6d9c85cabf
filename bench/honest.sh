#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Honest variants must never be refused: 200 of them or some more (templates at random knobs and kernels written in other
# ways, both compilers, -O2 and -O3, FMA or not, three widths, one and two threads), the same number of each contract, on
# five seeds, at least 20 of them to the end of the exam. Prints a line for each contract as it ends, and each refusal;
# ends with 0 when there was none.
# Usage: bench/honest.sh [BUILD [CONTRACT ...]]     default: build/ci, as ./test makes it; all contracts
# ASSAY_HONEST_VARIANTS, _SEEDS, _EXAMS: other numbers; JOBS: contracts side by side, one by default.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci}
shift || true
test=$build/bin/verify_test
[ -x "$test" ] || { echo "no $test; run ./test, or name a build with tests" >&2; exit 4; }
[ $# -gt 0 ] || set -- $(ls contracts/*/contract.toml | cut -d / -f 2)
each() { echo $((($1 + $2 - 1) / $2)); }
variants=$(each "${ASSAY_HONEST_VARIANTS:-200}" $#)
exams=$(each "${ASSAY_HONEST_EXAMS:-20}" $#)
export ASSAY_HONEST_SEEDS=${ASSAY_HONEST_SEEDS:-5} test variants exams
echo "| contract | variants | asked | examined | refused | of them |"
echo "|---|---|---|---|---|---|"
one() {
  said=$(ASSAY_HONEST_CONTRACT=$1 ASSAY_HONEST_VARIANTS=$variants ASSAY_HONEST_EXAMS=$exams \
    "$test" --gtest_filter='HonestVariants.*' --gtest_brief=1 2>&1) && ended=0 || ended=1
  grep -E "^\| $1 \|" <<<"$said" || ended=1
  [ $ended = 0 ] || grep -vE '^\||^\[|^Running|^Note' <<<"$said"
  return $ended
}
export -f one
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -I '{}' bash -c 'one {}'
