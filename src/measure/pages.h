// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace assay {

// Anonymous memory that begins on a 2 MiB boundary.  Huge where the kernel gives it: else page faults
// and page walks, not passes, would be what a pass takes.
class Pages {
 public:
  enum class Size { kSmall, kHuge };
  explicit Pages(size_t bytes, Size size = Size::kHuge);
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  // Null when there is not so much memory; errno says why.
  std::byte* bytes() const { return begin_; }
  float* values() const { return reinterpret_cast<float*>(begin_); }

 private:
  void* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::byte* begin_ = nullptr;
};

inline constexpr size_t kHugePage = size_t{2} << 20;
inline constexpr size_t kSmallPage = 4096;

}  // namespace assay
