// The exact search where a dataspace's words depend on more than one dimension at a time: convolutions above all.
//
// A configuration fixes the spatial factors of every fan-out and what each storage keeps. Under it, what is left to
// choose are temporal factors and orders, and least energies over all of them come from one table (tile_table.cc),
// computed from the outermost level inwards over the lattice of tiles. The table's figures bound every mapping from
// below, and are attained but for slides that go on across levels and instances on a diagonal, which are bounded.
//
// Here is the queue, least bound first. Where configurations are few, all are listed, with a bound that charges each
// boundary as if its tile crossed once. Where they are not, the queue begins with one family of them all
// (tile_families.cc), and what is least in it is decided further: stages of fan-outs, then what is kept, then each
// configuration. A configuration is bounded by the tiles that fit its storages, then searched for a while, then to the
// end (tile_open.cc). Bounds rise from one stage to the next, so the least in the queue bounds the answer at any time.
//
// What is cheapest by its bound is seldom what is finished first. So now and then, each time after twice as many, the
// best family or configuration of late is searched ahead of its turn: the better the answer, the less is left.
//
// For example out[p] += in[p + r] w[r], 4 positions, 3 taps, and the tile of 2 positions and all taps: 2 of out, 4 of
// in, 3 of w. One loop over p is left outside, of 2 iterations. It does not move w, whose run it lengthens: 3 words
// cross once. It moves in by 2, so that 2 of the 4 words are there already: a slide, and 4 + 2 words cross in place
// of 8. The table charges each of these where the run or the slide ends, whichever level the loop stands at.
//
// Cost: GEMMs of BERT-large on gemmini, for which lattice/ is faster, took 0.64 to 3.8 ms of CPU time on a busy
// machine.
//
// Answers do not depend on threads: there is one.
#include "orrery/engines/nest/search/tiles/tile_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "orrery/engines/nest/search/goal.h"
#include "orrery/engines/nest/search/initial_solution.h"
#include "orrery/engines/nest/search/lower_bound.h"
#include "orrery/engines/nest/search/tiles/tile_candidate.h"
#include "orrery/engines/nest/search/tiles/tile_families.h"
#include "orrery/engines/nest/search/tiles/tile_open.h"

namespace orrery::nest {

namespace {

using base::Count;
using tiles::Candidate;
using tiles::Config;
using tiles::Prices;
using tiles::Problem;
using tiles::Progress;

using namespace tiles::limits;

// Equal answers are of no use either, unless another metric decides between them.
Goal::Margins margins(const std::vector<Metric>& objective) {
  return {.ceiling = objective.size() == 1 ? 1 - kEqual / 2 : 1 + 4 * kEqual};
}

class Searcher {
 public:
  Searcher(const Problem& problem, const std::vector<Metric>& objective, const SearchRules& limits,
           const base::Budget& budget, GapWatch& watch)
      : problem_(problem),
        limits_(limits),
        budget_(budget),
        watch_(watch),
        goal_(objective, limits, problem.latency, margins(objective)),
        opener_(problem, goal_, budget) {}

  Optimum run() {
    // What explicit networks add is not bounded well by a signature: such chips are listed.
    if (problem_.model->network_uses().empty() && configurations(problem_) > limits_.families_from)
      begin_with_families();
    else
      begin_with_list();
    work_off();
    return answer();
  }

 private:
  using Place = std::pair<Key, std::size_t>;

  // By bound; of equal ones, as listed.
  void work_off() {
    while (!queue_.empty()) {
      const auto [bound, k] = queue_.top();
      if (bound[0] > goal_.best()[0] * (1 + kEqual)) break;
      Candidate& candidate = candidates_[k];
      if (candidate.stage == Progress::kDone || goal_.drop(bound)) {  // a tie; others of them may take fewer cycles
        queue_.pop();
        release(k);
        continue;
      }
      if (budget_.spent()) {
        open_ = std::min(open_, bound[0]);
        break;
      }
      queue_.pop();
      if (bound < candidate.bound) {  // it has risen since
        queue_.emplace(candidate.bound, k);
        continue;
      }
      if (watch_.watched()) watch_.report(goal_.best()[0], std::min(bound[0], goal_.best()[0]));
      if (candidate.stage < Progress::kListed)
        decide(k);
      else
        go_on(k);
    }
  }

  void add(Candidate candidate) {
    if (candidates_.size() - free_.size() >= kMostConfigs) {
      open_ = std::min(open_, candidate.bound[0]);
      return;
    }
    std::size_t k = candidates_.size();
    if (free_.empty()) {
      candidates_.emplace_back();
    } else {
      k = free_.back();
      free_.pop_back();
    }
    queue_.emplace(candidate.bound, k);
    candidates_[k] = std::move(candidate);
  }

  // It is in the queue no more.
  void release(std::size_t k) {
    candidates_[k].stage = Progress::kDone;
    free_.push_back(k);
  }

  // What a family or a chain is made of takes its place.
  void decide(std::size_t k) {
    const Candidate parent = std::move(candidates_[k]);
    release(k);
    const auto add_child = [&](Candidate candidate) {
      candidate.bound = std::max(candidate.bound, parent.bound);
      add(std::move(candidate));
    };
    const std::vector<int>& family = parent.config.choice;
    if (parent.stage == Progress::kChain) {
      families_->configs(family, parent.config.keep, [&](const Config& config) {
        add_child({config, parent.bound, Progress::kListed});
        return false;
      });
    } else if (!tiles::Families::decided(family)) {
      families_->decide(family, wanted(), [&](const std::vector<int>& next, const tiles::Least& least) {
        add_child({{next, {}}, key_of(least), Progress::kFamily});
      });
    } else {
      if (dives_.due()) dive(parent);
      for (const tiles::Chain& chain : families_->chains(family, wanted()))
        add_child({{family, chain.keep}, key_of(chain.least), Progress::kChain});
    }
  }

  // One stage further with a configuration that is out of the queue.
  void go_on(std::size_t k) {
    Candidate& candidate = candidates_[k];
    if (candidate.stage == Progress::kListed) {
      opener_.sharpen(candidate);
      if (goal_.drop(candidate.bound)) {
        ++bounded_;
        return release(k);
      }
      candidate.stage = Progress::kSharpened;
      queue_.emplace(candidate.bound, k);
      if (nearest_ == kNone || candidates_[nearest_].stage != Progress::kSharpened ||
          candidate.bound < candidates_[nearest_].bound)
        nearest_ = k;
      if (plunges_.due()) search_ahead(candidates_[std::exchange(nearest_, kNone)]);
      return;
    }
    const bool first = candidate.stage == Progress::kSharpened;
    const bool finished = opener_.search(candidate, first ? kFirstNodes : 0);
    if (!finished && first && !goal_.drop(candidate.bound)) {
      candidate.stage = Progress::kLast;
      queue_.emplace(candidate.bound, k);
      return;
    }
    if (!finished && !first) open_ = std::min(open_, candidate.bound[0]);
    if (!finished && first) ++bounded_;
    release(k);
  }

  // A configuration that stays where it is in the queue.
  void search_ahead(Candidate& candidate) {
    if (goal_.drop(candidate.bound)) return;
    candidate.stage = opener_.search(candidate, kFirstNodes) ? Progress::kDone : Progress::kLast;
  }

  // A good mapping of a family: of the cheapest configurations of its cheapest chain.
  void dive(const Candidate& family) {
    const tiles::Chain* cheapest = nullptr;
    const std::vector<tiles::Chain> chains = families_->chains(family.config.choice, wanted());
    for (const tiles::Chain& chain : chains)
      if (!cheapest || chain.least.energy_pj < cheapest->least.energy_pj) cheapest = &chain;
    if (!cheapest) return;
    std::optional<Candidate> best;
    std::size_t looked_at = 0;
    families_->configs(family.config.choice, cheapest->keep, [&](const Config& config) {
      Candidate candidate{config, family.bound, Progress::kListed};
      opener_.sharpen(candidate);
      if (!best || candidate.bound < best->bound) best = std::move(candidate);
      return ++looked_at == kMostLooks;
    });
    if (best && !goal_.drop(best->bound)) opener_.search(*best, kFirstNodes);
  }

  Key key_of(const tiles::Least& least) const {
    const double active = problem_.whole_cycles ? std::ceil(least.active * (1 - kEqual)) : least.active;
    return goal_.key(least.energy_pj + least.leak_pj_per_cycle * active, active);
  }

  tiles::Wanted wanted() const {
    return {[this](const tiles::Least& least) {
              return std::isfinite(least.energy_pj) && !goal_.too_slow(least.active) && !goal_.drop(key_of(least));
            },
            [this](double leak_pj, double energy_pj) { return goal_.most_active(energy_pj, leak_pj); }};
  }

  // A mapping to begin with.
  void begin_quickly() {
    if (const auto found = initial_solution(*problem_.model, *problem_.space, goal_.objective(), limits_.max_cycles,
                                            base::Budget(budget_, budget_.seconds_left() / 4), kAnnealed))
      goal_.offer(found->mapping, found->evaluation);
  }

  void begin_with_families() {
    begin_quickly();
    const base::Budget part(budget_, budget_.seconds_left() * kForListing);
    families_.emplace(problem_, part);
    const tiles::Least floor = families_->floor();
    families_->list(goal_.most_active(floor.energy_pj, 0), part);
    listed_all_ = families_->complete();
    const Key bound = key_of(floor);
    floor_ = bound[0];
    if (listed_all_) add({{families_->any(), {}}, bound, Progress::kFamily});
  }

  // Every configuration, with a bound.
  void begin_with_list() {
    const base::Budget part(budget_, budget_.seconds_left() * kForListing);
    base::Ticker clock(part, 64);
    const auto enough = [&] {
      if (candidates_.size() >= kMostConfigs || clock.spent()) listed_all_ = false;
      return !listed_all_;
    };
    Config config;
    config.choice.assign(problem_.levels, 0);
    config.keep.assign(problem_.levels, 0);
    std::vector<Count> left = problem_.bound;
    const std::function<void(int)> masks = [&](int level) {
      if (level < 0 ? enough() : !listed_all_) return;
      if (level < 0) return add_listed(config);
      for (const std::uint32_t mask : problem_.space->keeps(level)) {
        config.keep[level] = mask;
        masks(level - 1);
      }
    };
    const std::function<void(int)> layouts = [&](int level) {
      if (!listed_all_) return;
      if (level < 0) return masks(problem_.levels - 1);
      const std::vector<Count> before = left;
      const std::vector<SpatialChoice>& choices = problem_.space->spatial(level);
      for (std::size_t k = 0; k < choices.size(); ++k) {
        bool divides = true;
        for (int d = 0; d < problem_.dimensions() && divides; ++d) {
          const Count factor = choices[k].factor[problem_.dimension[d]];
          divides = left[d] % factor == 0;
          left[d] /= factor;
        }
        config.choice[level] = static_cast<int>(k);
        if (divides) layouts(level - 1);
        left = before;
      }
    };
    layouts(problem_.levels - 1);
    // The first table is the largest, unless there is a good answer.
    double tiles = 1;
    for (const std::vector<Count>& divisors : problem_.divisors) tiles *= static_cast<double>(divisors.size());
    if (!listed_all_ || tiles > kManyTiles) begin_quickly();
    for (const std::size_t k : promising()) {
      if (budget_.spent()) break;
      if (!goal_.drop(candidates_[k].bound)) opener_.sharpen(candidates_[k]);
      search_ahead(candidates_[k]);
    }
  }

  void add_listed(const Config& config) {
    const Prices prices(problem_, config);
    if (!prices.possible()) return;
    double energy_pj = prices.fixed_pj();
    tiles::Loads loads = prices.fixed_loads();
    for (int a = 0; a < problem_.levels; ++a)
      for (int s = 0; s < problem_.spaces(); ++s)
        if ((config.keep[a] >> s & 1) && prices.parent(s, a) >= 0)
          energy_pj += prices.crossing(s, a, tiles::least_words(prices, s, a), &loads);
    const double active = prices.active(loads);
    if (goal_.too_slow(active)) return;
    add({config, goal_.key(prices.energy_pj(energy_pj, active), active), Progress::kListed});
  }

  // Where a good mapping is likely: of each way to keep, those that keep most first, the configuration of least bound.
  std::vector<std::size_t> promising() const {
    std::map<std::vector<std::uint32_t>, std::size_t> least;
    for (std::size_t k = 0; k < candidates_.size(); ++k) {
      const auto [place, fresh] = least.try_emplace(candidates_[k].config.keep, k);
      if (!fresh && candidates_[k].bound < candidates_[place->second].bound) place->second = k;
    }
    std::vector<std::pair<int, std::size_t>> ranked;
    for (const auto& [keep, k] : least) {
      int kept = 0;
      for (const std::uint32_t mask : keep) kept += __builtin_popcount(mask);
      ranked.emplace_back(-kept, k);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::size_t> first;
    for (std::size_t n = 0; n < std::min(ranked.size(), kMostFirst); ++n) first.push_back(ranked[n].second);
    return first;
  }

  Optimum answer() {
    const double open = std::min(open_, opener_.unresolved());
    const double least =
        listed_all_ ? open : std::max(floor_, lower_bound_of(*problem_.model, *problem_.space, goal_.first()));
    Optimum optimum = goal_.answer(listed_all_ && open == kNever, least);
    Tally{opener_.evaluated(), opener_.unfit(), bounded_ + opener_.bounded(), 0}.write(optimum.certificate);
    return optimum;
  }

  // After 1, 2, 4, ... times.
  struct Doubling {
    std::uint64_t times = 0, next = 1;
    bool due() {
      if (++times < next) return false;
      next *= 2;
      return true;
    }
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  const Problem& problem_;
  const SearchRules& limits_;
  const base::Budget& budget_;
  GapWatch& watch_;
  Goal goal_;
  tiles::Opener opener_;
  std::optional<tiles::Families> families_;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> free_;  // of candidates
  std::priority_queue<Place, std::vector<Place>, std::greater<>> queue_;
  Doubling dives_, plunges_;
  std::size_t nearest_ = kNone;  // of configurations bounded by their tiles since the last search ahead
  bool listed_all_ = true;
  double floor_ = 0;      // no mapping is below it, whatever was listed
  double open_ = kNever;  // least bound of what was left
  std::uint64_t bounded_ = 0;
};

}  // namespace

std::optional<Optimum> optimize_on_tiles(const Model& model, const Space& space, const std::vector<Metric>& objective,
                                         const SearchRules& limits, const base::Budget& budget, GapWatch& watch) {
  const std::optional<Problem> problem = tiles::describe(model, space);
  if (!problem) return std::nullopt;
  return Searcher(*problem, objective, limits, budget, watch).run();
}

}  // namespace orrery::nest
