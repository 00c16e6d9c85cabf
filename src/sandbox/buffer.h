// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/session.h"

namespace assay {

// Memory that the supervisor keeps mapped and that the runner maps between inaccessible pages, one
// file per buffer.  Inputs are sealed so that the runner's mapping can never become writable while
// ours still writes; all are sealed against changing size, so that no access of ours can fault.  A borrowed buffer is
// another one's file: both runners then meet the same cache lines.  It is only read, by us too.
class Buffer {
 public:
  // `end_at_guard`: the payload's last byte (rounded up to the alignment) touches the guard behind
  // it, so that one read too far is a fault; else its first byte touches the guard in front.
  static Result<Buffer> Create(const BufferSpec& spec, bool end_at_guard);

  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  const BufferSpec& spec() const { return spec_; }
  int fd() const { return fd_.get(); }
  size_t slot_bytes() const { return slot_bytes_; }  // whole pages
  size_t payload_offset() const { return payload_offset_; }
  bool writable_inside() const { return spec_.access != Access::kInput; }

  // Of a lent buffer, once its own runner has mapped it: from now on every new mapping is for reading.
  Status Seal() const;
  Result<std::shared_ptr<const LentPages>> Lend() const;

  std::span<std::byte> Slot(int slot) const;
  std::span<std::byte> Payload(int slot) const;

  // Makes all pages at once, for a buffer that will be written whole.
  void Populate();
  void Poison(int slot, uint64_t pattern, bool payload_too);
  std::optional<GuardHit> CheckGuards(int slot) const;
  bool StillPoison(int slot, size_t offset, size_t bytes) const;

 private:
  Buffer() = default;
  static Result<Buffer> Borrow(const BufferSpec& spec);

  BufferSpec spec_{};
  UniqueFd fd_;
  std::byte* base_ = nullptr;
  size_t slot_bytes_ = 0;
  size_t payload_offset_ = 0;
  std::vector<uint64_t> patterns_;  // per slot, as last poisoned
};

// A shared file of this size, sealed against changing size, mapped.
enum class Sealing {
  kSize,         // written by whoever holds it
  kFutureWrite,  // as for inputs: later mappings are for reading
  kLater,        // as kSize, but kFutureWrite may follow
};
struct SharedFile {
  UniqueFd fd;
  void* address = nullptr;
};
Result<SharedFile> CreateShared(const char* name, size_t bytes, Sealing sealing, bool map_writable);

}  // namespace assay
