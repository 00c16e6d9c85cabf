// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/hash.h"

namespace assay {
namespace {

Seed FromDigest(const Digest& digest) {
  Seed seed;
  for (size_t i = 0; i < seed.bytes.size(); ++i) {
    seed.bytes[i] = static_cast<std::byte>(std::stoi(digest.substr(2 * i, 2), nullptr, 16));
  }
  return seed;
}

}  // namespace

Seed Seed::FromNumber(uint64_t number) {
  return FromDigest(RecordHash("seed").Add("number", std::to_string(number)).Finish());
}

Seed Seed::Fresh() {
  Seed seed;
  ASSAY_CHECK(::getrandom(seed.bytes.data(), seed.bytes.size(), 0) == static_cast<ssize_t>(seed.bytes.size()));
  return seed;
}

Seed Seed::Derive(std::string_view purpose, uint64_t ordinal) const {
  return FromDigest(
      RecordHash("derive").Add("from", Hex()).Add("purpose", purpose).Add("ordinal", std::to_string(ordinal)).Finish());
}

std::string Seed::Hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::byte b : bytes) {
    hex += kDigits[std::to_integer<unsigned>(b) >> 4];
    hex += kDigits[std::to_integer<unsigned>(b) & 15U];
  }
  return hex;
}

struct Stream::State {
  EVP_CIPHER_CTX* cipher = nullptr;
  std::array<uint64_t, 512> words{};
  size_t used = 512;
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_CIPHER_CTX_free(cipher); }
};

Stream::Stream(const Seed& seed) : state_(std::make_unique<State>()) {
  state_->cipher = EVP_CIPHER_CTX_new();
  ASSAY_CHECK(state_->cipher != nullptr);
  const auto* key = reinterpret_cast<const unsigned char*>(seed.bytes.data());
  ASSAY_CHECK(EVP_EncryptInit_ex(state_->cipher, EVP_aes_128_ctr(), nullptr, key, key + 16) == 1);
}

Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

void Stream::Fill(std::span<std::byte> out) {
  // The keystream is the encryption of zeros.  Chunks keep the zeroing in cache and the length in an int.
  constexpr size_t kChunk = size_t{1} << 16;
  while (!out.empty()) {
    const auto part = out.first(std::min(out.size(), kChunk));
    std::memset(part.data(), 0, part.size());
    auto* bytes = reinterpret_cast<unsigned char*>(part.data());
    int written = 0;
    ASSAY_CHECK(EVP_EncryptUpdate(state_->cipher, bytes, &written, bytes, static_cast<int>(part.size())) == 1);
    out = out.subspan(part.size());
  }
}

uint64_t Stream::Next() {
  if (state_->used == state_->words.size()) {
    Fill(std::as_writable_bytes(std::span(state_->words)));
    state_->used = 0;
  }
  return state_->words[state_->used++];
}

uint64_t Stream::Below(uint64_t bound) {
  ASSAY_CHECK(bound > 0);
  // Rejection keeps it exactly uniform; at most one draw in two is refused.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t draw = Next();
  while (draw >= limit) draw = Next();
  return draw % bound;
}

double Stream::Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Stream::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Unit()));
  return radius * std::cos(6.283185307179586 * Unit());
}

}  // namespace assay
