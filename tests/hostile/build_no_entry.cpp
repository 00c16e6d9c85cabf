// assay:expect rejected load_failed
// SPDX-License-Identifier: Apache-2.0
// assay:note class: build, contract: softmax_rows
// Defines everything but the entry.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static void Nothing() {}
extern "C" void softmax_rows_main() { Nothing(); }
