// SPDX-License-Identifier: Apache-2.0
// oneDNN's bf16 matmul with an f32 answer. The library keeps primitives by shape, this file keeps the last one.
#include <dnnl.hpp>

#include <stdint.h>
#include <stdio.h>

using dnnl::memory;

namespace {

struct Kept {
  int64_t M = -1, N = -1, K = -1;
  dnnl::matmul primitive;
  memory::desc a, b, c;
};

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

const Kept& For(int64_t M, int64_t N, int64_t K) {
  static Kept kept;
  if (kept.M == M && kept.N == N && kept.K == K) return kept;
  kept.M = M;
  kept.N = N;
  kept.K = K;
  kept.a = memory::desc({M, K}, memory::data_type::bf16, memory::dims{K, 1});
  kept.b = memory::desc({K, N}, memory::data_type::bf16, memory::dims{1, K});
  kept.c = memory::desc({M, N}, memory::data_type::f32, memory::dims{N, 1});
  kept.primitive = dnnl::matmul({dnnl::matmul::desc(kept.a, kept.b, kept.c), Engine()});
  return kept;
}

}  // namespace

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
  const Kept& kept = For(M, N, K);
  static dnnl::stream stream(Engine());
  const auto made = [](const memory::desc& description, const void* data) {
    return memory(description, Engine(), const_cast<void*>(data));
  };
  kept.primitive.execute(stream, {{DNNL_ARG_SRC, made(kept.a, a)},
                                  {DNNL_ARG_WEIGHTS, made(kept.b, b)},
                                  {DNNL_ARG_DST, made(kept.c, c)}});
  stream.wait();
}

extern "C" const char* gemm_bf16_info() {
  static char text[64];
  const dnnl_version_t* version = dnnl_version();
  snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
  return text;
}
