// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "numerics/oracle_client.h"
#include "verify/answers.h"

namespace assay {

// What an oracle wrote for some slices, as elements to compare.  Indices are made of the keys that it
// published, parts of one element are put together, and outputs whose slices are not these are left out.
// `own`: the output whose own slices were asked; none: the contract's slices.
Result<Collected> Collect(const Contract& contract, const Shape& shape, const OracleAnswer& answer,
                          std::optional<size_t> own);

}  // namespace assay
