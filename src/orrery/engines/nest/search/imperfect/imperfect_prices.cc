// Bounds from counts of tiles. Let a tile span e iterations of a dimension that does not move a dataspace, and let one
// access serve f instances along it: each word is brought ceil(bound / (e f)) times at least, whatever the rounds are,
// since each time covers e f iterations at most. Words along a dimension that moves it are its bound at least.
//
// Of the loops outside a tile the innermost one, c, ends the run of every dataspace that it moves. The others may not
// see their tile change at all. Where c has one iteration in its last round, a run goes on there, but such words are a
// third at most (there are two more tiles before), and no more than one tile's of each instance outside.
//
// Where windows slide, none of this holds: neighbouring tiles share words. Of such a dataspace every word is brought
// once at least, and what the compute units ask for is bounded by how many of them one access can reach: of the
// instances that a rank spreads over, no more stand at one word than those of all its dimensions but the widest.
//
// Tiles are told apart by ranges of their sides: a range holds as little as its least side and serves as much as its
// largest. What a boundary costs at least is tabulated over all ranges, and the least over all smaller tiles kept.
#include "orrery/engines/nest/search/imperfect/imperfect_prices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/nest/model/touched.h"

namespace orrery::nest::imperfect {

using base::Count;

namespace {

constexpr std::size_t kMostRanges = 6'000;
constexpr Count kHuge = Count{1} << 40;  // products of fan-outs beyond it are as good

Count times(Count a, Count b) {
  return a > kHuge / b ? kHuge : a * b;
}

double rounds(Count bound, Count covered) {
  return static_cast<double>((bound + covered - 1) / covered);
}

bool moves(const Dataspace& dataspace, int d) {
  for (const workload::Rank& rank : dataspace.ranks)
    for (const workload::Term& term : rank.terms)
      if (term.dimension == d) return true;
  return false;
}

}  // namespace

Problem::Problem(const Model& the_model, const Space& the_space)
    : model(the_model),
      space(the_space),
      levels(the_space.levels()),
      dims(static_cast<int>(the_model.einsum().dimensions.size())),
      spaces(static_cast<int>(the_model.einsum().dataspaces.size())) {
  const workload::Einsum& einsum = model.einsum();
  std::uint32_t iterate = 0;
  for (int d = 0; d < dims; ++d) {
    bound[d] = einsum.dimensions[d].bound;
    if (bound[d] > 1) iterate |= 1u << d;
  }
  for (int s = 0; s < spaces; ++s) {
    Dataspace dataspace;
    dataspace.read_write = einsum.dataspaces[s].read_write;
    dataspace.blind = iterate;
    dataspace.ranks = model.shape().moving[s];
    dataspace.slides = !model.shape().separable[s];
    for (const workload::Rank& rank : dataspace.ranks)
      for (const workload::Term& term : rank.terms) {
        dataspace.blind &= ~(1u << term.dimension);
        dataspace.most_seen *= static_cast<double>(term.coefficient) * static_cast<double>(bound[term.dimension]);
      }
    dataspace.least_words = touched_words(einsum, s);
    if (dataspace.slides) dataspace.most_seen = static_cast<double>(dataspace.tile(bound));
    for (int i = 0; i < levels && !model.reuse().empty(); ++i)
      dataspace.alone |= (model.reuse()[i].no_spatial_sharing >> s & 1) << i;
    dataspaces.push_back(std::move(dataspace));
  }
}

Prices::Prices(const Problem& problem, const Config& config)
    : problem_(problem), config_(config), inside_(problem.levels), outside_(problem.levels), parent_(problem.levels) {
  const int levels = problem.levels;
  for (int d = 0; d < problem.dims; ++d) {
    Count product = 1;
    for (int i = 0; i < levels; ++i) inside_[i][d] = product = times(product, config.spread[i]->factor[d]);
    product = 1;
    for (int i = levels - 1; i >= 0; --i) {
      outside_[i][d] = product;
      product = times(product, config.spread[i]->factor[d]);
    }
    cycles_ *= rounds(problem.bound[d], inside_[levels - 1][d]);
    // The outermost fan-out of a dimension must not be wider than what is left for it.
    for (int i = levels - 1; i >= 0; --i)
      if (const Count factor = config.spread[i]->factor[d]; factor > 1) {
        const Count within = i == 0 ? 1 : inside_[i - 1][d];
        if (times(factor - 1, within) >= problem.bound[d]) possible_ = false;
        break;
      }
  }
  innermost_.fill(-1);
  for (int s = 0; s < problem.spaces; ++s) {
    int outer = -1;
    for (int i = levels - 1; i >= 0; --i) {
      parent_[i][s] = outer;
      if (!(config.keep[i] >> s & 1)) continue;
      outer = i;
    }
    innermost_[s] = outer;
    if (outer < 0) possible_ = false;
  }
  if (!possible_) return;
  fixed_pj_ = problem.model.compute_pj();
  for (int s = 0; s < problem.spaces; ++s) {
    const Dataspace& dataspace = problem.dataspaces[s];
    computed_[s] = computed(s);
    fixed_pj_ += served_pj(innermost_[s], s, computed_[s]);
    for (int a = 0; a < levels; ++a)
      if ((config.keep[a] >> s & 1) && parent_[a][s] >= 0)
        compulsory_pj_ += served_pj(parent_[a][s], s, dataspace.least_words) + received_pj(a, s, dataspace.least_words);
  }
}

Count Prices::shared(int s, int inner, int outer, int d) const {
  Count product = 1;
  for (int i = inner + 1; i <= outer; ++i)
    if (!(problem_.dataspaces[s].alone >> i & 1)) product = times(product, config_.spread[i]->factor[d]);
  return product;
}

double Prices::computed(int s) const {
  const Dataspace& dataspace = problem_.dataspaces[s];
  double words = dataspace.slides ? 1 : dataspace.least_words;
  for (int d = 0; d < problem_.dims; ++d) {
    if (dataspace.blind >> d & 1)
      words *= rounds(problem_.bound[d], shared(s, -1, innermost_[s], d));
    else if (dataspace.slides && moves(dataspace, d))
      words *= static_cast<double>(problem_.bound[d]);
  }
  for (std::size_t r = 0; dataspace.slides && r < dataspace.ranks.size(); ++r) {
    double all = 1, widest = 1;
    for (const workload::Term& term : dataspace.ranks[r].terms) {
      const double wide = static_cast<double>(shared(s, -1, innermost_[s], term.dimension));
      all *= wide;
      widest = std::max(widest, wide);
    }
    words *= widest / all;
  }
  return std::max(words, dataspace.least_words);
}

// Of all instances, where clusters pay together.
double Prices::paid_part(int level) const {
  const PricedLevel& priced = problem_.model.levels()[level];
  double instances = 1;
  for (int i = level + 1; i < problem_.levels; ++i) instances *= static_cast<double>(config_.spread[i]->product);
  return priced.paying(instances) / instances / priced.block;
}

double Prices::most_seen(int level, int s) const {
  double seen = problem_.dataspaces[s].most_seen;
  for (int d = 0; d < problem_.dims; ++d)
    if (problem_.dataspaces[s].slides || (problem_.dataspaces[s].blind >> d & 1))
      seen *= static_cast<double>(std::min(problem_.bound[d], outside_[level][d]));
  return seen;
}

double Prices::served_pj(int level, int s, double content) const {
  const PricedLevel& priced = problem_.model.levels()[level];
  const Words<double> words =
      served(priced, problem_.dataspaces[s].read_write, s, content, std::min(content, most_seen(level, s)));
  return paid_part(level) *
         (words.reads * priced.read_pj + words.fills * priced.write_pj + words.updates * priced.update_pj);
}

double Prices::received_pj(int level, int s, double share) const {
  const PricedLevel& priced = problem_.model.levels()[level];
  const Words<double> words =
      received(priced, problem_.dataspaces[s].read_write, s, share, std::min(share, most_seen(level, s)));
  return paid_part(level) *
         (words.reads * priced.read_pj + words.fills * priced.write_pj + words.updates * priced.update_pj);
}

double Prices::leakage_pj(double active, const std::array<Count, kMaxLevels>& instances, Count units) const {
  const Model& model = problem_.model;
  const double operations = static_cast<double>(model.einsum().operations());
  // Each unit does an operation a cycle at most, and each instance feeds so many units.
  double leakage = model.compute_leak_pj_per_cycle() * std::max(operations, active * static_cast<double>(units));
  double feeds = 1;
  for (int i = 0; i < problem_.levels; ++i) {
    feeds *= static_cast<double>(config_.spread[i]->product);
    leakage +=
        model.levels()[i].leak_pj_per_cycle * std::max(operations / feeds, active * static_cast<double>(instances[i]));
  }
  return leakage;
}

namespace {

// A dataspace that crosses into the level from the one outside that keeps it.
struct Crossing {
  int s = 0, outer = 0;
  double least_pj = 0;
};

std::vector<Crossing> crossings_into(const Prices& prices, int level) {
  const Problem& problem = prices.problem();
  std::vector<Crossing> crossings;
  for (int s = 0; s < problem.spaces; ++s) {
    if (!(prices.config().keep[level] >> s & 1)) continue;
    const int outer = prices.parent(s, level);
    const double words = problem.dataspaces[s].least_words;
    crossings.push_back(
        {s, outer, outer < 0 ? 0 : prices.served_pj(outer, s, words) + prices.received_pj(level, s, words)});
  }
  return crossings;
}

// Of tiles up to `high`, if the innermost loop outside the level that iterates is over dimension c. `at_edge`: the part
// of its rounds that may be short.
double crossing_pj(const Prices& prices, int level, const std::vector<Crossing>& crossings, const Factors& high,
                   int c) {
  const Problem& problem = prices.problem();
  const double at_edge = std::min(
      1.0 / 3, static_cast<double>(times(high[c], prices.outside(level, c))) / static_cast<double>(problem.bound[c]));
  double pj = 0;
  for (const Crossing& crossing : crossings) {
    const Dataspace& dataspace = problem.dataspaces[crossing.s];
    if (crossing.outer < 0) continue;
    if (dataspace.slides || (dataspace.blind >> c & 1)) {
      pj += crossing.least_pj;
      continue;
    }
    double content = 1, share = 1;
    for (std::uint32_t rest = dataspace.blind; rest != 0; rest &= rest - 1) {
      const int d = __builtin_ctz(rest);
      share *= rounds(problem.bound[d], high[d]);
      content *= rounds(problem.bound[d], times(high[d], prices.shared(crossing.s, level, crossing.outer, d)));
    }
    const auto words = [&](double each) { return dataspace.least_words * (each - at_edge * (each - 1)); };
    pj += prices.served_pj(crossing.outer, crossing.s, words(content)) +
          prices.received_pj(level, crossing.s, words(share));
  }
  return pj;
}

}  // namespace

Terms::Terms(const Prices& prices, int level) {
  const Problem& problem = prices.problem();
  std::vector<Count> most;
  for (const int d : problem.space.dimensions()) {
    dimension_.push_back(d);
    inside_.push_back(prices.inside(level, d));
    most.push_back((problem.bound[d] + inside_.back() - 1) / inside_.back());
  }
  const std::size_t dims = dimension_.size();
  std::size_t ranges = 0;
  for (const double growth : {1.0, 1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 3.0, 6.0, 20.0, 1e18}) {
    edges_.assign(dims, {});
    double product = 1;
    for (std::size_t k = 0; k < dims; ++k) {
      for (Count edge = 1; edge <= most[k];
           edge = std::max(edge + 1, base::saturated(std::ceil(static_cast<double>(edge) * growth))))
        edges_[k].push_back(edge);
      product *= static_cast<double>(edges_[k].size());
    }
    ranges = static_cast<std::size_t>(std::min(product, 1e18));
    if (ranges <= kMostRanges) break;
  }

  const std::vector<Crossing> crossings = crossings_into(prices, level);
  const std::optional<Count> capacity = problem.space.capacity(level);
  least_.assign(ranges, 0);
  std::vector<std::size_t> at(dims, 0);
  for (std::size_t cell = 0; cell < ranges; ++cell) {
    Factors low, high;
    low.fill(1), high.fill(1);
    for (std::size_t k = 0; k < dims; ++k) {
      const int d = dimension_[k];
      const Count last = at[k] + 1 < edges_[k].size() ? edges_[k][at[k] + 1] - 1 : most[k];
      low[d] = std::min(problem.bound[d], times(edges_[k][at[k]], inside_[k]));
      high[d] = std::min(problem.bound[d], times(last, inside_[k]));
    }
    double least = std::numeric_limits<double>::infinity();
    bool fits = true;
    if (capacity) {
      Count words = 0;
      for (const Crossing& crossing : crossings)
        words += problem.space.units(level, crossing.s) * problem.dataspaces[crossing.s].tile(low);
      fits = words <= *capacity;
    }
    if (fits) {
      bool covered = true;  // no loop outside need iterate in time
      for (std::size_t k = 0; k < dims; ++k) {
        const int d = dimension_[k];
        covered = covered && times(high[d], prices.outside(level, d)) >= problem.bound[d];
      }
      if (covered) {
        least = 0;
        for (const Crossing& crossing : crossings) least += crossing.least_pj;
      }
      for (std::size_t k = 0; k < dims && least > 0; ++k) {
        const int c = dimension_[k];
        if (low[c] < problem.bound[c]) least = std::min(least, crossing_pj(prices, level, crossings, high, c));
      }
    }
    std::size_t stride = 1;
    for (std::size_t k = 0; k < dims; ++k) {
      if (at[k] > 0) least = std::min(least, least_[cell - stride]);
      stride *= edges_[k].size();
    }
    least_[cell] = least;
    for (std::size_t k = 0; k < dims; ++k) {
      if (++at[k] < edges_[k].size()) break;
      at[k] = 0;
    }
  }
}

double Terms::least(const Factors& span) const {
  std::size_t cell = 0, stride = 1;
  for (std::size_t k = 0; k < dimension_.size(); ++k) {
    const Count side = (span[dimension_[k]] + inside_[k] - 1) / inside_[k];
    const auto above = std::upper_bound(edges_[k].begin(), edges_[k].end(), side);
    cell += stride * static_cast<std::size_t>(above - edges_[k].begin() - 1);
    stride *= edges_[k].size();
  }
  return least_[cell];
}

}  // namespace orrery::nest::imperfect
