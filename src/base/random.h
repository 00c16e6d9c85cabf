// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace assay {

// A 256-bit secret from which streams are derived.  Seeds never enter a candidate's process.
struct Seed {
  std::array<std::byte, 32> bytes{};
  static Seed FromNumber(uint64_t number);  // reproducible runs: `--seed 7`
  static Seed Fresh();                      // from the kernel's generator
  // An independent seed for a named purpose ("audit", "inputs", ...) and an ordinal.
  Seed Derive(std::string_view purpose, uint64_t ordinal = 0) const;
  std::string Hex() const;
};

// AES-128 in counter mode as a random stream.  A cryptographic stream and not a fast toy, because
// a candidate sees every input it draws and must not be able to foretell the next one or an audit;
// with AES-NI it still fills memory at several GB/s.
class Stream {
 public:
  explicit Stream(const Seed& seed);
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  void Fill(std::span<std::byte> out);
  uint64_t Next();
  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1), 53 bits.
  double Unit();
  // Standard normal.
  double Normal();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
