// SPDX-License-Identifier: Apache-2.0
#include "measure/pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace assay {

Pages::Pages(size_t bytes, Size size) : mapped_bytes_(bytes + kHugePage) {
  void* mapped = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return;
  mapped_ = mapped;
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  begin_ = static_cast<std::byte*>(mapped) + (kHugePage - address % kHugePage) % kHugePage;
  static_cast<void>(::madvise(mapped, mapped_bytes_, size == Size::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

Pages::~Pages() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
}

}  // namespace assay
