// SPDX-License-Identifier: Apache-2.0
#include "measure/stream_kernels.h"

#include <vector>

namespace assay {
namespace {

#if defined(__x86_64__)

constexpr float kFactor = 0.5F;

#define ASSAY_LOAD(move, width, step, from, n) "vmovaps " #n "*" step "(%[" from "]), %%" width #n "\n\t"
#define ASSAY_STORE(move, width, step, to, n) move " %%" width #n ", " #n "*" step "(%[" to "])\n\t"
#define ASSAY_FILL(move, width, step, to, n) move " %%" width "15, " #n "*" step "(%[" to "])\n\t"
#define ASSAY_ADD(move, width, step, b, n) "vfmadd231ps " #n "*" step "(%[" b "]), %%" width "15, %%" width #n "\n\t"
#define ASSAY_EIGHT(form, move, width, step, name)                                                       \
  form(move, width, step, name, 0) form(move, width, step, name, 1) form(move, width, step, name, 2)     \
      form(move, width, step, name, 3) form(move, width, step, name, 4) form(move, width, step, name, 5) \
          form(move, width, step, name, 6) form(move, width, step, name, 7)
#define ASSAY_ADVANCE(step, name) "add $8*" step ", %[" name "]\n\t"

// Eight registers a turn of the loop.  A pass that bypassed the caches ends with a fence, so that
// what is still on its way counts.
#define ASSAY_STREAM(width, step, body, fence)                                                               \
  for (; passes > 0; --passes) {                                                                             \
    float* t = to;                                                                                           \
    const float *x = a, *y = b;                                                                              \
    size_t turns = values * sizeof(float) / (8 * (step));                                                    \
    asm volatile("vbroadcastss %[factor], %%" width                                                          \
                 "15\n\t"                                                                                    \
                 ".p2align 5\n\t"                                                                            \
                 "1:\n\t" body                                                                               \
                 "sub $1, %[turns]\n\t"                                                                      \
                 "jnz 1b\n\t" fence "vzeroupper\n\t"                                                         \
                 : [to] "+r"(t), [a] "+r"(x), [b] "+r"(y), [turns] "+r"(turns)                               \
                 : [factor] "m"(kFactor)                                                                     \
                 : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm15"); \
  }

#define ASSAY_READ(width, step) ASSAY_EIGHT(ASSAY_LOAD, "", width, step, "a") ASSAY_ADVANCE(step, "a")
#define ASSAY_WRITE(width, step, move) ASSAY_EIGHT(ASSAY_STORE, move, width, step, "to") ASSAY_ADVANCE(step, "to")
#define ASSAY_ONLY_WRITE(width, step, move) ASSAY_EIGHT(ASSAY_FILL, move, width, step, "to") ASSAY_ADVANCE(step, "to")
#define ASSAY_COPY(width, step, move) ASSAY_READ(width, step) ASSAY_WRITE(width, step, move)
#define ASSAY_TRIAD(width, step, move) \
  ASSAY_READ(width, step)              \
  ASSAY_EIGHT(ASSAY_ADD, "", width, step, "b") ASSAY_ADVANCE(step, "b") ASSAY_WRITE(width, step, move)

#define ASSAY_KERNEL(name, width, bytes, body, fence)                                   \
  void name(float* to, const float* a, const float* b, size_t values, int64_t passes) { \
    ASSAY_STREAM(width, bytes, body, fence)                                             \
  }
#define ASSAY_KERNELS(suffix, width, bytes, step)                                                          \
  ASSAY_KERNEL(Read##suffix, width, bytes, ASSAY_READ(width, step), "")                                    \
  ASSAY_KERNEL(Write##suffix, width, bytes, ASSAY_ONLY_WRITE(width, step, "vmovaps"), "")                  \
  ASSAY_KERNEL(Copy##suffix, width, bytes, ASSAY_COPY(width, step, "vmovaps"), "")                         \
  ASSAY_KERNEL(Triad##suffix, width, bytes, ASSAY_TRIAD(width, step, "vmovaps"), "")                       \
  ASSAY_KERNEL(WriteAround##suffix, width, bytes, ASSAY_ONLY_WRITE(width, step, "vmovntps"), "sfence\n\t") \
  ASSAY_KERNEL(CopyAround##suffix, width, bytes, ASSAY_COPY(width, step, "vmovntps"), "sfence\n\t")        \
  ASSAY_KERNEL(TriadAround##suffix, width, bytes, ASSAY_TRIAD(width, step, "vmovntps"), "sfence\n\t")      \
  const std::vector<StreamKernel>& Kernels##suffix() {                                                     \
    static const std::vector<StreamKernel> kernels = {                                                     \
        {"read", false, 1, Read##suffix},        {"write", false, 1, Write##suffix},                       \
        {"copy", false, 2, Copy##suffix},        {"triad", false, 3, Triad##suffix},                       \
        {"write", true, 1, WriteAround##suffix}, {"copy", true, 2, CopyAround##suffix},                    \
        {"triad", true, 3, TriadAround##suffix}};                                                          \
    return kernels;                                                                                        \
  }

ASSAY_KERNELS(Zmm, "zmm", 64, "64")
ASSAY_KERNELS(Ymm, "ymm", 32, "32")

#undef ASSAY_KERNELS
#undef ASSAY_KERNEL
#undef ASSAY_TRIAD
#undef ASSAY_COPY
#undef ASSAY_ONLY_WRITE
#undef ASSAY_WRITE
#undef ASSAY_READ
#undef ASSAY_STREAM
#undef ASSAY_ADVANCE
#undef ASSAY_EIGHT
#undef ASSAY_ADD
#undef ASSAY_FILL
#undef ASSAY_STORE
#undef ASSAY_LOAD

#endif

// For processors without the above: four lanes, as the compiler makes them.
typedef float Lanes __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;

Lanes At(const float* values, size_t i) { return *reinterpret_cast<const Lanes*>(values + i); }
void Put(float* values, size_t i, Lanes lanes) { *reinterpret_cast<Lanes*>(values + i) = lanes; }

void ReadPortable(float*, const float* a, const float*, size_t values, int64_t passes) {
  for (; passes > 0; --passes) {
    for (size_t i = 0; i < values; i += kLanes) {
      const Lanes lanes = At(a, i);
      asm volatile("" : : "m"(lanes));
    }
  }
}

void WritePortable(float* to, const float*, const float*, size_t values, int64_t passes) {
  for (; passes > 0; --passes) {
    for (size_t i = 0; i < values; i += kLanes) Put(to, i, Lanes{0.5F, 0.5F, 0.5F, 0.5F});
    asm volatile("" : : : "memory");
  }
}

void CopyPortable(float* to, const float* a, const float*, size_t values, int64_t passes) {
  for (; passes > 0; --passes) {
    for (size_t i = 0; i < values; i += kLanes) Put(to, i, At(a, i));
    asm volatile("" : : : "memory");
  }
}

void TriadPortable(float* to, const float* a, const float* b, size_t values, int64_t passes) {
  const Lanes factor = {0.5F, 0.5F, 0.5F, 0.5F};
  for (; passes > 0; --passes) {
    for (size_t i = 0; i < values; i += kLanes) Put(to, i, At(a, i) + factor * At(b, i));
    asm volatile("" : : : "memory");
  }
}

const std::vector<StreamKernel>& Portable() {
  static const std::vector<StreamKernel> kernels = {{"read", false, 1, ReadPortable},
                                                    {"write", false, 1, WritePortable},
                                                    {"copy", false, 2, CopyPortable},
                                                    {"triad", false, 3, TriadPortable}};
  return kernels;
}

}  // namespace

std::span<const StreamKernel> StreamKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return KernelsZmm();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return KernelsYmm();
#endif
  return Portable();
}

void* ChasePointers(void* from, int64_t loads) {
  for (int64_t i = 0; i < loads; ++i) {
    from = *static_cast<void**>(from);
    asm volatile("" : "+r"(from));
  }
  return from;
}

}  // namespace assay
