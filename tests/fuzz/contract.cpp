// SPDX-License-Identifier: Apache-2.0
//
// contract.toml: whatever is wrong ends in one line that names the file, and what is read has a legal
// shape that can be drawn and laid out.
#include <string>

#include "base/random.h"
#include "contract/load.h"
#include "contract/shape.h"
#include "target.h"

namespace assay {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = ParseContract(fuzz::Text(data, size), "contract.toml");
  if (!read.ok()) {
    ASSAY_CHECK(read.error().message.starts_with("contract.toml:"));
    ASSAY_CHECK(read.error().message.size() < 4000);
    return 0;
  }
  const Contract& contract = read.value();
  Stream stream(Seed::FromNumber(size));
  for (const Shape& shape : DrawShapes(contract, 2, {.flops = 1e6, .bytes = 1 << 20}, stream)) {
    for (const Tensor& tensor : contract.tensors) {
      if (shape.absent_tensors.contains(tensor.name)) continue;
      const auto layout = LayoutOf(contract, tensor, shape);
      ASSAY_CHECK(layout.ok() && layout.value().byte_span >= 0);
    }
  }
  return 0;
}

}  // namespace assay
