// SPDX-License-Identifier: Apache-2.0
#pragma once

// Logarithm and its like from additions, multiplications, divisions and square roots alone.  A search has to propose
// the same on every machine, and the last place of a library's logarithm depends on the library and on the processor
// that it was chosen for.  Compiled without contraction.
namespace assay {

double PlainLog(double x);  // x > 0; within 1e-14 relative to max(1, |log x|)
double PlainExp(double x);  // within 1e-14 of its value; 0 below -700, exp(700) above 700
double NormalDensity(double z);
double NormalBelow(double z);  // within 2e-7

}  // namespace assay
