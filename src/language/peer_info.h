// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "contract/contract.h"

namespace assay {

// What a peer says of itself (`info` in a contract): the text of a function of its library, or of
// ENTRY_info() in its source; asked once per content in a process of its own.  "" without `info`.
// `openblas_get_corename` answers "SkylakeX": a win over a peer that picked a slow kernel is no win.
Result<std::string> PeerInfo(const Contract& contract, const ReferenceKernel& reference, int threads);

}  // namespace assay
