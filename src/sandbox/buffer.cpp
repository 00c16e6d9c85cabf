// SPDX-License-Identifier: Apache-2.0
#include "sandbox/buffer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace assay {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kLine = 64;

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

// The pattern repeats at multiples of eight from the slot's start, wherever the range begins.
std::byte PatternAt(uint64_t pattern, size_t position) {
  return static_cast<std::byte>(pattern >> (8 * (position % sizeof(pattern))));
}

// A page of one pattern, or as much of it as `bytes` need: the C library copies and compares whole pages at several
// times the speed of a plain loop, and poisoning is a tenth of what a group costs.  A gap between rows is a few bytes.
class PatternPage {
 public:
  PatternPage(uint64_t pattern, size_t bytes) {
    std::fill_n(words_.begin(), RoundUp(std::min(bytes, kPage), sizeof(pattern)) / sizeof(pattern), pattern);
  }
  const uint64_t* data() const { return words_.data(); }

 private:
  std::array<uint64_t, kPage / sizeof(uint64_t)> words_;
};

void FillPattern(std::span<std::byte> slot, size_t begin, size_t end, uint64_t pattern) {
  const PatternPage page(pattern, end - begin);
  size_t at = begin;
  while (at < end && at % sizeof(pattern) != 0) slot[at] = PatternAt(pattern, at), ++at;
  while (at < end) {
    const size_t bytes = std::min(end - at, kPage);
    std::memcpy(slot.data() + at, page.data(), bytes);
    at += bytes;
  }
}

// The first position in [begin, end) that differs, or end.
size_t FirstDifference(std::span<const std::byte> slot, size_t begin, size_t end, uint64_t pattern) {
  const PatternPage page(pattern, end - begin);
  size_t at = begin;
  while (at < end) {
    const size_t bytes = std::min(end - at, kPage);
    if (at % sizeof(pattern) == 0 && std::memcmp(slot.data() + at, page.data(), bytes) == 0) {
      at += bytes;
    } else if (slot[at] == PatternAt(pattern, at)) {
      ++at;
    } else {
      return at;
    }
  }
  return end;
}

}  // namespace

Result<SharedFile> CreateShared(const char* name, size_t bytes, Sealing sealing, bool map_writable) {
  SharedFile file;
  file.fd = UniqueFd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.fd.valid()) return SystemError("memfd_create", errno);
  if (::ftruncate(file.fd.get(), static_cast<off_t>(bytes)) != 0) return SystemError("size of shared memory", errno);
  const int protection = map_writable ? PROT_READ | PROT_WRITE : PROT_READ;
  file.address = ::mmap(nullptr, bytes, protection, MAP_SHARED, file.fd.get(), 0);
  if (file.address == MAP_FAILED) return SystemError("map shared memory", errno);
  // F_SEAL_WRITE would refuse while our own mapping exists; this one binds everybody who maps later.
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | (sealing == Sealing::kLater ? 0 : F_SEAL_SEAL) |
                    (sealing == Sealing::kFutureWrite ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(file.fd.get(), F_ADD_SEALS, seals) != 0) {
    const int error = errno;
    ::munmap(file.address, bytes);
    return SystemError("seal shared memory", error);
  }
  return file;
}

Result<Buffer> Buffer::Create(const BufferSpec& spec, bool end_at_guard) {
  if (!std::has_single_bit(spec.align) || spec.align > kPage || spec.slots == 0) {
    return Error{ErrorCode::kInvalidInput, "buffer " + spec.name + ": alignment or number of slots"};
  }
  if (spec.bytes > (size_t{1} << 40) || spec.slots > 4096 || spec.line_offset > 4096) {
    return Error{ErrorCode::kInvalidInput, "buffer " + spec.name + ": too large"};
  }
  if (spec.borrowed) return Borrow(spec);
  Buffer buffer;
  buffer.spec_ = spec;
  const size_t room = RoundUp(spec.bytes, spec.align) + RoundUp(kLine * spec.line_offset, spec.align);
  buffer.slot_bytes_ = RoundUp(room == 0 ? 1 : room, kPage);
  buffer.payload_offset_ = end_at_guard ? buffer.slot_bytes_ - room : RoundUp(kLine * spec.line_offset, spec.align);
  buffer.patterns_.assign(spec.slots, 0);
  const size_t bytes = buffer.slot_bytes_ * spec.slots;
  const Sealing sealing = spec.access == Access::kInput ? Sealing::kFutureWrite
                          : spec.lent                   ? Sealing::kLater
                                                        : Sealing::kSize;
  ASSAY_TRY(SharedFile file, CreateShared("assay-buffer", bytes, sealing, true));
  buffer.fd_ = std::move(file.fd);
  buffer.base_ = static_cast<std::byte*>(file.address);
  return buffer;
}

Result<Buffer> Buffer::Borrow(const BufferSpec& spec) {
  const LentPages& pages = *spec.borrowed;
  if (spec.access != Access::kInput || spec.bytes != pages.bytes || spec.slots != pages.slots ||
      pages.payload_offset % spec.align != 0) {
    return Error{ErrorCode::kInvalidInput, "buffer " + spec.name + ": is not what was lent to it"};
  }
  Buffer buffer;
  buffer.spec_ = spec;
  buffer.slot_bytes_ = pages.slot_bytes;
  buffer.payload_offset_ = pages.payload_offset;
  buffer.patterns_.assign(spec.slots, 0);
  buffer.fd_ = UniqueFd(::fcntl(pages.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!buffer.fd_.valid()) return SystemError("borrow shared memory", errno);
  void* address = ::mmap(nullptr, buffer.slot_bytes_ * spec.slots, PROT_READ, MAP_SHARED, buffer.fd_.get(), 0);
  if (address == MAP_FAILED) return SystemError("map borrowed memory", errno);
  buffer.base_ = static_cast<std::byte*>(address);
  return buffer;
}

Status Buffer::Seal() const {
  ASSAY_CHECK(spec_.lent);
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
    return SystemError("seal shared memory", errno);
  return Ok();
}

Result<std::shared_ptr<const LentPages>> Buffer::Lend() const {
  ASSAY_CHECK(spec_.lent);
  auto pages = std::make_shared<LentPages>();
  pages->fd = UniqueFd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!pages->fd.valid()) return SystemError("lend shared memory", errno);
  pages->bytes = spec_.bytes;
  pages->slots = spec_.slots;
  pages->slot_bytes = slot_bytes_;
  pages->payload_offset = payload_offset_;
  return std::shared_ptr<const LentPages>(std::move(pages));
}

Buffer::Buffer(Buffer&& other) noexcept
    : spec_(std::move(other.spec_)),
      fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)),
      slot_bytes_(other.slot_bytes_),
      payload_offset_(other.payload_offset_),
      patterns_(std::move(other.patterns_)) {}

Buffer::~Buffer() {
  if (base_ != nullptr) ::munmap(base_, slot_bytes_ * spec_.slots);
}

std::span<std::byte> Buffer::Slot(int slot) const {
  ASSAY_CHECK(slot >= 0 && static_cast<size_t>(slot) < spec_.slots);
  return {base_ + static_cast<size_t>(slot) * slot_bytes_, slot_bytes_};
}

std::span<std::byte> Buffer::Payload(int slot) const { return Slot(slot).subspan(payload_offset_, spec_.bytes); }

void Buffer::Populate() {
#ifdef MADV_POPULATE_WRITE
  // Older kernels do not know it; then each page is faulted in when it is written.
  static_cast<void>(::madvise(base_, slot_bytes_ * spec_.slots, MADV_POPULATE_WRITE));
#endif
}

void Buffer::Poison(int slot, uint64_t pattern, bool payload_too) {
  ASSAY_CHECK(!spec_.borrowed);
  const std::span<std::byte> bytes = Slot(slot);
  patterns_[static_cast<size_t>(slot)] = pattern;
  if (payload_too) return FillPattern(bytes, 0, bytes.size(), pattern);
  FillPattern(bytes, 0, payload_offset_, pattern);
  FillPattern(bytes, payload_offset_ + spec_.bytes, bytes.size(), pattern);
}

std::optional<GuardHit> Buffer::CheckGuards(int slot) const {
  const std::span<const std::byte> bytes = Slot(slot);
  const uint64_t pattern = patterns_[static_cast<size_t>(slot)];
  const size_t end = payload_offset_ + spec_.bytes;
  const size_t behind = FirstDifference(bytes, end, bytes.size(), pattern);
  if (behind != bytes.size()) return GuardHit{static_cast<int64_t>(behind - payload_offset_)};
  const size_t before = FirstDifference(bytes, 0, payload_offset_, pattern);
  if (before != payload_offset_) return GuardHit{static_cast<int64_t>(before) - static_cast<int64_t>(payload_offset_)};
  return std::nullopt;
}

bool Buffer::StillPoison(int slot, size_t offset, size_t bytes) const {
  ASSAY_CHECK(offset <= spec_.bytes && bytes <= spec_.bytes - offset);
  const size_t begin = payload_offset_ + offset;
  return FirstDifference(Slot(slot), begin, begin + bytes, patterns_[static_cast<size_t>(slot)]) == begin + bytes;
}

}  // namespace assay
