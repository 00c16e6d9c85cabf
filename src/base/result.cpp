// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cstring>

namespace assay {

Error SystemError(std::string_view what, int errno_value) {
  return Error{ErrorCode::kIo, std::string(what) + ": " + std::strerror(errno_value)};
}

}  // namespace assay
