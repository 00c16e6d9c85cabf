// SPDX-License-Identifier: Apache-2.0
#include <assay/inputs.h>

void Inputs(assay::Draw& draw) { (void)draw; }
