// SPDX-License-Identifier: Apache-2.0
#include "base/unique_fd.h"

#include <unistd.h>

namespace assay {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

UniqueFd::~UniqueFd() { reset(); }

void UniqueFd::reset() {
  // No retry on EINTR: Linux has already released the number by then, and a
  // second close() could hit a descriptor another thread was just given.
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace assay
