// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "record/seams.h"
#include "search/space.h"

namespace assay {

// What every strategy shares: the templates' defaults come first, nothing is proposed twice, and
// each round has its own stream.  A strategy fills one slot at a time; what it keeps beyond a round it must be able to
// find again in the attempts, for that is all that a resumed campaign has.
class RoundProposer : public Proposer {
 public:
  RoundProposer(const Space& space, const Seed& seed) : space_(space), seed_(seed) {}
  Result<std::vector<Proposal>> Propose(const Standing& standing, int count) final;

 protected:
  struct Slot {
    Point point;
    std::vector<int64_t> parents;
    std::string proposer;
  };
  // Before the first slot of a round.
  virtual void Begin(const Standing& /*standing*/) {}
  // One proposal for the `index`-th place of the campaign; nothing when it found none.
  virtual std::optional<Slot> Fill(const Standing& standing, size_t index, Stream& stream) = 0;
  // A slot became a proposal; others were proposed before and are drawn again.
  virtual void Accepted(const Point& /*point*/) {}
  const Space& space() const { return space_; }

 private:
  Space space_;
  Seed seed_;
};

}  // namespace assay
