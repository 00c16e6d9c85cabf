// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace assay {

// What of a compiler's output may leave the build: messages about the candidate's own lines, with the
// lines they quote.  Text of other files is dropped, because a diagnostic that quotes a header would
// be a way to read files through the ledger.  Printable, at most about 2 kB.
std::string OwnMessages(std::string_view output, std::string_view source_name);

}  // namespace assay
