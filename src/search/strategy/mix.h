// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "search/knowledge.h"
#include "search/strategy/rounds.h"

namespace assay {

// Of twenty slots nine ask a model (expected improvement of log time, times the chance to run and to be
// right), nine move locally around several elites with operators that earn their share, two are random legal points.
// On stagnation more elites and more random points, then a new region.
class Mix : public RoundProposer {
 public:
  Mix(const Space& space, const Seed& seed) : RoundProposer(space, seed), features_(space) {}
  std::string name() const override { return "mix"; }

 protected:
  void Begin(const Standing& standing) override;
  std::optional<Slot> Fill(const Standing& standing, size_t index, Stream& stream) override;
  void Accepted(const Point& point) override { taken_.push_back(point); }

 private:
  enum class Kind { kModel, kLocal, kRandom };
  struct Scored {
    Point point;
    double worth = 0;
  };
  Kind KindOf(size_t index, Stream& stream) const;
  void ChooseElites();
  void FitAndScore(Stream& stream);
  std::optional<Slot> Start(Stream& stream);
  std::optional<Slot> FromModel();
  std::optional<Slot> Local(Stream& stream);
  std::optional<Slot> Anywhere(Stream& stream);
  const Observation& Parent(Stream& stream) const;

  Features features_;
  // Of the round under way.
  std::optional<Knowledge> knowledge_;
  size_t start_ = 0;  // random points before anything else
  std::vector<const Observation*> elites_;
  std::vector<Scored> scored_;
  bool fitted_ = false;
  std::vector<double> wins_, losses_;  // by operator, decayed
  std::vector<Point> taken_;           // of this round
};

}  // namespace assay
