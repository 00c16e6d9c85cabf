// SPDX-License-Identifier: Apache-2.0
#pragma once

// Turns an author's Inputs into one C symbol that fills the inputs of one call:
//   #include "inputs.cpp"         // the author's
//   #include <assay/draw_program.h>
//   ASSAY_INPUTS(Inputs);
// The request is the oracle's (oracle_wire.h): tensors of role `in` were drawn before and lie in the
// inputs, tensors of role `out` are to be filled and lie in the response, dense, at their `data`; scalars
// that are NaN are to be set.  What a chance there is starts from `noise`.

#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "draw.h"
#include "oracle.h"

namespace assay::wire {

inline constexpr uint64_t kDrawMagic = 0x3144595341535341U;

struct DrawResponse {
  uint64_t magic;
  uint32_t version;
  uint32_t status;     // Status
  char message[512];   // ends with a zero
  double scalars[64];  // of the request, in its order; the first 64
};
inline constexpr uint32_t kMaxDrawScalars = 64;

}  // namespace assay::wire

namespace assay::oracle {

ASSAY_COLD inline std::vector<Draw::Filled> ToFill(const wire::Request& request, const std::byte* base,
                                                   const Context& context, std::byte* response) {
  const auto* tensors = Table<wire::Tensor>(request, base, request.tensors, request.tensor_count);
  std::vector<Draw::Filled> filled(context.tensors.size());
  for (size_t t = 0; t < context.tensors.size(); ++t) {
    const TensorView& view = context.tensors[t];
    if (!view.present || view.role != OracleRole::kOut) continue;
    const uint64_t bytes = Extent(view), at = tensors[t].data;
    if (at % 8 != 0 || at < sizeof(wire::DrawResponse) || at > request.response_bytes ||
        bytes > request.response_bytes - at) {
      Refuse("a tensor to fill lies outside the response");
    }
    int64_t elements = 1;
    for (int d = 0; d < view.rank; ++d) elements *= view.shape[d];
    filled[t].bytes = response + at;
    filled[t].done.assign(static_cast<size_t>(elements), false);
  }
  return filled;
}

// Whatever was left open is the author's mistake: a call must not depend on what lay there.
ASSAY_COLD inline void CheckComplete(const Context& context, const std::vector<Draw::Filled>& filled) {
  for (const NamedScalar& scalar : context.scalars) {
    if (std::isnan(scalar.value))
      FailReference("scalar " + ::assay::internal::Quoted(scalar.name) + " is left unset; call draw.set_scalar()");
  }
  for (size_t t = 0; t < filled.size(); ++t) {
    for (size_t e = 0; e < filled[t].done.size(); ++e) {
      if (filled[t].done[e]) continue;
      FailReference("tensor " + ::assay::internal::Quoted(context.tensors[t].name) + ": element " + std::to_string(e) +
                    " of " + std::to_string(filled[t].done.size()) + " is left unset");
    }
  }
}

template <class Body>
ASSAY_COLD void ServeDraw(const void* request_bytes, void* response_bytes, const void* inputs, const Body& body) {
  const auto* base = static_cast<const std::byte*>(request_bytes);
  wire::Request request;
  std::memcpy(&request, base, sizeof request);
  if (request.magic != wire::kRequestMagic || request.response_bytes < sizeof(wire::DrawResponse)) return;
  auto* const response = static_cast<std::byte*>(response_bytes);
  wire::DrawResponse head{};
  head.magic = wire::kDrawMagic;
  head.version = wire::kVersion;
  const auto say = [&](wire::Status status, std::string_view text) {
    head.status = static_cast<uint32_t>(status);
    std::memcpy(head.message, text.data(), std::min(text.size(), sizeof head.message - 1));
  };
  try {
    if (request.version != wire::kVersion || request.request_bytes < sizeof request)
      Refuse("another version of the protocol");
    Context context = ContextOf(request, base, static_cast<const std::byte*>(inputs));
    if (context.scalars.size() > wire::kMaxDrawScalars) Refuse("too many scalars");
    std::vector<Draw::Filled> filled = ToFill(request, base, context, response);
    Draw draw(&context, &filled, request.noise);
    body(draw);
    CheckComplete(context, filled);
    for (size_t i = 0; i < context.scalars.size(); ++i) head.scalars[i] = context.scalars[i].value;
  } catch (const ReferenceFailure& failure) {
    say(wire::Status::kReference, failure.message);
  } catch (const BadRequest& bad) {
    say(wire::Status::kRequest, bad.message);
  } catch (const std::exception& error) {
    say(wire::Status::kReference, error.what());
  } catch (...) {
    say(wire::Status::kReference, "it threw something");
  }
  std::memcpy(response, &head, sizeof head);
}

}  // namespace assay::oracle

// One symbol, whatever the flags say about visibility.
#define ASSAY_INPUTS(inputs)                                                                               \
  extern "C" __attribute__((visibility("default"))) void assay_inputs(const void* request, void* response, \
                                                                      const void* drawn) {                 \
    ::assay::oracle::ServeDraw(request, response, drawn, ::inputs);                                        \
  }                                                                                                        \
  static_assert(true)
