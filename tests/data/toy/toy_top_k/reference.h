// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

#include <vector>

template <class Real>
Real Key(const assay::Args<Real>& a, int64_t token, int64_t expert) {
  const Real score = a.at("score", token, expert);
  return a.has("bias") ? Real(score + a.at("bias", expert)) : score;
}

// A token's keys, and its weights at the indices that were returned; an expert's count of them all.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t T = a.axis("T"), E = a.axis("E"), K = a.axis("K");
  if (slice.of("count")) {
    const int64_t expert = slice.index<1>()[0];
    int64_t count = 0;
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t k = 0; k < K; ++k) count += a.integer("index", t, k) == expert ? 1 : 0;
    }
    a.out("count", expert) = Real(static_cast<double>(count));
    return;
  }
  const int64_t token = slice.index<1>()[0];
  for (int64_t e = 0; e < E; ++e) a.publish("key", token, e, Key(a, token, e));
  std::vector<Real> chosen;
  for (int64_t k = 0; k < K; ++k) chosen.push_back(Key(a, token, a.integer("index", token, k)));
  const Real sum = assay::LogSumExp(chosen);
  for (int64_t k = 0; k < K; ++k) a.out("weight", token, k) = exp(Real(chosen[k] - sum));
}
