// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "language/instance.h"
#include "record/verdict.h"
#include "sandbox/session.h"

namespace assay {

// A process for the artifact, still without buffers.
SessionSpec BaseSpec(const InstanceSpec& spec);

// Why a candidate that asks for so much is refused; nothing when it is within 0 and `most`.
std::optional<std::string> BadSize(std::string_view what, int64_t bytes, int64_t most, std::string_view rule);

using SizeOutcome = std::variant<int64_t, Rejected>;
// Calls ENTRY_scratch or ENTRY_packed in a process of its own: buffers are made before a process starts.
Result<SizeOutcome> AskSize(const InstanceSpec& spec, const std::string& symbol);

}  // namespace assay
