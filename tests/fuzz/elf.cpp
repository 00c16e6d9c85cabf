// SPDX-License-Identifier: Apache-2.0
//
// Object files that a compiler made of a candidate's source, or that somebody put in its place.
#include "language/cpp/elf_file.h"
#include "language/cpp/machine_code.h"
#include "language/cpp/policy.h"
#include "target.h"

namespace assay {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::Text(data, size);
  FilePolicy policy;
  policy.required_exports = {"softmax_rows"};
  const auto object = CheckObject(bytes, policy);
  const auto shared = CheckSharedObject(bytes, policy);
  const auto twin = TwinOf(bytes);
  const auto file = ElfFile::Parse(bytes);
  if (!file) {
    // What cannot be read is refused, never waved through.
    ASSAY_CHECK(object && shared && !twin.ok());
    return 0;
  }
  for (const ElfSection& section : file->sections()) {
    if (section.bytes.empty()) continue;
    ASSAY_CHECK(section.bytes.data() >= bytes.data() &&
                section.bytes.data() + section.bytes.size() <= bytes.data() + bytes.size());
  }
  static_cast<void>(file->Needed());
  static_cast<void>(file->Soname());
  if (!shared) {
    const auto exports = file->Exports();
    // A symbol table may list a name twice, or not at all (then the loader finds no entry); another it may not list.
    for (const std::string& name : exports) ASSAY_CHECK(name == "softmax_rows");
  }
  return 0;
}

}  // namespace assay
