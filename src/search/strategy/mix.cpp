// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/mix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "search/plain_math.h"

namespace assay {
namespace {

// Nine, nine and two of twenty, spread so that any few slots in a row have some of each.
constexpr std::string_view kPattern = "mlmlmlrmlmlmlmlrlmlm";

constexpr size_t kElites = 4, kMoreElites = 10;
constexpr int kWiden = 40, kRestart = 80;  // attempts without improvement
constexpr int kNewRegion = 2;              // a restart leads from a point farther than this from the best

constexpr int kRandomCandidates = 100;
constexpr int kDoubleMoves = 20;  // of each elite
constexpr size_t kEnoughFailures = 3;
constexpr double kFailureQuantile = 0.8;
constexpr double kLeastSpread = 0.01;

constexpr double kDecay = 0.98;
constexpr double kGoodShare = 0.05;  // an operator earns by what comes among the best twentieth

constexpr int kStartDraws = 20;
constexpr std::array<std::string_view, 4> kOperators = {"any value", "one step", "two values", "crossover"};
enum Operator : size_t { kAnyValue, kOneStep, kTwoValues, kCrossover };  // as named above
constexpr std::string_view kModelName = "model", kStartName = "start", kExplorerName = "explorer";

double StandardNormal(Stream& stream) {
  // The sum of twelve uniform numbers: no logarithm, and the tails do not matter here.
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += stream.Unit();
  return sum;
}

// Marsaglia and Tsang 2000, for shapes of one and more.
double Gamma(double shape, Stream& stream) {
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = StandardNormal(stream), v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (!(v > 0)) continue;
    const double u = 1 - stream.Unit();
    if (PlainLog(u) < 0.5 * x * x + d - d * v + d * PlainLog(v)) return d * v;
  }
}

double Beta(double wins, double losses, Stream& stream) {
  const double a = Gamma(1 + wins, stream), b = Gamma(1 + losses, stream);
  return a / (a + b);
}

}  // namespace

void Mix::Begin(const Standing& standing) {
  knowledge_.emplace(space(), standing);
  const size_t budget = standing.attempts->size() + static_cast<size_t>(std::max(standing.remaining, 0));
  start_ = std::clamp<size_t>(budget / 12, 4, 10);
  fitted_ = false;
  scored_.clear();
  taken_.clear();
  ChooseElites();
  // Credit: has it come among the best twentieth of what was measured until then?
  wins_.assign(kOperators.size(), 0);
  losses_.assign(kOperators.size(), 0);
  std::vector<double> sorted;
  for (const Observation& seen : knowledge_->all()) {
    const auto op = std::find(kOperators.begin(), kOperators.end(), seen.proposer);
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), seen.log_seconds) - sorted.begin();
    if (op != kOperators.end()) {
      const auto at = static_cast<size_t>(op - kOperators.begin());
      for (size_t i = 0; i < kOperators.size(); ++i) {
        wins_[i] *= kDecay;
        losses_[i] *= kDecay;
      }
      const bool good =
          seen.fate == Fate::kMeasured && static_cast<double>(place) <= kGoodShare * static_cast<double>(sorted.size());
      (good ? wins_ : losses_)[at] += 1;
    }
    if (seen.fate == Fate::kMeasured) sorted.insert(sorted.begin() + place, seen.log_seconds);
  }
}

void Mix::ChooseElites() {
  const std::vector<const Observation*>& ranked = knowledge_->ranked();
  const int stagnation = knowledge_->Stagnation();
  elites_.clear();
  if (stagnation >= kRestart && !ranked.empty()) {
    // The best point that is not of the same region, and what lies around it.
    const auto far = [&](const Observation* seen) {
      return seen->point->family != ranked.front()->point->family ||
             Distance(*seen->point, *ranked.front()->point) > kNewRegion;
    };
    const bool away = stagnation / kRestart % 2 == 1;
    for (const Observation* seen : ranked) {
      if (away == far(seen) && elites_.size() < kElites) elites_.push_back(seen);
    }
    if (!elites_.empty()) return;
  }
  const size_t most = stagnation >= kWiden ? kMoreElites : kElites;
  elites_.assign(ranked.begin(), ranked.begin() + static_cast<ptrdiff_t>(std::min(most, ranked.size())));
}

Mix::Kind Mix::KindOf(size_t index, Stream& stream) const {
  // A quarter at random instead of a tenth where nothing improves.
  if (knowledge_->Stagnation() >= kWiden && stream.Below(20) < 3) return Kind::kRandom;
  switch (kPattern[index % kPattern.size()]) {
    case 'm':
      return Kind::kModel;
    case 'l':
      return Kind::kLocal;
    default:
      return Kind::kRandom;
  }
}

std::optional<RoundProposer::Slot> Mix::Fill(const Standing& standing, size_t index, Stream& stream) {
  // What comes first are the templates' defaults.
  if (standing.attempts->size() + taken_.size() < start_ + space().families() || elites_.empty()) return Start(stream);
  switch (KindOf(index, stream)) {
    case Kind::kModel:
      if (!fitted_) FitAndScore(stream);
      return FromModel();
    case Kind::kLocal:
      return Local(stream);
    case Kind::kRandom:
      break;
  }
  return Anywhere(stream);
}

// The farthest of some random points from everything that is known.
std::optional<RoundProposer::Slot> Mix::Start(Stream& stream) {
  std::optional<Point> best;
  int farthest = -1;
  for (int draw = 0; draw < kStartDraws; ++draw) {
    const std::optional<Point> point = space().Random(stream);
    if (!point) continue;
    int nearest = 1 << 20;
    const auto look = [&](const Point& other) {
      if (other.family == point->family) nearest = std::min(nearest, Distance(*point, other));
    };
    for (const Observation& seen : knowledge_->all()) {
      if (seen.point) look(*seen.point);
    }
    for (const Point& other : taken_) look(other);
    if (nearest > farthest) farthest = nearest, best = point;
  }
  if (!best) return std::nullopt;
  return Slot{*best, {}, std::string(kStartName)};
}

std::optional<RoundProposer::Slot> Mix::Anywhere(Stream& stream) {
  const std::optional<Point> point = space().Random(stream);
  if (!point) return std::nullopt;
  return Slot{*point, {}, std::string(kExplorerName)};
}

// An elite of rank r, from 1, with weight r^-1.5.
const Observation& Mix::Parent(Stream& stream) const {
  const auto weight = [](size_t place) {
    const double rank = static_cast<double>(place) + 1;
    return 1 / (rank * std::sqrt(rank));
  };
  double all = 0;
  for (size_t place = 0; place < elites_.size(); ++place) all += weight(place);
  double drawn = stream.Unit() * all;
  for (size_t place = 0; place < elites_.size(); ++place) {
    drawn -= weight(place);
    if (drawn < 0) return *elites_[place];
  }
  return *elites_.front();
}

std::optional<RoundProposer::Slot> Mix::Local(Stream& stream) {
  size_t op = kAnyValue;
  double best = -1;
  for (size_t i = 0; i < kOperators.size(); ++i) {
    const double share = Beta(wins_[i], losses_[i], stream);
    if (share > best) best = share, op = i;
  }
  const Observation& parent = Parent(stream);
  std::vector<int64_t> parents = {parent.ordinal};
  std::optional<Point> point;
  if (op == kCrossover) {
    const Observation& other = Parent(stream);
    if (other.ordinal == parent.ordinal || other.point->family != parent.point->family) return std::nullopt;
    point = space().Cross(*parent.point, *other.point, stream);
    parents.push_back(other.ordinal);
  } else {
    point = space().Mutate(*parent.point, op == kTwoValues ? 2 : 1, op == kOneStep, stream);
  }
  if (!point) return std::nullopt;
  return Slot{*std::move(point), std::move(parents), std::string(kOperators[op])};
}

// Candidates are scored once a round; what lies beside a point of the round's own gets half of its worth when it is
// looked for.
void Mix::FitAndScore(Stream& stream) {
  fitted_ = true;
  std::vector<std::vector<double>> rows;
  std::vector<double> times, stops, wrongs;
  std::vector<double> measured;
  for (const Observation* seen : knowledge_->ranked()) measured.push_back(seen->log_seconds);
  if (measured.empty()) return;
  const double slow = measured[static_cast<size_t>(kFailureQuantile * static_cast<double>(measured.size() - 1))];
  size_t stopped = 0, wrong = 0;
  for (const Observation& seen : knowledge_->all()) {
    if (!seen.point || seen.fate == Fate::kUnknown) continue;
    rows.push_back(features_.Row(*seen.point));
    times.push_back(seen.fate == Fate::kMeasured ? seen.log_seconds : slow);
    stops.push_back(seen.fate == Fate::kDoesNotRun ? 1 : 0);
    wrongs.push_back(seen.fate == Fate::kWrong ? 1 : 0);
    stopped += seen.fate == Fate::kDoesNotRun ? 1 : 0;
    wrong += seen.fate == Fate::kWrong ? 1 : 0;
  }
  const Forest time = Forest::Fit(features_.scales(), rows, times, {}, stream);
  std::optional<Forest> stop, lie;
  if (stopped >= kEnoughFailures) stop = Forest::Fit(features_.scales(), rows, stops, {}, stream);
  if (wrong >= kEnoughFailures) lie = Forest::Fit(features_.scales(), rows, wrongs, {}, stream);

  std::vector<Point> candidates;
  for (int draw = 0; draw < kRandomCandidates; ++draw) {
    if (auto point = space().Random(stream)) candidates.push_back(*std::move(point));
  }
  for (const Observation* elite : elites_) {
    for (Point& point : space().Neighbours(*elite->point)) candidates.push_back(std::move(point));
    for (int draw = 0; draw < kDoubleMoves; ++draw) {
      if (auto point = space().Mutate(*elite->point, 2, false, stream)) candidates.push_back(*std::move(point));
    }
  }
  for (Point& point : candidates) {
    const std::vector<double> row = features_.Row(point);
    const Prediction predicted = time.At(row);
    const double spread = predicted.spread + kLeastSpread, gain = measured.front() - predicted.mean;
    double worth = gain * NormalBelow(gain / spread) + spread * NormalDensity(gain / spread);
    if (stop) worth *= 1 - stop->At(row).mean;
    if (lie) worth *= 1 - lie->At(row).mean;
    scored_.push_back({std::move(point), worth});
  }
}

// The best that is left; who comes again (it was proposed before) is not met a second time.
std::optional<RoundProposer::Slot> Mix::FromModel() {
  size_t best = scored_.size();
  double most = -1;
  for (size_t i = 0; i < scored_.size(); ++i) {
    double worth = scored_[i].worth;
    for (const Point& taken : taken_) {
      if (taken.family == scored_[i].point.family && Distance(taken, scored_[i].point) <= 1) {
        worth /= 2;
        break;
      }
    }
    if (worth > most) most = worth, best = i;
  }
  if (best == scored_.size()) return std::nullopt;
  Slot slot{std::move(scored_[best].point), {}, std::string(kModelName)};
  scored_.erase(scored_.begin() + static_cast<ptrdiff_t>(best));
  return slot;
}

}  // namespace assay
