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
  for (const machine::Storage& storage : model.chip().storages)
    ports += storage.read_words_per_cycle.has_value() + storage.write_words_per_cycle.has_value() +
             storage.shared_words_per_cycle.has_value();
  if (ports > kMostPorts) return std::nullopt;
  problem.latency = static_cast<double>(model.latency_cycles());
  problem.compute_pj = static_cast<double>(model.einsum().operations()) * model.chip().compute.compute_pj;
  problem.compute_leak = model.options().omit_compute_leakage ? 0 : model.chip().compute.leak_pj_per_cycle;
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
    const machine::Storage& storage = model.chip().storages[i];
    instances_[i] = instances;
    paying_[i] = static_cast<double>(storage.paying(static_cast<Count>(instances)));
    const bool leaks = !storage.pass_through || model.options().charge_pass_through;
    if (leaks) leak_ += storage.energy.leak_pj_per_cycle * instances;
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
    const machine::Storage& storage = model.chip().storages[i];
    if (storage.read_words_per_cycle) limits_.push_back({i, true, false, *storage.read_words_per_cycle});
    if (storage.write_words_per_cycle) limits_.push_back({i, false, true, *storage.write_words_per_cycle});
    if (storage.shared_words_per_cycle) limits_.push_back({i, true, true, *storage.shared_words_per_cycle});
  }
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

double Prices::blocks(int level, double words) const {
  const machine::Storage& storage = problem_->model->chip().storages[level];
  const double block = static_cast<double>(storage.block_size);
  if (problem_->model->options().fractional_blocks) return words / block;
  return storage.block_size == 1 ? words : std::ceil(words / block * (1 - kEqual));
}

void Prices::load(int level, double reads, double writes, Loads* loads) const {
  if (!loads) return;
  for (std::size_t p = 0; p < limits_.size(); ++p)
    if (limits_[p].level == level)
      (*loads)[p] += ((limits_[p].reads ? reads : 0) + (limits_[p].writes ? writes : 0)) / limits_[p].limit;
}

// What `words` that enter each instance of level `inner` (-1: each compute unit) cost at their keeper `outer`.
double Prices::settle(int s, int inner, int outer, double words, Loads* loads) const {
  const machine::ActionEnergies& energy = problem_->model->chip().storages[outer].energy;
  const ReuseRules rules = problem_->model->reuse().empty() ? ReuseRules{} : problem_->model->reuse()[outer];
  double content = words, energy_pj = 0;
  for (int i = inner + 1; i <= outer; ++i) {
    content *= scatter_[i][s];
    energy_pj += content * instances_[i] * transfer_pj_[i][s];
  }
  if (!problem_->dataspaces[s].read_write) {
    load(outer, content, 0, loads);
    return energy_pj + paying_[outer] * blocks(outer, content) * energy.read_pj;
  }
  const bool passes_on = rules.no_coalescing >> s & 1;
  const bool reads_first = passes_on || (rules.read_first_update >> s & 1);
  const double reads = reads_first ? content : std::max(0.0, content - partition_[outer][s]);
  load(outer, reads, passes_on ? 2 * content : content, loads);
  return energy_pj +
         paying_[outer] * (blocks(outer, reads) * energy.read_pj + blocks(outer, content) * energy.update_pj +
                           (passes_on ? blocks(outer, content) * energy.write_pj : 0));
}

double Prices::crossing(int s, int a, double words, Loads* loads) const {
  const machine::ActionEnergies& energy = problem_->model->chip().storages[a].energy;
  const bool read_write = problem_->dataspaces[s].read_write;
  const ReuseRules rules = problem_->model->reuse().empty() ? ReuseRules{} : problem_->model->reuse()[a];
  double energy_pj = 0;
  if (!read_write || !(rules.no_coalescing >> s & 1)) {
    const double fills = read_write ? std::max(0.0, words - partition_[a][s]) : words;
    energy_pj += paying_[a] * blocks(a, fills) * energy.write_pj;
    load(a, 0, fills, loads);
  }
  if (read_write && problem_->model->options().count_drain_reads) {
    energy_pj += paying_[a] * blocks(a, words) * energy.read_pj;
    load(a, words, 0, loads);
  }
  return energy_pj + settle(s, a, parent_[a][s], words, loads);
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
