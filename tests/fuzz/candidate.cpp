// SPDX-License-Identifier: Apache-2.0
//
// A candidate's source: directives, knob space and source policy.  What is read as a family has a legal
// default point, and the flags it may be built with are all on the list.
#include <string>

#include "contract/load.h"
#include "language/cpp/directives.h"
#include "language/cpp/policy.h"
#include "target.h"

namespace assay {
namespace {

const Contract& Toy() {
  static const Contract contract = [] {
    auto read = LoadContract(ASSAY_SOURCE_DIR "/contracts/softmax_rows");
    ASSAY_CHECK(read.ok());
    return std::move(read).value();
  }();
  return contract;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string source(fuzz::Text(data, size));
  static_cast<void>(CheckSource(source));
  const auto family = ParseTemplate(source, "x.cpp", Toy());
  if (!family.ok()) {
    ASSAY_CHECK(family.error().message.starts_with("x.cpp:"));
    return 0;
  }
  const auto candidate = MakeCandidate(family.value(), {}, {});
  // Defaults may contradict a condition; then the message says which.
  if (!candidate.ok()) {
    ASSAY_CHECK(!candidate.error().message.empty());
    return 0;
  }
  for (const std::string& flag : candidate.value().flags) ASSAY_CHECK(CheckFlag(flag, Toy().policy.fp).ok());
  for (const std::string& definition : KnobDefinitions(family.value(), candidate.value()))
    ASSAY_CHECK(definition.starts_with("-D"));
  return 0;
}

}  // namespace assay
