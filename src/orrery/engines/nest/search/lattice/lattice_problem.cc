#include "orrery/engines/nest/search/lattice/lattice_problem.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "orrery/base/numbers/factor.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

using base::Count;

namespace {

bool only_one(const std::vector<Count>& allowed) {
  return allowed.size() == 1 && allowed[0] == 1;
}

}  // namespace

int LatticeProblem::label_of(int storage) const {
  for (std::size_t a = 0; a < levels.size(); ++a)
    if (levels[a].storage == storage) return static_cast<int>(a);
  return -1;
}

namespace {

// Pairs each dimension with the dataspace that it does not move. False where they do not pair up.
bool describe_dataspaces(const Model& model, LatticeProblem& problem) {
  const workload::Einsum& einsum = model.einsum();
  const std::vector<int>& iterating = problem.space->dimensions();
  problem.dimension.fill(-1);
  problem.bound.fill(1);
  problem.blind.fill(-1);
  problem.dataspace.fill(-1);
  for (std::size_t d = 0; d < iterating.size(); ++d) {
    problem.dimension[d] = iterating[d];
    problem.bound[d] = einsum.dimensions[iterating[d]].bound;
    for (int s = 0; s < kSpaces; ++s) {
      if (model.shape().relevant[s] >> iterating[d] & 1) continue;
      if (problem.dataspace[d] >= 0 || problem.blind[s] >= 0) return false;
      problem.dataspace[d] = s;
      problem.blind[s] = static_cast<int>(d);
    }
    if (problem.dataspace[d] < 0) return false;
  }
  for (int s = 0; s < kSpaces; ++s) {
    if (!model.shape().product_form[s]) return false;
    if (einsum.dataspaces[s].read_write) problem.read_write |= 1u << s;
    // A dataspace that every iterating dimension moves is blind to one that does not iterate.
    for (int d = 0; d < kDims && problem.blind[s] < 0; ++d)
      if (problem.dataspace[d] < 0 && problem.dimension[d] < 0) {
        problem.dataspace[d] = s;
        problem.blind[s] = d;
      }
    if (problem.blind[s] < 0) return false;
  }
  return true;
}

// Lists the levels that do anything. False where one of them does what the lattice does not know.
bool describe_levels(const Model& model, LatticeProblem& problem) {
  const Space& space = *problem.space;
  const std::vector<int>& iterating = space.dimensions();
  for (int i = 0; i < space.levels(); ++i) {
    const bool idle =
        space.keeps(i).size() == 1 && space.keeps(i)[0] == 0 &&
        std::all_of(iterating.begin(), iterating.end(), [&](int d) { return only_one(space.temporal(i, d)); });
    if (idle) {
      if (i + 1 == space.levels()) return false;
      continue;
    }
    if (space.minimum_use(i) > 0) return false;
    Level level;
    level.storage = i;
    level.must_keep = ~0u;
    for (const std::uint32_t mask : space.keeps(i)) level.must_keep &= mask, level.may_keep |= mask;
    int free = 0;
    for (int d = 0; d < kDims; ++d) {
      if (problem.dimension[d] < 0) {
        level.allowed[d] = {1};
        continue;
      }
      const std::vector<Count>& allowed = space.temporal(i, problem.dimension[d]);
      level.allowed[d] = allowed;
      level.free[d] = !only_one(allowed);
      free += level.free[d];
      if (!problem.levels.empty() && level.free[d] && allowed.size() != base::divisors(problem.bound[d]).size())
        return false;
    }
    if (!problem.levels.empty() && free > 1 && !space.order_is_free(i)) return false;
    level.capacity = space.capacity(i);
    level.priced = model.levels()[i];
    const auto resource = [&](double words_per_cycle) {
      if (words_per_cycle <= 0) return -1;
      if (problem.resources < kMostResources) problem.limits[problem.resources] = words_per_cycle;
      return problem.resources++;
    };
    level.read_resource = resource(level.priced.read_limit);
    level.write_resource = resource(level.priced.write_limit);
    level.shared_resource = resource(level.priced.shared_limit);
    problem.levels.push_back(std::move(level));
  }
  return !problem.levels.empty() && problem.resources <= kMostResources && problem.levels.size() <= kMostLevels;
}

}  // namespace

std::optional<LatticeProblem> describe(const Model& model, const Space& space) {
  if (model.einsum().dataspaces.size() != kSpaces || space.dimensions().size() > kDims || !space.possible())
    return std::nullopt;
  for (const ReuseRules& rules : model.reuse())
    if (rules.no_temporal_reuse | rules.no_spatial_sharing | rules.read_first_update) return std::nullopt;
  LatticeProblem problem;
  problem.model = &model;
  problem.space = &space;
  if (!describe_dataspaces(model, problem) || !describe_levels(model, problem)) return std::nullopt;
  problem.compute_pj = model.compute_pj();
  problem.latency = static_cast<double>(model.latency_cycles());
  problem.compute_leak = model.compute_leak_pj_per_cycle();
  problem.whole_cycles = !model.options().throttle_in_doubles;
  return problem;
}

namespace {

// Per storage: the most instances that it and the storages inside it spread one to.
std::vector<double> most_spread(const LatticeProblem& problem) {
  std::vector<double> most(problem.space->levels(), 1);
  for (int i = 0; i < problem.space->levels(); ++i) {
    for (const SpatialChoice& choice : problem.space->spatial(i)) {
      double spread = 1;
      for (int d = 0; d < kDims; ++d)
        if (problem.dimension[d] >= 0) spread *= static_cast<double>(choice.factor[problem.dimension[d]]);
      most[i] = std::max(most[i], spread);
    }
    if (i > 0) most[i] *= most[i - 1];
  }
  return most;
}

// Storages of which it matters how the fan-outs inside and outside them share the factors.
std::vector<char> storages_that_count(const LatticeProblem& problem) {
  const Model& model = *problem.model;
  std::vector<char> counts(problem.space->levels(), 0);
  for (int i = 0; i < problem.space->levels(); ++i) {
    counts[i] |= model.levels()[i].leak_pj_per_cycle != 0 || problem.label_of(i) >= 0;
    for (const Model::NetworkUse& use : model.network_uses())
      if (use.level == i) counts[i] = counts[std::max(i - 1, 0)] = 1;
  }
  return counts;
}

double product(const Triple<Count>& factors) {
  return static_cast<double>(factors[0]) * static_cast<double>(factors[1]) * static_cast<double>(factors[2]);
}

}  // namespace

double least_cycles(const LatticeProblem& problem) {
  return std::max(1.0, product(problem.bound) / most_spread(problem).back());
}

double compulsory_pj(const LatticeProblem& problem) {
  double energy_pj = problem.compute_pj;
  const Level& outermost = problem.levels.back();
  for (int s = 0; s < kSpaces; ++s) {
    if (!(outermost.must_keep >> s & 1)) continue;
    const double words = product(problem.bound) / static_cast<double>(problem.bound[problem.blind[s]]);
    energy_pj += outermost.priced.blocks(words * static_cast<double>(outermost.priced.units.value[s])) *
                 (problem.read_write >> s & 1 ? outermost.priced.update_pj : outermost.priced.read_pj);
  }
  return energy_pj;
}

std::vector<SpatialLayout> layouts(const LatticeProblem& problem, double above, double upto,
                                   const std::function<bool()>& stop, std::size_t most_layouts) {
  const Space& space = *problem.space;
  const std::vector<double> most = most_spread(problem);
  std::vector<SpatialLayout> found;
  SpatialLayout layout;
  layout.choice.assign(space.levels(), 0);
  layout.left = problem.bound;
  // Fan-outs between two storages that count come to the same when their products do; one of those is enough.
  const std::vector<char> counts = storages_that_count(problem);
  using Reached = std::set<Triple<Count>>;
  const std::function<void(int, Reached*)> extend = [&](int storage, Reached* reached) {
    if (found.size() >= most_layouts || (stop && stop())) return;
    const bool end_of_group = storage < 0 || counts[storage];
    if (end_of_group && reached && !reached->insert(layout.left).second) return;
    const double cycles = product(layout.left);
    if (cycles <= above || (storage >= 0 ? cycles / most[storage] : cycles) > upto * (1 + 1e-9)) return;
    if (storage < 0) {
      // The temporal loops must be able to do the rest.
      for (int d = 0; d < kDims; ++d) {
        bool outer = false;
        for (std::size_t a = 1; a < problem.levels.size(); ++a) outer |= problem.levels[a].free[d];
        const std::vector<Count>& allowed = problem.levels[0].allowed[d];
        if (std::none_of(allowed.begin(), allowed.end(),
                         [&](Count f) { return outer ? layout.left[d] % f == 0 : layout.left[d] == f; }))
          return;
      }
      layout.cycles = cycles;
      layout.instances = 1;
      for (int d = 0; d < kDims; ++d) {
        const auto spread = problem.bound[d] / layout.left[d];  // exact
        layout.instances *= static_cast<double>(spread);
      }
      found.push_back(layout);
      return;
    }
    const std::vector<SpatialChoice>& choices = space.spatial(storage);
    const Triple<Count> before = layout.left;
    Reached next;
    for (std::size_t k = 0; k < choices.size(); ++k) {
      bool divides = true;
      for (int d = 0; d < kDims && divides; ++d) {
        if (problem.dimension[d] < 0) continue;
        const Count factor = choices[k].factor[problem.dimension[d]];
        divides = layout.left[d] % factor == 0;
        layout.left[d] /= factor;
      }
      layout.choice[storage] = static_cast<int>(k);
      if (divides) extend(storage - 1, end_of_group ? &next : reached);
      layout.left = before;
    }
  };
  extend(space.levels() - 1, nullptr);
  return found;
}

Prices::Prices(const LatticeProblem& problem, const SpatialLayout& layout) : problem_(&problem), layout_(&layout) {
  const Model& model = *problem.model;
  const int storages = problem.space->levels();
  at_.resize(storages);
  Triple<Count> inside{1, 1, 1};
  for (int i = 0; i < storages; ++i) {
    const SpatialChoice& choice = problem.space->spatial(i)[layout.choice[i]];
    Triple<Count> here{1, 1, 1};
    for (int d = 0; d < kDims; ++d)
      if (problem.dimension[d] >= 0) here[d] = choice.factor[problem.dimension[d]], inside[d] *= here[d];
    At& at = at_[i];
    at.inside = inside;
    at.instances = layout.instances / static_cast<double>(inside[0] * inside[1] * inside[2]);
    for (int s = 0; s < kSpaces; ++s) {
      at.relevant[s] = 1;
      for (int d = 0; d < kDims; ++d)
        if (d != problem.blind[s]) at.relevant[s] *= static_cast<double>(inside[d]);
    }
    for (const Model::NetworkUse& use : model.network_uses()) {
      if (use.level != i) continue;
      at.network = true;
      for (int s = 0; s < kSpaces; ++s) at.transfer_pj[s] += model.network_transfer_pj(use, s, here[problem.blind[s]]);
    }
    at.paying = model.levels()[i].paying(at.instances);
    leak_ += model.levels()[i].leak_pj_per_cycle * at.instances;
  }
  leak_ += problem.compute_leak * layout.instances;
  for (int s = 0; s < kSpaces; ++s) {
    kept_[s] = 1;
    for (int d = 0; d < kDims; ++d)
      if (d != problem.blind[s]) kept_[s] *= static_cast<double>(layout.left[d]);
  }
}

double Prices::networks_pj(int s, int inner_storage, int outer_storage, double per) const {
  double energy_pj = 0;
  for (int i = inner_storage + 1; i <= outer_storage; ++i)
    if (at_[i].network) energy_pj += at_[i].relevant[s] * per * at_[i].instances * at_[i].transfer_pj[s];
  return energy_pj;
}

Words<double> Prices::entering(int s, int a, double per) const {
  const double relevant = at_[problem_->levels[a].storage].relevant[s];
  return received(problem_->levels[a].priced, problem_->read_write >> s & 1, s, relevant * per, relevant * kept_[s]);
}

Words<double> Prices::leaving(int s, int b, double per) const {
  const double relevant = at_[problem_->levels[b].storage].relevant[s];
  return served(problem_->levels[b].priced, problem_->read_write >> s & 1, s, relevant * per, relevant * kept_[s]);
}

double Prices::boundary_pj(int s, int a, int b, Count reuse) const {
  const Level& inner = problem_->levels[a];
  const double per = layout_->cycles / static_cast<double>(reuse);
  const Level& outer = problem_->levels[b];
  return energy_pj(inner.priced, entering(s, a, per), at_[inner.storage].paying) +
         networks_pj(s, inner.storage, outer.storage, per) +
         energy_pj(outer.priced, leaving(s, b, per), at_[outer.storage].paying);
}

double Prices::innermost_pj(int s, int b) const {
  const Level& outer = problem_->levels[b];
  return networks_pj(s, -1, outer.storage, layout_->cycles) +
         energy_pj(outer.priced, leaving(s, b, layout_->cycles), at_[outer.storage].paying);
}

void Prices::add(const Level& level, const Words<double>& words, Loads& loads) const {
  for (const int r : {level.read_resource, level.shared_resource})
    if (r >= 0) loads[r] += words.reads / problem_->limits[r];
  for (const int r : {level.write_resource, level.shared_resource})
    if (r >= 0) loads[r] += (words.fills + words.updates) / problem_->limits[r];
}

void Prices::add_boundary(int s, int a, int b, Count reuse, Loads& loads) const {
  const double per = layout_->cycles / static_cast<double>(reuse);
  add(problem_->levels[a], entering(s, a, per), loads);
  add(problem_->levels[b], leaving(s, b, per), loads);
}

void Prices::add_innermost(int s, int b, Loads& loads) const {
  add(problem_->levels[b], leaving(s, b, layout_->cycles), loads);
}

double Prices::cycles(const Loads& loads) const {
  double cycles = layout_->cycles;
  for (int r = 0; r < problem_->resources; ++r) cycles = std::max(cycles, loads[r]);
  return problem_->whole_cycles ? std::ceil(cycles * (1 - kEqual)) : cycles;
}

Count Prices::tile(int s, int a, const Triple<Count>& inside) const {
  Count words = 1;
  for (int d = 0; d < kDims; ++d)
    if (d != problem_->blind[s]) words *= inside[d] * at_[problem_->levels[a].storage].inside[d];
  return words;
}

}  // namespace orrery::nest::lattice
