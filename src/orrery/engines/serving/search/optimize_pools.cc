// A pair of shapes is two replicas, each on a kind of accelerators: all pairs of kinds are there, the same one twice
// among them. At a rate all goals depend on accelerators and their prices alone, and what a pool can serve is
// proportional to its replicas: so the rate asks for x and y replicas at least, which bound the goal of the pair from
// below. Pairs are gone through in the order of these bounds until the next one is worse than what was found; of a
// pair, more replicas than reach the best value are not looked at.
//
// Example: prompts on kind A at 3 requests a second and replica, decoding on B at 2, 10 requests a second come: four
// replicas of A and five of B at least, and none is evaluated if those cost more than what is known.
//
// Where users are given instead, there is no bound, and every pair is evaluated with every number of replicas, 10 us
// each. Pairs are dealt to threads in batches of a fixed size whose results are put together in order.
#include "orrery/engines/serving/search/optimize_pools.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr std::size_t kPairs = 64;  // of a batch

// A replica of a pool on a machine.
std::vector<Deployment> shapes_of(const ServedModel& model, const Space& space, const Machine& machine) {
  std::vector<Deployment> out;
  for (const Count tp : space.tp)
    for (const Count pp : space.pp)
      for (const Count dp : space.dp)
        for (const Count ep : space.ep) {
          Deployment one = space.base;
          one.tp = tp, one.pp = pp, one.dp = dp, one.ep = ep, one.replicas = 1;
          base::Diagnostics found;
          check(model, one, found);
          if (!found.has_errors() && one.group() <= machine.most && machine.system->accelerator.peak(one.precision) > 0)
            out.push_back(one);
        }
  return out;
}

// Two shapes, with all numbers of replicas.
struct Pair {
  std::size_t place = 0, prompts_on = 0, decoding_on = 0;
  Deployment prompts, decoding;
  Count least_prompts = 1, least_decoding = 1;  // replicas, at a rate
  double bound = -std::numeric_limits<double>::infinity();
  const char* pruned = "";  // why it is not looked at
  std::optional<FoundPools> best = {};
  std::uint64_t evaluated = 0;
  bool finished = true;
};

class PairSearch {
 public:
  PairSearch(const ServedModel& model, const Space& space, Goal goal, const ServiceLimits& limits, const Load& load)
      : model_(model), space_(space), goal_(goal), limits_(limits), load_(load) {}

  // Numbers of replicas.
  double size(const Pair& pair) const {
    double out = 0;
    for (Count x = 1; allowed(pair, x, 1); ++x) {
      const Count left = second(pair).most - (same(pair) ? x * pair.prompts.group() : 0);
      out += static_cast<double>(left / pair.decoding.group());
    }
    return out;
  }

  // What a rate asks for at least.
  void look_at(Pair& pair) const {
    if (!load_.rate) return;
    const PoolCapacities each = capacities(model_, on(pair), {pair.prompts, pair.decoding}, load_);
    if (!(each.prompts > 0) || !(each.decoding > 0)) {
      pair.pruned = "capacity";
      return;
    }
    const auto least = [&](double capacity) {
      return std::max<Count>(1, base::saturated(std::ceil(*load_.rate / (limits_.load * capacity) * (1 - 1e-9))));
    };
    pair.least_prompts = least(each.prompts), pair.least_decoding = least(each.decoding);
    if (!allowed(pair, pair.least_prompts, pair.least_decoding))
      pair.pruned = "rate";
    else
      pair.bound = least_value(pair, pair.least_prompts, pair.least_decoding);
  }

  void find_best(Pair& pair, const base::Budget& budget) const {
    for (Count x = pair.least_prompts; allowed(pair, x, pair.least_decoding); ++x)
      for (Count y = pair.least_decoding; allowed(pair, x, y); ++y) {
        if (load_.rate && pair.best && least_value(pair, x, y) > pair.best->value) break;
        if (budget.spent()) return static_cast<void>(pair.finished = false);
        FoundPools found{pair.prompts_on, pair.decoding_on, {pair.prompts, pair.decoding}, {}, 0};
        found.pools.prompts.replicas = x, found.pools.decoding.replicas = y;
        found.service = evaluate(model_, on(pair), found.pools, load_);
        ++pair.evaluated;
        if (!limits_.allow(found.service, load_.rate)) continue;
        found.value = value_of(goal_, found.service, found.pools.accelerators());
        if (!pair.best || comes_before(found, *pair.best)) pair.best = found;
        if (load_.rate) break;  // more of them only cost more
      }
  }

  static bool comes_before(const FoundPools& a, const FoundPools& b) {
    if (a.value != b.value) return a.value < b.value;
    if (a.pools.accelerators() != b.pools.accelerators()) return a.pools.accelerators() < b.pools.accelerators();
    return a.service.tpot < b.service.tpot;
  }

 private:
  const Machine& first(const Pair& pair) const { return space_.machines[pair.prompts_on]; }
  const Machine& second(const Pair& pair) const { return space_.machines[pair.decoding_on]; }
  static bool same(const Pair& pair) { return pair.prompts_on == pair.decoding_on; }
  PoolKinds on(const Pair& pair) const {
    return {{first(pair).system, first(pair).operators}, {second(pair).system, second(pair).operators}};
  }

  bool allowed(const Pair& pair, Count x, Count y) const {
    const double a = static_cast<double>(x) * static_cast<double>(pair.prompts.group());
    const double b = static_cast<double>(y) * static_cast<double>(pair.decoding.group());
    const double most = static_cast<double>(first(pair).most);
    return same(pair) ? a + b <= most : a <= most && b <= static_cast<double>(second(pair).most);
  }

  // At a rate: none of these is better, whatever it gets done.
  double least_value(const Pair& pair, Count x, Count y) const {
    const double a = static_cast<double>(x * pair.prompts.group()), b = static_cast<double>(y * pair.decoding.group());
    const double tokens = *load_.rate * load_.output.average();
    switch (goal_) {
      case Goal::kTokensPerAccelerator:
        return -tokens / (a + b) * (1 + 1e-12);
      case Goal::kUsdPerMillionTokens:
        return (a * first(pair).system->price_per_gpu_hour + b * second(pair).system->price_per_gpu_hour) / 3600 /
               tokens * 1e6 * (1 - 1e-12);
      case Goal::kAccelerators:
        break;
    }
    return a + b;
  }

  const ServedModel& model_;
  const Space& space_;
  const Goal goal_;
  const ServiceLimits& limits_;
  const Load& load_;
};

std::vector<Pair> pairs_of(const ServedModel& model, const Space& space) {
  std::vector<std::vector<Deployment>> shapes;
  for (const Machine& machine : space.machines) shapes.push_back(shapes_of(model, space, machine));
  std::vector<Pair> out;
  for (std::size_t a = 0; a < shapes.size(); ++a)
    for (std::size_t b = 0; b < shapes.size(); ++b)
      for (const Deployment& prompts : shapes[a])
        for (const Deployment& decoding : shapes[b])
          if (a != b || prompts.group() + decoding.group() <= space.machines[a].most)
            out.push_back({out.size(), a, b, prompts, decoding});
  return out;
}

// The best so far; of equal ones the first of the space.
class BestPairs {
 public:
  explicit BestPairs(std::size_t top) : top_(std::max<std::size_t>(1, top)) {}
  bool is_behind(double bound) const { return rows_.size() == top_ && bound > rows_.back().best->value; }
  void add(const Pair& pair) {
    if (!pair.best) return;
    rows_.insert(std::upper_bound(rows_.begin(), rows_.end(), pair,
                                  [](const Pair& a, const Pair& b) {
                                    if (PairSearch::comes_before(*a.best, *b.best)) return true;
                                    return !PairSearch::comes_before(*b.best, *a.best) && a.place < b.place;
                                  }),
                 pair);
    if (rows_.size() > top_) rows_.pop_back();
  }
  std::vector<FoundPools> all() const {
    std::vector<FoundPools> out;
    for (const Pair& row : rows_) out.push_back(*row.best);
    return out;
  }

 private:
  std::size_t top_;
  std::vector<Pair> rows_;
};

// Counts those that are not looked at, and orders the others by their bounds.
std::vector<Pair> open_pairs(std::vector<Pair> pairs, base::Certificate& out) {
  for (const char* why : {"capacity", "rate"}) {
    const auto count = static_cast<std::uint64_t>(std::count_if(
        pairs.begin(), pairs.end(), [&](const Pair& pair) { return std::string_view(pair.pruned) == why; }));
    if (count > 0) out.pruned.push_back({why, count});
  }
  std::erase_if(pairs, [](const Pair& pair) { return *pair.pruned != '\0'; });
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.bound < b.bound; });
  return pairs;
}

}  // namespace

OptimumPools optimize_pools(const ServedModel& model, const Space& space, Goal goal, const ServiceLimits& limits,
                            const Load& load, const base::Budget& budget, const SearchOptions& options) {
  const base::Stopwatch clock;
  const PairSearch search(model, space, goal, limits, load);
  OptimumPools out;
  std::vector<Pair> pairs = pairs_of(model, space);
  for (const Pair& pair : pairs) out.certificate.space += search.size(pair);
  base::parallel_for((pairs.size() + kPairs - 1) / kPairs, options.threads, [&](std::size_t batch) {
    for (std::size_t p = batch * kPairs; p < std::min(pairs.size(), (batch + 1) * kPairs); ++p)
      if (!budget.spent()) search.look_at(pairs[p]);
  });
  pairs = open_pairs(std::move(pairs), out.certificate);
  BestPairs best(options.top);
  double open_bound = std::numeric_limits<double>::infinity();
  for (std::size_t first = 0; first < pairs.size() && out.finished; first += kPairs) {
    if (best.is_behind(pairs[first].bound)) {
      out.certificate.pruned.push_back({"bound", pairs.size() - first});
      break;
    }
    const std::size_t count = std::min(kPairs, pairs.size() - first);
    base::parallel_for(count, options.threads, [&](std::size_t p) { search.find_best(pairs[first + p], budget); });
    for (std::size_t p = first; p < first + count; ++p) {
      out.certificate.evaluated += pairs[p].evaluated;
      best.add(pairs[p]);
      out.finished = out.finished && pairs[p].finished;
    }
    if (!out.finished) open_bound = pairs[first].bound;
  }
  out.finished = out.finished && !budget.spent();
  out.best = best.all();
  out.certificate.optimal = out.finished;
  if (!out.best.empty())
    out.certificate.close(out.best.front().value, out.finished ? open_bound : -std::numeric_limits<double>::infinity());
  else if (out.finished)
    out.certificate.close_empty();
  out.certificate.seconds = clock.seconds();
  return out;
}

}  // namespace orrery::serving
