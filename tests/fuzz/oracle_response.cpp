// SPDX-License-Identifier: Apache-2.0
//
// What the oracle's process answers: it ran an author's code, so it may say anything.
#include <algorithm>
#include <cstring>

#include "numerics/oracle_client.h"
#include "target.h"

namespace assay {
namespace {

OracleQuery Query() {
  OracleQuery query;
  query.axes = {{"R", 3}, {"C", 4}};
  query.tensors = {{.name = "x", .shape = {3, 4}, .stride = {4, 1}},
                   {.name = "y", .role = OracleRole::kOut, .shape = {3, 4}, .stride = {4, 1}}};
  query.slice_rank = 1;
  query.slices = {0, 1, 2};
  return query;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const OracleQuery query = Query();
  // As in the shared mapping: the response begins on an aligned address.
  std::vector<std::byte> bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  const auto answer = DecodeResponse(query, bytes);
  if (!answer.ok()) {
    ASSAY_CHECK(!answer.error().message.empty());
    return 0;
  }
  const OracleAnswer& read = answer.value();
  ASSAY_CHECK(read.slice_begin.size() == query.slice_count() + 1);
  ASSAY_CHECK(std::is_sorted(read.slice_begin.begin(), read.slice_begin.end()));
  ASSAY_CHECK(read.slice_begin.back() == read.outputs.size());
  for (const OracleOutput& output : read.outputs) {
    ASSAY_CHECK(output.tensor >= 0 && static_cast<size_t>(output.tensor) < query.tensors.size());
    ASSAY_CHECK(query.tensors[static_cast<size_t>(output.tensor)].role != OracleRole::kIn);
    ASSAY_CHECK(output.element >= 0 && output.element < 12);
  }
  return 0;
}

}  // namespace assay
