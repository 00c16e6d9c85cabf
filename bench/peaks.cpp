// SPDX-License-Identifier: Apache-2.0
// The figures of `assay calibrate` by other means: compiled loops under Google Benchmark.  Nothing of
// the program is used here, so that an error of its own cannot agree with itself.
// Usage: peaks LEVEL:BYTES... --threads:N [options of Google Benchmark]   bytes are those of one thread
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int kChains = 12;  // independent sums: above latency times pipes, and they all fit in registers
constexpr int64_t kSteps = 20'000;

template <typename T>
struct Register {
  typedef T Type __attribute__((vector_size(kBytes)));
};
template <typename T>
using Lanes = typename Register<T>::Type;

// The library's own DoNotOptimize lets GCC 12 forget what a value was before.
template <typename T>
void Keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

// Unknown to the compiler, so that no step can be computed ahead and no two sums are seen to be one.
template <typename T>
T Opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

template <typename T>
void MultiplyAdd(benchmark::State& state) {
  const T factor = Opaque(T(0.999)), addend = Opaque(T(0.37));
  const Lanes<T> x = Lanes<T>{} + factor, y = Lanes<T>{} + addend;
  for (auto _ : state) {
    Lanes<T> sums[kChains];
    for (Lanes<T>& sum : sums) sum = Lanes<T>{} + Opaque(T(0.5));
    for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
      for (Lanes<T>& sum : sums) sum = sum * x + y;
    }
    for (Lanes<T>& sum : sums) Keep(sum);
  }
  state.SetItemsProcessed(state.iterations() * kSteps * kChains * 2 * static_cast<int64_t>(kBytes / sizeof(T)));
}

#if defined(__AVX512BF16__)
void DotBf16(benchmark::State& state) {
  const __m512bh x = _mm512_cvtne2ps_pbh(_mm512_set1_ps(Opaque(0.999F)), _mm512_set1_ps(Opaque(0.99F)));
  const __m512bh y = _mm512_cvtne2ps_pbh(_mm512_set1_ps(Opaque(0.37F)), _mm512_set1_ps(Opaque(0.36F)));
  for (auto _ : state) {
    __m512 sums[kChains];
    for (__m512& sum : sums) sum = _mm512_set1_ps(Opaque(0.5F));
    for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
      for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, x, y);
    }
    for (__m512& sum : sums) Keep(sum);
  }
  state.SetItemsProcessed(state.iterations() * kSteps * kChains * 64);
}
#endif

#if defined(__AVX512VNNI__)
void DotI8(benchmark::State& state) {
  const __m512i x = _mm512_set1_epi32(Opaque(0x255B6D31)), y = _mm512_set1_epi32(Opaque(0x5A3C7147));
  for (auto _ : state) {
    __m512i sums[kChains];
    for (__m512i& sum : sums) sum = _mm512_set1_epi32(Opaque(1));
      // GCC 12 moves each sum to another register and back in every turn of the loop.
#pragma GCC unroll 8
    for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
      for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, x, y);
    }
    for (__m512i& sum : sums) Keep(sum);
  }
  state.SetItemsProcessed(state.iterations() * kSteps * kChains * 128);
}
#endif

enum class Way { kRead, kWrite, kCopy, kTriad };
using Wide = Lanes<float>;
constexpr size_t kUnroll = 8;
constexpr size_t kPieces = 16;  // of memory: one a step, so that it is shorter than a neighbour's time slice

// Somebody needs the value in a register; to add it up would measure additions, too.
void Use(Wide value) {
#if defined(__x86_64__)
  asm volatile("" : : "x"(value));
#else
  asm volatile("" : : "m"(value));
#endif
}

void Store(Wide* to, Wide value, bool around) {
#if defined(__AVX512F__)
  if (around) return _mm512_stream_ps(reinterpret_cast<float*>(to), value);
#elif defined(__AVX__)
  if (around) return _mm256_stream_ps(reinterpret_cast<float*>(to), value);
#endif
  *to = value;
}

template <Way way, bool around>
[[gnu::always_inline]] inline void Pass(Wide* to, const Wide* a, const Wide* b, size_t count) {
  const Wide factor = Wide{} + 0.5F;
  for (size_t i = 0; i < count; i += kUnroll) {
    Wide values[kUnroll];
    if constexpr (way == Way::kCopy) {
      // All loads first: loads and stores by turns are another kernel, and a slower one around the caches.
#pragma GCC unroll 8
      for (size_t j = 0; j < kUnroll; ++j) {
        values[j] = a[i + j];
        Use(values[j]);
      }
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < kUnroll; ++j) {
      if constexpr (way == Way::kRead) Use(a[i + j]);
      if constexpr (way == Way::kWrite) Store(to + i + j, factor, around);
      if constexpr (way == Way::kCopy) Store(to + i + j, values[j], around);
      if constexpr (way == Way::kTriad) Store(to + i + j, a[i + j] + factor * b[i + j], around);
    }
  }
#if defined(__x86_64__)
  if (around) _mm_sfence();
#endif
}

// One thread's memory, in huge pages where there are any.
class Arrays {
 public:
  Arrays(size_t bytes, size_t arrays) : bytes_(bytes + arrays * kSkew + kHuge) {
    void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::abort();
    mapped_ = static_cast<char*>(mapped);
    ::madvise(mapped, bytes_, MADV_HUGEPAGE);
    begin_ = mapped_ + (kHuge - reinterpret_cast<uintptr_t>(mapped_) % kHuge) % kHuge;
    auto* values = reinterpret_cast<float*>(begin_);
    std::fill(values, values + (bytes + arrays * kSkew) / sizeof(float), 1.0F);
    step_ = bytes / arrays / (kUnroll * kBytes) * (kUnroll * kBytes);
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  ~Arrays() { ::munmap(mapped_, bytes_); }

  Wide* array(size_t index) const { return reinterpret_cast<Wide*>(begin_ + index * (step_ + kSkew)); }
  size_t count() const { return step_ / kBytes; }

 private:
  static constexpr size_t kSkew = 1408, kHuge = size_t{2} << 20;
  size_t bytes_, step_ = 0;
  char *mapped_ = nullptr, *begin_ = nullptr;
};

// What a thread keeps from one repetition to the next: to touch fresh memory takes longer than to measure.
struct Kept {
  size_t bytes = 0, count = 0;
  std::unique_ptr<Arrays> arrays;
};

const Arrays& ArraysOf(int thread, size_t bytes, size_t count) {
  static std::vector<Kept> kept(1024);
  Kept& mine = kept[static_cast<size_t>(thread)];
  if (mine.bytes != bytes || mine.count != count) {
    mine.arrays.reset();
    mine = {bytes, count, std::make_unique<Arrays>(bytes, count)};
  }
  return *mine.arrays;
}

template <Way way, bool around>
void Stream(benchmark::State& state, size_t bytes, size_t pieces) {
  constexpr size_t kArrays = way == Way::kTriad ? 3 : way == Way::kCopy ? 2 : 1;
  const Arrays& arrays = ArraysOf(state.thread_index(), bytes, kArrays);
  const size_t count = arrays.count() / pieces / kUnroll * kUnroll;
  const int64_t passes = pieces > 1 ? 1 : std::max<int64_t>(1, static_cast<int64_t>((size_t{16} << 20) / bytes));
  // Where the repetition before ended, so that no piece is still in a cache.
  static std::vector<size_t> turns(1024);
  size_t& turn = turns[static_cast<size_t>(state.thread_index())];
  for (auto _ : state) {
    const size_t at = turn++ % pieces * count;
    for (int64_t pass = 0; pass < passes; ++pass) {
      Pass<way, around>(arrays.array(kArrays - 1) + at, arrays.array(0) + at, arrays.array(1) + at, count);
      benchmark::ClobberMemory();
    }
  }
  state.SetItemsProcessed(state.iterations() * passes * static_cast<int64_t>(kArrays * count * kBytes));
}

// The best of many repetitions, each shorter than a neighbour's time slice, as the program takes the
// best of its tries.
void Plan(benchmark::internal::Benchmark* made, int threads) {
  const auto best = [](const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); };
  made->UseRealTime()->Threads(1)->Repetitions(40)->MinTime(0.001)->ComputeStatistics("best", best);
  if (threads > 1) made->Threads(threads);
  made->ReportAggregatesOnly();
}

template <bool around>
void PlanStreams(const std::string& level, size_t bytes, int threads) {
  const std::string end = around ? "_around" : "";
  const auto add = [&](const char* access, auto* function) {
    Plan(benchmark::RegisterBenchmark((level + "/" + access + end).c_str(), function, bytes,
                                      level == "DRAM" ? kPieces : size_t{1}),
         threads);
  };
  if (!around) add("read", Stream<Way::kRead, false>);
  add("write", Stream<Way::kWrite, around>);
  add("copy", Stream<Way::kCopy, around>);
  add("triad", Stream<Way::kTriad, around>);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  int threads = 1;
  std::vector<std::pair<std::string, size_t>> levels;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t colon = word.find(':');
    if (colon == std::string::npos) return 4;
    const size_t number = std::strtoull(word.c_str() + colon + 1, nullptr, 10);
    if (word.substr(0, colon) == "--threads") {
      threads = static_cast<int>(number);
    } else {
      levels.emplace_back(word.substr(0, colon), number);
    }
  }
  Plan(benchmark::RegisterBenchmark("peak/f32", MultiplyAdd<float>), threads);
  Plan(benchmark::RegisterBenchmark("peak/f64", MultiplyAdd<double>), threads);
#if defined(__AVX512BF16__)
  Plan(benchmark::RegisterBenchmark("peak/bf16", DotBf16), threads);
#endif
#if defined(__AVX512VNNI__)
  Plan(benchmark::RegisterBenchmark("peak/i8", DotI8), threads);
#endif
  for (const auto& [level, bytes] : levels) {
    PlanStreams<false>(level, bytes, threads);
    if (level == "DRAM") PlanStreams<true>(level, bytes, threads);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
