// SPDX-License-Identifier: Apache-2.0
//
// A user's C or C++ file, as `assay init` reads it.
#include <string>

#include "contract/c_signature.h"
#include "target.h"

namespace assay {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source = fuzz::Text(data, size);
  const auto signature = ReadSignature(source, "kernel", "kernel.c");
  if (!signature.ok()) {
    ASSAY_CHECK(!signature.error().message.empty());
    return 0;
  }
  ASSAY_CHECK(signature.value().symbol == "kernel");
  static_cast<void>(DraftContract(signature.value(), "drafted"));
  static_cast<void>(DraftBaseline(source, signature.value()));
  static_cast<void>(WidenedReference(source, signature.value()));
  return 0;
}

}  // namespace assay
