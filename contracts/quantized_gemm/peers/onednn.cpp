// SPDX-License-Identifier: Apache-2.0
// oneDNN's int8 matmul. Scales and zero points are given at run time, so that one primitive serves a shape; the library
// keeps primitives by shape, this file keeps the last one.
#include <dnnl.hpp>

#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <unordered_map>
#include <vector>

using dnnl::memory;

namespace {

struct Kept {
  int64_t M = -1, N = -1, K = -1;
  bool biased = false;
  dnnl::matmul primitive;
  memory::desc a, w, out, bias;
};

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

const Kept& For(int64_t M, int64_t N, int64_t K, bool biased) {
  static Kept kept;
  if (kept.M == M && kept.N == N && kept.K == K && kept.biased == biased) return kept;
  kept.M = M;
  kept.N = N;
  kept.K = K;
  kept.biased = biased;
  kept.a = memory::desc({M, K}, memory::data_type::s8, memory::dims{K, 1});
  kept.w = memory::desc({K, N}, memory::data_type::s8, memory::dims{1, K});
  kept.out = memory::desc({M, N}, memory::data_type::s8, memory::dims{N, 1});
  kept.bias = memory::desc({1, N}, memory::data_type::s32, memory::dims{N, 1});
  dnnl::primitive_attr attributes;
  attributes.set_output_scales(2, {DNNL_RUNTIME_F32_VAL});
  attributes.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
  attributes.set_zero_points(DNNL_ARG_DST, 0, {DNNL_RUNTIME_S32_VAL});
  const auto description = biased ? dnnl::matmul::desc(kept.a, kept.w, kept.bias, kept.out)
                                  : dnnl::matmul::desc(kept.a, kept.w, kept.out);
  kept.primitive = dnnl::matmul(dnnl::matmul::primitive_desc(description, attributes, Engine()));
  return kept;
}

}  // namespace

extern "C" void quantized_gemm(const int8_t* a, const int8_t* w, const int32_t* bias, const float* wscale, int8_t* out,
                               int64_t M, int64_t N, int64_t K, float ascale, int32_t azero, float oscale,
                               int32_t ozero) {
  const Kept& kept = For(M, N, K, bias != nullptr);
  static dnnl::stream stream(Engine());
  std::vector<float> scales(static_cast<size_t>(N));
  for (int64_t n = 0; n < N; ++n) scales[static_cast<size_t>(n)] = ascale * wscale[n] / oscale;
  const auto made = [](const memory::desc& description, const void* data) {
    return memory(description, Engine(), const_cast<void*>(data));
  };
  const memory::desc one({1}, memory::data_type::s32, memory::dims{1});
  const memory::desc factors({N}, memory::data_type::f32, memory::dims{1});
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, made(kept.a, a)},
      {DNNL_ARG_WEIGHTS, made(kept.w, w)},
      {DNNL_ARG_DST, made(kept.out, out)},
      {DNNL_ARG_ATTR_OUTPUT_SCALES, made(factors, scales.data())},
      {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, made(one, &azero)},
      {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, made(one, &ozero)},
  };
  if (bias) arguments.insert({DNNL_ARG_BIAS, made(kept.bias, bias)});
  kept.primitive.execute(stream, arguments);
  stream.wait();
}

extern "C" const char* quantized_gemm_info() {
  static char text[64];
  const dnnl_version_t* version = dnnl_version();
  snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
  return text;
}
