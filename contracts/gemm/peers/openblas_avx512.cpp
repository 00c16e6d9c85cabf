// SPDX-License-Identifier: Apache-2.0
// The BLAS with its AVX-512 kernels chosen by name, where the processor has them: the library's own choice (the peer
// `openblas`) is not always its fastest.  The choice is made when the library is loaded, so it is loaded after it was named.
#include <cblas.h>
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

namespace {

struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&openblas_set_num_threads) set_threads = nullptr;
  decltype(&openblas_get_corename) core = nullptr;

  Blas() {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
      setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
    sgemm = reinterpret_cast<decltype(sgemm)>(dlsym(library, "cblas_sgemm"));
    set_threads = reinterpret_cast<decltype(set_threads)>(dlsym(library, "openblas_set_num_threads"));
    core = reinterpret_cast<decltype(core)>(dlsym(library, "openblas_get_corename"));
    set_threads(omp_get_max_threads());
  }
};

const Blas& TheBlas() {
  static const Blas blas;
  return blas;
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  TheBlas().sgemm(CblasRowMajor, TA ? CblasTrans : CblasNoTrans, TB ? CblasTrans : CblasNoTrans, static_cast<int>(M),
                  static_cast<int>(N), static_cast<int>(K), 1.0f, a, static_cast<int>(TA ? M : K), b,
                  static_cast<int>(TB ? K : N), 0.0f, c, static_cast<int>(N));
}

extern "C" const char* gemm_info() {
  static char text[96];
  snprintf(text, sizeof text, "OpenBLAS %s, sgemm", TheBlas().core());
  return text;
}
