// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace assay::internal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "assay: %s:%d: internal promise broken: %s\n", file, line, condition);
  std::abort();
}

}  // namespace assay::internal
