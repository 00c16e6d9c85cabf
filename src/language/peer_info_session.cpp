// SPDX-License-Identifier: Apache-2.0
#include "language/peer_info_session.h"

#include "base/file.h"
#include "sandbox/session.h"

namespace assay {

Result<std::string> AskInfo(std::string_view shared_object, const std::vector<std::filesystem::path>& libraries,
                            int threads) {
  constexpr uint64_t kRoom = 256;
  ASSAY_TRY(const TemporaryFolder folder, TemporaryFolder::Create("assay-info-"));
  ASSAY_TRY_STATUS(WriteFileAtomically(folder.path() / "info.so", shared_object));
  SessionSpec spec;
  spec.artifact = folder.path() / "info.so";
  spec.symbols = {"assay_info"};
  spec.buffers = {{"text", kRoom, Access::kOutput}};
  spec.libraries = libraries;
  spec.threads = threads;
  spec.trusted = true;
  ASSAY_TRY(StartOutcome started, Session::Start(spec));
  if (const auto* failed = std::get_if<LoadFailed>(&started)) return Error{ErrorCode::kUnavailable, failed->text};
  if (const auto* ended = std::get_if<Ended>(&started)) return Error{ErrorCode::kUnavailable, ended->evidence};
  Session& session = std::get<Session>(started);
  Call call;
  call.arguments = {PointerArgument{0, 0}, IntegerArgument{kRoom}};
  ASSAY_TRY(const UnitOutcome outcome, session.Run(std::span(&call, 1), std::chrono::seconds(5), WaitMode::kSleep));
  if (std::get_if<Completed>(&outcome) == nullptr)
    return Error{ErrorCode::kUnavailable, "the peer's info function did not return"};
  const auto bytes = session.Output(0, 0);
  std::string text;
  for (const std::byte byte : bytes) {
    if (byte == std::byte{0}) break;
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

}  // namespace assay
