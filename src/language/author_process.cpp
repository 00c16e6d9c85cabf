// SPDX-License-Identifier: Apache-2.0
#include "language/author_process.h"

#include <algorithm>
#include <utility>

namespace assay {

Result<AuthorProcess::Reserved> AuthorProcess::Reserve(uint64_t request, uint64_t response, uint64_t block) {
  const bool fits = session_ && Request().size() >= request && Response().size() >= response && Block().size() >= block;
  if (fits) return Reserved{};
  session_.reset();
  SessionSpec spec;
  spec.artifact = object_;
  spec.symbols = {symbol_};
  // With slack, so that shapes that grow little by little do not restart it each time.
  spec.buffers = {{"request", RoundUp(request * 2, 4096), Access::kInput},
                  {"response", RoundUp(response * 2, 4096), Access::kOutput},
                  {"block", RoundUp(std::max<uint64_t>(block + block / 2, 4096), 4096), Access::kInput}};
  spec.trusted = true;
  spec.untimed = true;
  ASSAY_TRY(StartOutcome started, Session::Start(spec));
  using Kind = AuthorFailure::Kind;
  if (const auto* failed = std::get_if<LoadFailed>(&started))
    return Reserved{true, AuthorFailure{Kind::kNotLoaded, failed->text}};
  if (const auto* ended = std::get_if<Ended>(&started))
    return Reserved{true, AuthorFailure{Kind::kEndedAtStart, ended->evidence}};
  session_ = std::get<Session>(std::move(started));
  return Reserved{true, std::nullopt};
}

Result<std::optional<AuthorFailure>> AuthorProcess::Run(std::chrono::seconds limit) {
  Call call;
  call.arguments = {PointerArgument{kRequest, 0}, PointerArgument{kResponse, 0}, PointerArgument{kBlock, 0}};
  ASSAY_TRY(const UnitOutcome outcome, session_->Run(std::span(&call, 1), limit, WaitMode::kSleep));
  if (std::get_if<Completed>(&outcome) != nullptr) return std::optional<AuthorFailure>();
  session_.reset();
  const auto* ended = std::get_if<Ended>(&outcome);
  using Kind = AuthorFailure::Kind;
  return std::optional(ended != nullptr ? AuthorFailure{Kind::kEnded, ended->evidence}
                                        : AuthorFailure{Kind::kTooSlow, ""});
}

}  // namespace assay
