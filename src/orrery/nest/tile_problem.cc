#include "orrery/nest/tile_problem.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/check.h"
#include "orrery/nest/objective.h"

namespace orrery::nest::tiles {

namespace {

// Different positions of the instances that a fan-out with these factors spreads over, at least: exact unless two
// dimensions of an axis are spread.
double scatter_of(const Dataspace& dataspace, const std::vector<Count>& factor) {
  double positions = 1;
  for (const Axis& axis : dataspace.axes) {
    double along = 1;
    for (const workload::Term& term : axis.terms) along += static_cast<double>(factor[term.dimension] - 1);
    positions *= along;
  }
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
  for (const int d : problem.dimension) problem.bound.push_back(model.einsum().dimensions[d].bound);
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

Prices::Prices(const Problem& problem, const Config& config) : problem_(&problem), config_(&config) {
  const Model& model = *problem.model;
  const int levels = problem.levels, dims = problem.dimensions(), spaces = problem.spaces();
  spread_.resize(levels);
  parent_.resize(levels);
  scatter_.resize(levels);
  partition_.resize(levels);
  transfer_pj_.resize(levels);
  instances_.assign(levels, 1);
  paying_.assign(levels, 1);
  left_.fill(1);
  for (int d = 0; d < dims; ++d) left_[d] = problem.bound[d];
  std::vector<std::vector<Count>> factor(levels, std::vector<Count>(dims, 1));
  Factors inside;
  inside.fill(1);
  for (int i = 0; i < levels; ++i) {
    const SpatialChoice& choice = problem.space->spatial(i)[config.choice[i]];
    for (int d = 0; d < dims; ++d) {
      factor[i][d] = choice.factor[problem.dimension[d]];
      inside[d] *= factor[i][d];
      if (left_[d] % factor[i][d] != 0) possible_ = false;
      left_[d] /= factor[i][d];
    }
    spread_[i] = inside;
  }
  if (!possible_) return;
  for (int d = 0; d < dims; ++d) cycles_ *= static_cast<double>(left_[d]);
  Factors whole;
  whole.fill(1);
  for (int d = 0; d < dims; ++d) whole[d] = problem.bound[d];
  double instances = 1;
  std::array<double, kMaxDataspaces> partition{};
  std::array<int, kMaxDataspaces> parent{};
  parent.fill(-1);
  for (int s = 0; s < spaces; ++s) partition[s] = static_cast<double>(problem.dataspaces[s].tile(whole));
  for (int i = levels - 1; i >= 0; --i) {
    instances_[i] = instances;
    paying_[i] = model.levels()[i].paying(instances);
    leak_ += model.levels()[i].leak_pj_per_cycle * instances;
    double fanout = 1;
    for (int d = 0; d < dims; ++d) fanout *= static_cast<double>(factor[i][d]);
    for (int s = 0; s < spaces; ++s) {
      const Dataspace& dataspace = problem.dataspaces[s];
      partition_[i][s] = partition[s];
      parent_[i][s] = parent[s];
      if (config.keep[i] >> s & 1) parent[s] = i;
      const bool alone = !model.reuse().empty() && (model.reuse()[i].no_spatial_sharing >> s & 1);
      scatter_[i][s] = alone ? fanout : scatter_of(dataspace, factor[i]);
      transfer_pj_[i][s] = 0;
      for (const Model::NetworkUse& use : model.network_uses())
        if (use.level == i)
          transfer_pj_[i][s] += model.network_transfer_pj(use, s, static_cast<Count>(fanout / scatter_[i][s]));
      if (dataspace.product_form)
        for (int d = 0; d < dims; ++d)
          if (dataspace.relevant >> d & 1) partition[s] /= static_cast<double>(factor[i][d]);
    }
    instances *= fanout;
  }
  leak_ += problem.compute_leak * instances;
  for (int i = 0; i < levels; ++i) {
    const PricedLevel& level = model.levels()[i];
    first_port_.push_back(limits_.size());
    if (level.read_limit > 0) limits_.push_back({i, true, false, level.read_limit});
    if (level.write_limit > 0) limits_.push_back({i, false, true, level.write_limit});
    if (level.shared_limit > 0) limits_.push_back({i, true, true, level.shared_limit});
  }
  first_port_.push_back(limits_.size());
  fixed_pj_ = problem.compute_pj;
  for (int s = 0; s < spaces; ++s) {
    int innermost = 0;
    while (innermost < levels && !(config.keep[innermost] >> s & 1)) ++innermost;
    if (innermost == levels) {
      possible_ = false;
      return;
    }
    fixed_pj_ += settle(s, -1, innermost, cycles_, &fixed_loads_);
  }
}

double Prices::pay(int level, const Words<double>& words, Loads* loads) const {
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

// What `words` that enter each instance of level `inner` (-1: each compute unit) cost at their keeper `outer`.
double Prices::settle(int s, int inner, int outer, double words, Loads* loads) const {
  double content = words, network_pj = 0;
  for (int i = inner + 1; i <= outer; ++i) {
    content *= scatter_[i][s];
    network_pj += content * instances_[i] * transfer_pj_[i][s];
  }
  // A bound may have fewer words than are seen.
  const double seen = std::min(partition_[outer][s], content);
  return network_pj +
         pay(outer, served(problem_->model->levels()[outer], problem_->dataspaces[s].read_write, s, content, seen),
             loads);
}

double Prices::crossing(int s, int a, double words, Loads* loads) const {
  const double seen = std::min(partition_[a][s], words);
  return pay(a, received(problem_->model->levels()[a], problem_->dataspaces[s].read_write, s, words, seen), loads) +
         settle(s, a, parent_[a][s], words, loads);
}

double Prices::active(const Loads& loads) const {
  double cycles = cycles_;
  for (std::size_t p = 0; p < limits_.size(); ++p) cycles = std::max(cycles, loads[p]);
  return whole(cycles);
}

// As ports need it, in doubles or not.
double Prices::whole(double cycles) const {
  return problem_->whole_cycles ? std::ceil(cycles * (1 - kEqual)) : cycles;
}

}  // namespace orrery::nest::tiles
