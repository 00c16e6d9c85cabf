// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay {

// Takes `memory` out of every cache of the machine, written back, line by line: whoever maps the same pages meets
// them in DRAM.  Costs what it flushes, however large the last-level cache says it is.  With `cpus` also replaces what
// the private caches and translation buffers of those processors held (code, stacks, tables of a stopped process);
// what only a shared cache holds of that stays there.  Processors without such an instruction read twice the
// last-level cache instead.  Error: no memory to do it with.
Status EmptyCaches(std::span<const std::span<const std::byte>> memory, const std::vector<int>& cpus);

}  // namespace assay
