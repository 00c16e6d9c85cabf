// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

#include <vector>

template <class Real>
Real Score(const assay::Args<Real>& a, int64_t token, int64_t expert) {
  const Real logit = a.at("logits", token, expert);
  return a.has("bias") ? Real(logit + a.at("bias", expert)) : logit;
}

// Tokens that chose one expert, by the indices that were returned.
template <class Real>
void Count(const assay::Args<Real>& a, int64_t expert) {
  int64_t tokens = 0;
  for (int64_t t = 0; t < a.axis("T"); ++t) {
    const assay::Integers chosen = a.integers("index", t);
    for (int64_t k = 0; k < chosen.size(); ++k) tokens += chosen[k] == expert ? 1 : 0;
  }
  a.out("count", expert) = Real(static_cast<double>(tokens));
}

// One token: its scores, and the weights of the experts that were returned. The softmax over all experts divides each
// weight by at most E, and renormalising takes that out again, so the shares are kept here too: what a kernel that goes
// this way loses below the normal range is then allowed.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t row = slice.index<1>()[0], E = a.axis("E"), K = a.axis("K");
  if (slice.of("count")) return Count(a, row);
  for (int64_t e = 0; e < E; ++e) a.publish("score", row, e, Score(a, row, e));
  std::vector<Real> chosen;
  for (int64_t k = 0; k < K; ++k) chosen.push_back(Score(a, row, a.integer("index", row, k)));
  const Real top = assay::Max(chosen), share = Real(1.0) / Real(static_cast<double>(E));
  for (Real& score : chosen) score = assay::exp(Real(score - top)) * share;
  const Real sum = assay::Sum(chosen);
  for (int64_t k = 0; k < K; ++k) a.out("weight", row, k) = chosen[static_cast<size_t>(k)] / sum;
}
