// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"

namespace assay {

// What bounds the calls of one unit.
struct UnitLimits {
  double target_seconds = 3e-3;  // kernels of 2 ms and more are alone in their unit
  double alone_seconds = 2e-3;
  // Where nothing is to be warm and a call touches so much, filling, poisoning and flushing its slots takes twenty
  // times as long as the call; more than two in a unit double that and average no more than another unit does.
  double cold_pair_seconds = 0.5e-3;
  int64_t cold_pair_bytes = int64_t{4} << 20;
  int most_calls = 64;
  int64_t slot_bytes = int64_t{256} << 20;  // of one arm
  int64_t hot_bytes = int64_t{16} << 20;    // half the last-level cache

  // With the cache of this machine, and at most a fortieth of its memory for one arm's slots.
  static UnitLimits OfThisMachine();
};

// How many calls share a unit: one for kernels of 2 ms and more, at most two for large cold ones of 0.5 ms, else enough
// for the target; never more than memory allows slots for.  What a call is to find in the cache (`warm_bytes`) also
// stops where its slots would push each other out of the last level: else "hot" would mean memory for a kernel that
// happens to be short.  The fastest arm decides for all, so that all meet their data in the same state.
int CallsPerUnit(double fastest_seconds, int64_t bytes_per_call, int64_t warm_bytes, const UnitLimits& limits);

// Of the bytes that a call touches, those that its workload's state leaves in the caches: all, none, or all but the
// tensors with `prepare`.
Result<int64_t> WarmBytes(const Contract& contract, const Shape& shape, CacheState state, int64_t bytes_per_call);

// What one arm runs in one group.
struct ArmUnits {
  int units = 0;
  int calls = 1;
  int gated = 0;  // units of a single call besides, when calls > 1
};

enum class Depth { kCensus, kEstimate, kRank, kDecide };

// In a short group of the census five units, three where they last 5 ms or beyond eight times the fastest.  Else:
// An arm within three times the fastest gets the full number of units (six when they are long,
// twelve when they are short), up to eight times two (one in an estimate), beyond that one.  Very
// slow arms also run fewer calls a unit: their data are then no colder than the others', so it is
// never to their harm.
ArmUnits UnitsFor(double seconds, double fastest_seconds, int calls, Depth depth);

// Round by round, the arms in the order in which their units run.  Each pair of rounds is a random
// order and its mirror, so that a steady drift cancels between any two arms; arms with fewer units
// are spread over the rounds.
std::vector<std::vector<int>> BalancedRounds(std::span<const int> units_per_arm, Stream& stream);

// `count` distinct slots of `slots`, in random order; the rest are decoys.
std::vector<size_t> DrawSlots(size_t slots, size_t count, Stream& stream);

}  // namespace assay
