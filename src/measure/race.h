// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "record/timing.h"

namespace assay {

// The rules of a ranking, fed one group at a time: by halving, two groups for all, four for the better half, eight
// for the better half of those.  Who has lost three groups more than it won against the leader of the moment is out.
// No claim follows from the order, so nothing here corrects for looking.
class Race {
 public:
  // `workload`: the one that orders; units of others are ignored.
  Race(const std::vector<std::string>& names, std::string workload);

  // Whom the next group has to hold, fastest first; fewer than two, and the race is over.
  std::vector<std::string> Standing() const;
  // The units of one group and who was refused in it.
  void Add(std::span<const RawUnit> units, std::span<const std::string> refused);

  struct Place {
    std::string name;
    double log_ratio = 0;  // median over groups of ln(best other / this); larger is faster
    int groups = 0;
    bool early = false;  // hopeless before its round was over
  };
  // Fastest first: whoever lasted longer is ahead, among equals the median decides.  Without the refused.
  std::vector<Place> Order() const;

 private:
  struct Contender {
    std::string name;
    std::vector<double> against_best;  // ln(best other / this), by group
    std::vector<int> slower;           // by contender: groups lost to it, less groups won
    int last_round = 0;
    bool out = false, early = false, refused = false;
    double Score() const;
  };
  std::vector<size_t> StillIn() const;  // fastest first
  void Score(std::span<const RawUnit> units);
  void EndOfGroup();

  std::string workload_;
  std::vector<Contender> all_;
  int round_ = 0, groups_ = 0;  // of this round
  bool over_ = false;
};

}  // namespace assay
