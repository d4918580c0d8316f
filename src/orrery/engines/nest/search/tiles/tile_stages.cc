// Cost: some hundred nanoseconds for each combination of choices of a stage.
#include "orrery/engines/nest/search/tiles/tile_stages.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace orrery::nest::tiles {

namespace {

// Whether nothing is kept and nothing loops at the level.
bool passes(const Problem& problem, int level) {
  const std::vector<std::uint32_t>& keeps = problem.space->keeps(level);
  if (keeps.size() != 1 || keeps[0] != 0) return false;
  for (const int d : problem.dimension) {
    const std::vector<Count>& allowed = problem.space->temporal(level, d);
    if (allowed.size() != 1 || allowed[0] != 1) return false;
  }
  return true;
}

// What tells signatures apart, as numbers.
std::vector<double> key_of(const Problem& problem, const std::vector<Fanout>& fanouts) {
  std::vector<double> key;
  for (const Fanout& fanout : fanouts) {
    key.push_back(fanout.instances);
    for (int s = 0; s < problem.spaces(); ++s)
      key.insert(key.end(), {fanout.scatter[s], fanout.partition[s], fanout.transfer_pj[s]});
  }
  return key;
}

Fanout none() {
  Fanout fanout;
  fanout.scatter.fill(1);
  fanout.partition.fill(1);
  return fanout;
}

// Without explicit networks only the product matters.
void gather(const Problem& problem, std::vector<Fanout>& fanouts) {
  if (!problem.model->network_uses().empty()) return;
  Fanout all = none();
  for (Fanout& fanout : fanouts) {
    all.instances *= fanout.instances;
    for (int s = 0; s < problem.spaces(); ++s) {
      all.scatter[s] *= fanout.scatter[s];
      all.partition[s] *= fanout.partition[s];
    }
    fanout = none();
  }
  fanouts.front() = all;
}

class Lister {
 public:
  Lister(const Problem& problem, Stage& stage, double least, const base::Budget& budget)
      : problem_(problem), stage_(stage), least_(least), clock_(budget, 256) {
    for (int level = stage.first; level <= stage.last; ++level) {
      std::vector<Fanout>& fanouts = fanouts_.emplace_back();
      std::vector<Count> factor(problem.dimensions());
      double widest = 1;
      for (const SpatialChoice& choice : problem.space->spatial(level)) {
        for (int d = 0; d < problem.dimensions(); ++d) factor[d] = choice.factor[problem.dimension[d]];
        fanouts.push_back(fanout_of(problem, level, factor));
        widest = std::max(widest, fanouts.back().instances);
      }
      widest_.push_back(widest);
    }
  }

  bool run() {
    for (int d = 0; d < problem_.dimensions(); ++d) left_[d] = problem_.bound[d];
    spread_.choice.assign(fanouts_.size(), 0);
    chosen_.assign(fanouts_.size(), none());
    choose(0);
    for (auto& [key, signature] : found_) stage_.signatures.push_back(std::move(signature));
    std::stable_sort(stage_.signatures.begin(), stage_.signatures.end(),
                     [](const Signature& a, const Signature& b) { return a.instances > b.instances; });
    return complete_;
  }

 private:
  void choose(std::size_t n) {
    if (!complete_) return;
    if (n == fanouts_.size()) return add();
    double others = 1;
    for (std::size_t k = n + 1; k < widest_.size(); ++k) others *= widest_[k];
    for (std::size_t k = 0; k < n; ++k) others *= chosen_[k].instances;
    const Factors before = left_;
    const std::vector<SpatialChoice>& choices = problem_.space->spatial(stage_.first + static_cast<int>(n));
    for (std::size_t k = 0; k < choices.size() && complete_; ++k) {
      if (clock_.spent()) complete_ = false;
      if (fanouts_[n][k].instances * others < least_) continue;
      bool divides = true;
      for (int d = 0; d < problem_.dimensions() && divides; ++d) {
        const Count factor = choices[k].factor[problem_.dimension[d]];
        divides = left_[d] % factor == 0;
        left_[d] /= factor;
      }
      if (divides) {
        spread_.choice[n] = static_cast<int>(k);
        chosen_[n] = fanouts_[n][k];
        choose(n + 1);
      }
      left_ = before;
    }
  }

  void add() {
    std::vector<Fanout> fanouts = chosen_;
    gather(problem_, fanouts);
    std::vector<double> key = key_of(problem_, fanouts);
    spread_.factor.fill(1);
    for (int d = 0; d < problem_.dimensions(); ++d) spread_.factor[d] = problem_.bound[d] / left_[d];
    // The same factors dealt otherwise at the same cost are no other spread.
    if (fanouts_.size() > 1 && !seen_.insert({key, spread_.factor}).second) return;
    Signature& signature = found_[key];
    if (signature.fanouts.empty()) {
      signature.fanouts = std::move(fanouts);
      for (const Fanout& fanout : chosen_) signature.instances *= fanout.instances;
    }
    signature.spreads.push_back(spread_);
  }

  const Problem& problem_;
  Stage& stage_;
  const double least_;
  base::Ticker clock_;
  bool complete_ = true;
  std::vector<std::vector<Fanout>> fanouts_;  // [level of the stage][choice]
  std::vector<double> widest_;
  Factors left_{};
  Spread spread_;
  std::vector<Fanout> chosen_;
  std::map<std::vector<double>, Signature> found_;
  std::set<std::pair<std::vector<double>, Factors>> seen_;
};

}  // namespace

std::vector<Stage> list_stages(const Problem& problem, double least, const base::Budget& budget, bool& complete) {
  std::vector<Stage> stages;
  for (int level = 0; level < problem.levels; ++level) {
    Stage& stage = stages.emplace_back();
    stage.first = stage.last = level;
    while (stage.last + 1 < problem.levels && passes(problem, stage.last)) ++stage.last;
    level = stage.last;
  }
  std::vector<double> widest(stages.size(), 1);
  double all = 1;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    for (int level = stages[k].first; level <= stages[k].last; ++level) {
      Count most = 1;
      for (const SpatialChoice& choice : problem.space->spatial(level)) most = std::max(most, choice.product);
      widest[k] *= static_cast<double>(most);
    }
    all *= widest[k];
  }
  for (std::size_t k = 0; k < stages.size(); ++k)
    complete = Lister(problem, stages[k], least / (all / widest[k]), budget).run() && complete;
  return stages;
}

std::vector<Fanout> ideal(const Problem& problem, const Stage& stage) {
  std::vector<Fanout> fanouts(static_cast<std::size_t>(stage.last - stage.first) + 1, none());
  for (std::size_t n = 0; n < fanouts.size(); ++n)
    for (int s = 0; s < problem.spaces(); ++s) {
      double scatter = 1, partition = 1, transfer_pj = 1e300;
      for (const Signature& signature : stage.signatures) {
        const Fanout& fanout = signature.fanouts[n];
        scatter = std::min(scatter, fanout.scatter[s] / fanout.instances);
        partition = std::min(partition, fanout.partition[s] / fanout.instances);
        transfer_pj = std::min(transfer_pj, fanout.transfer_pj[s]);
      }
      fanouts[n].scatter[s] = scatter;
      fanouts[n].partition[s] = partition;
      fanouts[n].transfer_pj[s] = stage.signatures.empty() ? 0 : transfer_pj;
    }
  return fanouts;
}

}  // namespace orrery::nest::tiles
