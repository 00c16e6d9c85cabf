// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the authors of contracts: everything that a `template <class Real> void Reference(const
// assay::Args<Real>&, const assay::Slice&)` is written with.  docs/numerics.md says what the number
// types do with it.

#include <cmath>
#include <cstdint>
#include <vector>

#include "args.h"
#include "bounded.h"
#include "count.h"
#include "exact.h"
#include "honest.h"
#include "plain.h"
#include "primitives.h"
#include "taped.h"
