// SPDX-License-Identifier: Apache-2.0
#include "sandbox/buffer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <unistd.h>

namespace assay {
namespace {

TEST(Buffer, FindsTheFirstByteTouchedOutside) {
  struct Case {
    const char* name;
    int64_t touched;  // from the payload's start; no byte when inside
    bool hit;
  };
  for (const bool end_at_guard : {false, true}) {
    auto buffer = Buffer::Create({"b", 1003, Access::kOutput, 64, 2, 2}, end_at_guard);
    ASSERT_TRUE(buffer.ok());
    const Case cases[] = {{"first byte inside", 0, false},  {"last byte inside", 1002, false},
                          {"one behind", 1003, true},       {"one before", -1, true},
                          {"rest of the line", 1023, true}, {"far before", -64, true}};
    for (const Case& c : cases) {
      SCOPED_TRACE(c.name);
      const int64_t at = static_cast<int64_t>(buffer.value().payload_offset()) + c.touched;
      ASSERT_GE(at, 0);
      ASSERT_LT(at, static_cast<int64_t>(buffer.value().slot_bytes()));
      buffer.value().Poison(1, PoisonPattern(5), true);
      EXPECT_FALSE(buffer.value().CheckGuards(1));
      buffer.value().Slot(1)[static_cast<size_t>(at)] ^= std::byte{1};
      const auto hit = buffer.value().CheckGuards(1);
      EXPECT_EQ(hit.has_value(), c.hit);
      if (hit) {
        EXPECT_EQ(hit->offset, c.touched);
      }
      EXPECT_FALSE(buffer.value().CheckGuards(0) && c.hit) << "the other slot";
    }
  }
}

TEST(Buffer, TellsPoisonFromAnswers) {
  auto buffer = Buffer::Create({"b", 64, Access::kOutput, 1, 1, 0}, true);
  ASSERT_TRUE(buffer.ok());
  for (const uint64_t pattern : {PoisonPattern(1), ~PoisonPattern(1)}) {
    buffer.value().Poison(0, pattern, true);
    EXPECT_TRUE(buffer.value().StillPoison(0, 0, 64));
    EXPECT_TRUE(buffer.value().StillPoison(0, 13, 7));
    buffer.value().Payload(0)[20] ^= std::byte{0x10};
    EXPECT_FALSE(buffer.value().StillPoison(0, 13, 8));
    EXPECT_TRUE(buffer.value().StillPoison(0, 13, 7));
    EXPECT_TRUE(buffer.value().StillPoison(0, 21, 43));
    EXPECT_TRUE(buffer.value().StillPoison(0, 64, 0));
  }
}

TEST(Buffer, SealsHold) {
  for (const Access access : {Access::kInput, Access::kOutput}) {
    auto buffer = Buffer::Create({"b", 8192, access, 64, 1, 0}, true);
    ASSERT_TRUE(buffer.ok());
    const int fd = buffer.value().fd();
    EXPECT_NE(::ftruncate(fd, 0), 0);
    EXPECT_NE(::ftruncate(fd, 1 << 20), 0);
    EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    const bool writable = access != Access::kInput;
    EXPECT_EQ(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED, writable);
    void* read_only = ::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(read_only, MAP_FAILED);
    EXPECT_EQ(::mprotect(read_only, 8192, PROT_READ | PROT_WRITE) == 0, writable);
    buffer.value().Payload(0)[0] = std::byte{42};
    EXPECT_EQ(static_cast<const std::byte*>(read_only)[0], std::byte{42}) << "our own mapping writes on";
    ::munmap(read_only, 8192);
  }
}

TEST(Buffer, LentPagesAreReadWhereTheyWereWritten) {
  auto lender = Buffer::Create({"out", 1000, Access::kOutput, 64, 2, 1, true}, true);
  ASSERT_TRUE(lender.ok());
  const int fd = lender.value().fd();
  void* writers = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(writers, MAP_FAILED) << "the process that writes it maps it first";
  ASSERT_TRUE(lender.value().Seal().ok());
  EXPECT_EQ(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  void* read_only = ::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(read_only, MAP_FAILED);
  EXPECT_NE(::mprotect(read_only, 8192, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::pwrite(fd, "x", 1, 0), 1);

  auto pages = lender.value().Lend();
  ASSERT_TRUE(pages.ok());
  auto borrower = Buffer::Create({"in", 1000, Access::kInput, 64, 2, 0, false, pages.value()}, false);
  ASSERT_TRUE(borrower.ok()) << borrower.error().message;
  static_cast<std::byte*>(writers)[4096 + lender.value().payload_offset() + 3] = std::byte{42};
  EXPECT_EQ(borrower.value().Payload(1)[3], std::byte{42});
  EXPECT_EQ(borrower.value().Payload(1).size(), 1000U);
  ::munmap(writers, 8192);
  ::munmap(read_only, 8192);

  const BufferSpec wrong[] = {{"in", 999, Access::kInput, 64, 2, 0, false, pages.value()},
                              {"in", 1000, Access::kInput, 64, 3, 0, false, pages.value()},
                              {"in", 1000, Access::kInput, 4096, 2, 0, false, pages.value()},
                              {"in", 1000, Access::kOutput, 64, 2, 0, false, pages.value()}};
  for (const BufferSpec& spec : wrong) EXPECT_FALSE(Buffer::Create(spec, false).ok());
}

TEST(Buffer, RefusesWhatCannotBePlaced) {
  const struct {
    const char* name;
    BufferSpec spec;
    bool ok;
  } cases[] = {{"plain", {"b", 1, Access::kInput}, true},
               {"empty", {"b", 0, Access::kInput}, true},
               {"page aligned", {"b", 1, Access::kInput, 4096}, true},
               {"beyond a page", {"b", 1, Access::kInput, 8192}, false},
               {"alignment of three", {"b", 1, Access::kInput, 3}, false},
               {"no slot", {"b", 1, Access::kInput, 64, 0}, false},
               {"absurd size", {"b", ~size_t{0}, Access::kInput}, false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Buffer::Create(c.spec, true).ok(), c.ok);
  }
}

}  // namespace
}  // namespace assay
