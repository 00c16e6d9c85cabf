// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "sandbox/session.h"

namespace assay {

constexpr uint64_t RoundUp(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

// How the process of an author's code failed; whose fault that is, and in which words, its owner knows.
struct AuthorFailure {
  enum class Kind { kNotLoaded, kEndedAtStart, kEnded, kTooSlow };
  Kind kind;
  std::string text;  // one line; empty for kTooSlow
};

// One jailed process around an object of BuildAuthorCode: a request goes in, a block of tensors beside
// it, a response comes out.  It is started when it is first needed, and again when it needs more room.
class AuthorProcess {
 public:
  AuthorProcess(std::filesystem::path object, std::string symbol)
      : object_(std::move(object)), symbol_(std::move(symbol)) {}

  // True when the process that has room for all three had to be started: its block is empty then.
  struct Reserved {
    bool fresh = false;
    std::optional<AuthorFailure> failure;
  };
  Result<Reserved> Reserve(uint64_t request, uint64_t response, uint64_t block);

  // After Reserve, until Run has failed.
  std::span<std::byte> Request() { return session_->Input(kRequest, 0); }
  std::span<std::byte> Block() { return session_->Input(kBlock, 0); }
  std::span<const std::byte> Response() const { return session_->Output(kResponse, 0); }

  // One call; the process is gone when it failed.
  Result<std::optional<AuthorFailure>> Run(std::chrono::seconds limit);

 private:
  static constexpr int kRequest = 0, kResponse = 1, kBlock = 2;

  std::filesystem::path object_;
  std::string symbol_;
  std::optional<Session> session_;
};

}  // namespace assay
