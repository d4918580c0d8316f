// The plans that a search keeps: the best N, or all that no other one beats, or the best of every (tp, pp). Of plans
// with the same score the first stands for all: what differs makes no difference.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "orrery/engines/cluster/model/decision_variables.h"
#include "orrery/engines/cluster/search/objective.h"

namespace orrery::cluster {

struct Candidate {
  Plan plan;
  Iteration iteration;
  Score score{};  // of Objective::all()
};

// What a set of plans cannot undercut, by metric; `exact` where all of them have that very value.
struct ScoreBound {
  Score least{};
  std::array<bool, kMostMetrics> exact{};
};

class Incumbents {
 public:
  enum class Mode { kBest, kFront, kCells };

  Incumbents(const Objective& objective, Mode mode, std::size_t most);

  // Whether no plan with that bound would be kept; of `tp` and `pp` where cells are.
  bool hopeless(const ScoreBound& bound, base::Count tp, base::Count pp) const;
  void offer(const Candidate& candidate);
  void take(const Incumbents& other);

  // In order: by score, ties by comes_before(); a front by its first metric.
  std::vector<Candidate> all() const;
  bool full() const { return full_; }
  double worst_first() const;  // first metric of the worst that is kept; infinite where there is room

 private:
  bool before(const Candidate& a, const Candidate& b) const;
  bool exceeds(const ScoreBound& bound, const Score& worst) const;
  void offer_best(const Candidate& candidate);
  void offer_front(const Candidate& candidate);
  void offer_cell(const Candidate& candidate);

  Mode mode_;
  std::size_t most_, metrics_;
  bool full_ = false;
  std::vector<Candidate> list_;
  std::map<std::pair<base::Count, base::Count>, Candidate> cells_;
};

}  // namespace orrery::cluster
