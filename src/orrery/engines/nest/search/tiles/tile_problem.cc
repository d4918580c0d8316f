#include "orrery/engines/nest/search/tiles/tile_problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::tiles {

namespace {

// Different values of a i + b j for i < m and j < n. Two are the same only if i differs by a multiple of b / gcd, and j
// by as many of a / gcd.
double different(Count a, Count m, Count b, Count n) {
  const Count gcd = std::gcd(a, b);
  return static_cast<double>(m * n - std::max<Count>(0, m - b / gcd) * std::max<Count>(0, n - a / gcd));
}

// Different positions along an axis of the instances that a fan-out spreads over. Where it spreads both dimensions,
// these depend on what each instance spans of them: the least over all that may be, multiples of `inside`. Inside the
// innermost fan-out nothing is.
double positions_along(const Problem& problem, int level, const Axis& axis, const std::vector<Count>& factor,
                       const Factors& inside) {
  const workload::Term& one = axis.terms.front();
  const workload::Term& two = axis.terms.back();
  const Count m = factor[one.dimension], n = factor[two.dimension];
  if (axis.terms.size() == 1 || n == 1) return static_cast<double>(m);
  if (m == 1) return static_cast<double>(n);
  double least = static_cast<double>(m * n);
  const auto may_span = [&](int d, Count e) {
    return problem.bound[d] / factor[d] % e == 0 && e % inside[d] == 0 && (level > 0 || e == 1);
  };
  for (const Count e : problem.divisors[one.dimension]) {
    if (!may_span(one.dimension, e)) continue;
    for (const Count f : problem.divisors[two.dimension])
      if (may_span(two.dimension, f))
        least = std::min(least, different(one.coefficient * e, m, two.coefficient * f, n));
  }
  return least;
}

// Different positions of the instances, at least: exact unless both dimensions of an axis are spread.
double scatter_of(const Problem& problem, int level, const Dataspace& dataspace, const std::vector<Count>& factor,
                  const Factors& inside) {
  double positions = 1;
  for (const Axis& axis : dataspace.axes) positions *= positions_along(problem, level, axis, factor, inside);
  return positions;
}

bool describe(const Model& model, const std::vector<int>& dimension, int s, Dataspace& out) {
  const workload::Dataspace& dataspace = model.einsum().dataspaces[s];
  out.read_write = dataspace.read_write;
  out.product_form = model.shape().product_form[s];
  for (const workload::Rank& rank : dataspace.ranks) {
    Axis axis;
    std::uint32_t here = 0;
    for (const workload::Term& term : rank.terms) {
      const auto place = std::find(dimension.begin(), dimension.end(), term.dimension);
      if (term.coefficient == 0 || place == dimension.end()) continue;
      if (term.coefficient < 0) return false;
      const int d = static_cast<int>(place - dimension.begin());
      if ((here | out.relevant) >> d & 1) return false;
      here |= 1u << d;
      axis.terms.push_back({d, term.coefficient});
    }
    if (axis.terms.empty()) continue;
    if (axis.terms.size() > 2) return false;
    if (axis.terms.size() > 1) out.window |= here;
    if (axis.terms.size() > 1 || axis.terms[0].coefficient != 1) out.shaped |= here;
    out.relevant |= here;
    out.axes.push_back(std::move(axis));
  }
  out.blind = ((1u << dimension.size()) - 1) & ~out.relevant;
  return true;
}

}  // namespace

const Axis& Dataspace::axis_of(int d) const {
  for (const Axis& axis : axes)
    for (const workload::Term& term : axis.terms)
      if (term.dimension == d) return axis;
  ORRERY_CHECK(false, "a dimension that moves nothing has no axis");
}

std::optional<Problem> describe(const Model& model, const Space& space) {
  if (!space.possible()) return std::nullopt;
  for (const ReuseRules& rules : model.reuse())
    if (rules.no_temporal_reuse != 0) return std::nullopt;
  Problem problem;
  problem.model = &model;
  problem.space = &space;
  problem.levels = space.levels();
  problem.dimension = space.dimensions();
  for (const int d : problem.dimension) {
    problem.bound.push_back(model.einsum().dimensions[d].bound);
    problem.divisors.push_back(base::divisors(problem.bound.back()));
  }
  for (std::size_t s = 0; s < model.einsum().dataspaces.size(); ++s)
    if (!describe(model, problem.dimension, static_cast<int>(s), problem.dataspaces.emplace_back()))
      return std::nullopt;
  int ports = 0;
  for (const PricedLevel& level : model.levels())
    ports += (level.read_limit > 0) + (level.write_limit > 0) + (level.shared_limit > 0);
  if (ports > kMostPorts) return std::nullopt;
  problem.latency = static_cast<double>(model.latency_cycles());
  problem.compute_pj = model.compute_pj();
  problem.compute_leak = model.compute_leak_pj_per_cycle();
  problem.whole_cycles = !model.options().throttle_in_doubles;
  return problem;
}

Fanout fanout_of(const Problem& problem, int level, const std::vector<Count>& factor, const Factors& inside) {
  const Model& model = *problem.model;
  Fanout fanout;
  for (const Count f : factor) fanout.instances *= static_cast<double>(f);
  for (int s = 0; s < problem.spaces(); ++s) {
    const Dataspace& dataspace = problem.dataspaces[s];
    const bool alone = !model.reuse().empty() && (model.reuse()[level].no_spatial_sharing >> s & 1);
    fanout.scatter[s] = alone ? fanout.instances : scatter_of(problem, level, dataspace, factor, inside);
    // A word may reach fewer where positions are more, and fewer need not be cheaper.
    const Count most = static_cast<Count>(fanout.instances / fanout.scatter[s]);
    double apart = alone ? fanout.instances : 1;
    for (int d = 0; d < problem.dimensions() && !alone; ++d)
      if (dataspace.relevant >> d & 1) apart *= static_cast<double>(factor[d]);
    const Count fewest = level == 0 ? most : static_cast<Count>(fanout.instances / apart);
    for (const Model::NetworkUse& use : model.network_uses()) {
      if (use.level != level) continue;
      double least = model.network_transfer_pj(use, s, most);
      for (Count reached = fewest; reached < most; ++reached)
        least = std::min(least, model.network_transfer_pj(use, s, reached));
      fanout.transfer_pj[s] += least;
    }
    fanout.partition[s] = 1;
    if (dataspace.product_form)
      for (int d = 0; d < problem.dimensions(); ++d)
        if (dataspace.relevant >> d & 1) fanout.partition[s] *= static_cast<double>(factor[d]);
  }
  return fanout;
}

Crossings::Crossings(const Problem& problem, const std::vector<Fanout>& fanouts)
    : problem_(&problem), fanouts_(fanouts) {
  const Model& model = *problem.model;
  const int levels = problem.levels, spaces = problem.spaces();
  instances_.assign(levels, 1);
  paying_.assign(levels, 1);
  partition_.resize(levels);
  Factors whole;
  whole.fill(1);
  for (int d = 0; d < problem.dimensions(); ++d) whole[d] = problem.bound[d];
  std::array<double, kMaxDataspaces> partition{};
  for (int s = 0; s < spaces; ++s) partition[s] = static_cast<double>(problem.dataspaces[s].tile(whole));
  for (int i = levels - 1; i >= 0; --i) {
    instances_[i] = units_;
    paying_[i] = model.levels()[i].paying(units_);
    leak_ += model.levels()[i].leak_pj_per_cycle * units_;
    for (int s = 0; s < spaces; ++s) partition_[i][s] = partition[s], partition[s] /= fanouts_[i].partition[s];
    units_ *= fanouts_[i].instances;
  }
  leak_ += problem.compute_leak * units_;
  for (int i = 0; i < levels; ++i) {
    const PricedLevel& level = model.levels()[i];
    first_port_.push_back(limits_.size());
    if (level.read_limit > 0) limits_.push_back({i, true, false, level.read_limit});
    if (level.write_limit > 0) limits_.push_back({i, false, true, level.write_limit});
    if (level.shared_limit > 0) limits_.push_back({i, true, true, level.shared_limit});
  }
  first_port_.push_back(limits_.size());
}

double Crossings::pay(int level, const Words<double>& words, Loads* loads) const {
  if (loads)
    for (std::size_t p = first_port_[level]; p < first_port_[level + 1]; ++p)
      (*loads)[p] += ((limits_[p].reads ? words.reads : 0) + (limits_[p].writes ? words.fills + words.updates : 0)) /
                     limits_[p].limit;
  // Words on a diagonal are no whole numbers: what is a hair above a block is that block.
  constexpr double kLess = 1 - kEqual;
  const PricedLevel& priced = problem_->model->levels()[level];
  const Words<double> less{words.reads * kLess, words.fills * kLess, words.updates * kLess};
  return nest::energy_pj(priced, priced.block == 1 ? words : less, paying_[level]);
}

// What `words` that enter each instance of level `inner` cost at their keeper `outer`.
double Crossings::settle(int s, int inner, int outer, double words, Loads* loads) const {
  double content = words, network_pj = 0;
  for (int i = inner + 1; i <= outer; ++i) {
    content *= fanouts_[i].scatter[s];
    network_pj += content * instances_[i] * fanouts_[i].transfer_pj[s];
  }
  // A bound may have fewer words than are seen.
  const double seen = std::min(partition_[outer][s], content);
  return network_pj +
         pay(outer, served(problem_->model->levels()[outer], problem_->dataspaces[s].read_write, s, content, seen),
             loads);
}

double Crossings::crossing(int s, int a, int b, double words, Loads* loads) const {
  const double outer_pj = settle(s, a, b, words, loads);
  if (a < 0) return outer_pj;
  const double seen = std::min(partition_[a][s], words);
  return pay(a, received(problem_->model->levels()[a], problem_->dataspaces[s].read_write, s, words, seen), loads) +
         outer_pj;
}

// Blocks count as the parts of them that are wanted.
double Crossings::slope(int level, const Words<double>& words) const {
  const PricedLevel& priced = problem_->model->levels()[level];
  return paying_[level] / priced.block *
         (words.reads * priced.read_pj + words.fills * priced.write_pj + words.updates * priced.update_pj);
}

void Crossings::add_loads(int level, double per_word, const Words<double>& words, double once,
                          const Words<double>& seen, std::vector<Line::Load>& loads) const {
  for (std::size_t p = first_port_[level]; p < first_port_[level + 1]; ++p) {
    const auto load = [&](const Words<double>& of) {
      return ((limits_[p].reads ? of.reads : 0) + (limits_[p].writes ? of.fills + of.updates : 0)) / limits_[p].limit;
    };
    if (load(words) > 0) loads.push_back({static_cast<int>(p), per_word * load(words), once * load(seen)});
  }
}

// All that may be seen is taken to be seen.
Crossings::Line Crossings::line(int s, int a, int b) const {
  const bool read_write = problem_->dataspaces[s].read_write;
  Line line;
  const double entering = 1 / (a < 0 ? units_ : instances_[a]);
  double content = entering;
  for (int i = a + 1; i <= b; ++i) {
    content *= fanouts_[i].scatter[s];
    line.entering += content * instances_[i] * fanouts_[i].transfer_pj[s];
  }
  line.shared = 1 / (content * instances_[b]);
  const PricedLevel& outer = problem_->model->levels()[b];
  const Words<double> one = served(outer, read_write, s, 1.0, 0.0), seen = served(outer, read_write, s, 0.0, 1.0);
  line.leaving += content * slope(b, one);
  line.once += partition_[b][s] * slope(b, seen);
  add_loads(b, content, one, partition_[b][s], seen, line.leaves);
  if (a >= 0) {
    const PricedLevel& inner = problem_->model->levels()[a];
    const Words<double> each = received(inner, read_write, s, 1.0, 0.0),
                        known = received(inner, read_write, s, 0.0, 1.0);
    line.entering += entering * slope(a, each);
    // Each instance is given all that it sees.
    const Dataspace& dataspace = problem_->dataspaces[s];
    if (dataspace.product_form && dataspace.shaped == 0) line.seen = instances_[a] * partition_[a][s];
    line.once += partition_[a][s] * slope(a, known);
    add_loads(a, entering, each, partition_[a][s], known, line.enters);
  }
  return line;
}

namespace {

std::vector<Fanout> fanouts_of(const Problem& problem, const Config& config) {
  std::vector<Fanout> fanouts;
  std::vector<Count> factor(problem.dimensions());
  Factors inside = kNothingSpread;
  for (int i = 0; i < problem.levels; ++i) {
    const SpatialChoice& choice = problem.space->spatial(i)[config.choice[i]];
    for (int d = 0; d < problem.dimensions(); ++d) factor[d] = choice.factor[problem.dimension[d]];
    fanouts.push_back(fanout_of(problem, i, factor, inside));
    for (int d = 0; d < problem.dimensions(); ++d) inside[d] *= factor[d];
  }
  return fanouts;
}

}  // namespace

Prices::Prices(const Problem& problem, const Config& config)
    : Crossings(problem, fanouts_of(problem, config)), config_(&config) {
  const int levels = problem.levels, dims = problem.dimensions(), spaces = problem.spaces();
  left_.fill(1);
  for (int d = 0; d < dims; ++d) left_[d] = problem.bound[d];
  Factors inside;
  inside.fill(1);
  for (int i = 0; i < levels; ++i) {
    const SpatialChoice& choice = problem.space->spatial(i)[config.choice[i]];
    for (int d = 0; d < dims; ++d) {
      const Count factor = choice.factor[problem.dimension[d]];
      inside[d] *= factor;
      if (left_[d] % factor != 0) possible_ = false;
      left_[d] /= factor;
    }
    spread_.push_back(inside);
  }
  if (!possible_) return;
  for (int d = 0; d < dims; ++d) cycles_ *= static_cast<double>(left_[d]);
  parent_.resize(levels);
  std::array<int, kMaxDataspaces> parent{};
  parent.fill(-1);
  for (int i = levels - 1; i >= 0; --i) {
    parent_[i] = parent;
    for (int s = 0; s < spaces; ++s)
      if (config.keep[i] >> s & 1) parent[s] = i;
  }
  fixed_pj_ = problem.compute_pj;
  for (int s = 0; s < spaces; ++s) {
    if (parent[s] < 0) {
      possible_ = false;
      return;
    }
    fixed_pj_ += Crossings::crossing(s, -1, parent[s], cycles_, &fixed_loads_);
  }
}

double Prices::active(const Loads& loads) const {
  double cycles = cycles_;
  for (int p = 0; p < ports(); ++p) cycles = std::max(cycles, loads[p]);
  return whole(cycles);
}

// As ports need it, in doubles or not.
double Prices::whole(double cycles) const {
  return problem().whole_cycles ? std::ceil(cycles * (1 - kEqual)) : cycles;
}

}  // namespace orrery::nest::tiles
