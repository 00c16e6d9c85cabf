// SPDX-License-Identifier: Apache-2.0
//
// A compiler's output about hostile source: only lines about the candidate's own file are kept, and
// nothing that a terminal would obey.
#include "base/text.h"
#include "language/cpp/diagnostics.h"
#include "target.h"

namespace assay {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string own = OwnMessages(fuzz::Text(data, size), "candidate.cpp");
  // A tab stays what it is: compilers put them before quoted lines.
  for (const char c : own)
    ASSAY_CHECK(c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
  static_cast<void>(Printable(fuzz::Text(data, size)));
  return 0;
}

}  // namespace assay
