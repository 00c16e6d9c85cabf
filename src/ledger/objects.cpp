// SPDX-License-Identifier: Apache-2.0
#include "ledger/objects.h"

#include <zstd.h>

#include "base/file.h"

namespace assay {
namespace {
// No object that the program writes comes near; a damaged header must not make it allocate more.
constexpr size_t kLargestObject = size_t{512} << 20;
}  // namespace

Result<std::string> Compress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
  if (ZSTD_isError(size) != 0) return Error{ErrorCode::kIo, std::string("zstd: ") + ZSTD_getErrorName(size)};
  out.resize(size);
  return out;
}

Result<std::string> Decompress(std::string_view bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size > kLargestObject) return Error{ErrorCode::kCorrupt, "zstd: not a frame of a plausible size"};
  std::string out(static_cast<size_t>(size), '\0');
  const size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0) return Error{ErrorCode::kCorrupt, std::string("zstd: ") + ZSTD_getErrorName(got)};
  if (got != size) return Error{ErrorCode::kCorrupt, "zstd: shorter than its header says"};
  return out;
}

std::filesystem::path ObjectStore::PathOf(const Digest& name) const {
  return folder_ / name.substr(0, 2) / (name.substr(2) + ".zst");
}

Result<Digest> ObjectStore::Put(std::string_view bytes) const {
  const Digest name = Sha256(bytes);
  const std::filesystem::path path = PathOf(name);
  std::error_code error;
  if (std::filesystem::exists(path, error)) return name;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + path.parent_path().string() + ": " + error.message()};
  ASSAY_TRY(const std::string packed, Compress(bytes));
  ASSAY_TRY_STATUS(WriteFileAtomically(path, packed));
  return name;
}

Result<std::string> ObjectStore::Get(const Digest& name) const {
  if (name.size() != 64 || name.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return Error{ErrorCode::kInvalidInput, "not an object name: 64 hexadecimal digits are wanted"};
  }
  ASSAY_TRY(const std::string packed, ReadFile(PathOf(name), kLargestObject));
  ASSAY_TRY(std::string bytes, Decompress(packed));
  if (Sha256(bytes) != name)
    return Error{ErrorCode::kCorrupt, PathOf(name).string() + ": content does not match its name"};
  return bytes;
}

}  // namespace assay
