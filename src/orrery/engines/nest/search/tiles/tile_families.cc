// Cost: some microseconds for each family.
#include "orrery/engines/nest/search/tiles/tile_families.h"

#include <algorithm>

namespace orrery::nest::tiles {

namespace {

constexpr double kMostWays = 3'000;
constexpr double kTileFamiliesInfinite = std::numeric_limits<double>::infinity();

}  // namespace

Families::Families(const Problem& problem, const base::Budget& budget)
    : problem_(problem), fronts_(problem, budget), chains_(problem, fronts_) {
  for (const Count bound : problem.bound) operations_ *= static_cast<double>(bound);
  for (const PricedLevel& level : problem.model->levels()) paid_by_instance_ = paid_by_instance_ && level.clusters == 0;
  complete_ = fronts_.complete();
}

// Dataspaces that the outermost storage always keeps.
std::uint32_t Families::always_kept() const {
  std::uint32_t always = ~0u;
  for (const std::uint32_t mask : problem_.space->keeps(problem_.levels - 1)) always &= mask;
  return always;
}

Least Families::floor() {
  std::vector<Fanout> fanouts(problem_.levels);
  double units = 1;
  for (int level = 0; level < problem_.levels; ++level) {
    Count widest = 1;
    for (const SpatialChoice& choice : problem_.space->spatial(level)) widest = std::max(widest, choice.product);
    fanouts[level].scatter.fill(1 / static_cast<double>(widest));
    fanouts[level].partition.fill(1 / static_cast<double>(widest));
    units *= static_cast<double>(widest);
  }
  Least least;
  least.active = compute_cycles(units);
  least.energy_pj = problem_.compute_pj;
  if (!complete_) return least;
  chains_.set(fanouts, kTileFamiliesInfinite, {});
  if (paid_by_instance_) least.energy_pj += chains_.least();
  outermost_active_ = chains_.outermost_active(always_kept());
  least.active = std::max(least.active, outermost_active_);
  return least;
}

void Families::list(double most_active, const base::Budget& budget) {
  if (!complete_) return;
  stages_ = list_stages(problem_, operations_ / most_active * (1 - 1e-9), budget, complete_);
  ideal_.clear();
  widest_.clear();
  for (const Stage& stage : stages_) {
    ideal_.push_back(ideal(problem_, stage));
    widest_.push_back(stage.signatures.empty() ? 0 : stage.signatures.front().instances);
  }
  followed_ = list_followed();
}

// Storages with a capacity inside which few ways to spread differ: a front is made for each of these.
std::vector<char> Families::list_followed() const {
  std::vector<char> followed;
  double ways = 1;
  for (const Stage& stage : stages_) {
    ways *= static_cast<double>(std::max<std::size_t>(1, stage.signatures.size()));
    for (int level = stage.first; level <= stage.last; ++level)
      followed.push_back(ways <= kMostWays && problem_.space->capacity(level).has_value());
  }
  return followed;
}

Families::Family Families::any() const {
  Family family(stages_.size(), -1);
  // A stage without a choice is decided as soon as those outside it are.
  for (std::size_t k = stages_.size(); k-- > 0 && stages_[k].signatures.size() == 1;) family[k] = 0;
  return family;
}

std::vector<Fanout> Families::fanouts_of(const Family& family) const {
  std::vector<Fanout> fanouts;
  for (std::size_t k = 0; k < stages_.size(); ++k) {
    const std::vector<Fanout>& of = family[k] < 0 ? ideal_[k] : stages_[k].signatures[family[k]].fanouts;
    fanouts.insert(fanouts.end(), of.begin(), of.end());
  }
  return fanouts;
}

void Families::decide(const Family& family, const Wanted& wanted,
                      const std::function<void(const Family&, const Least&)>& use) {
  if (!complete_) return;
  std::size_t stage = family.size();
  double instances = 1, others = 1;
  for (std::size_t k = family.size(); k-- > 0;) {
    if (family[k] >= 0)
      instances *= stages_[k].signatures[family[k]].instances;
    else if (stage == family.size())
      stage = k;
    else
      others *= widest_[k];
  }
  const Stage& here = stages_[stage];
  Family next = family;
  // Stages without a choice go along.
  std::size_t inner = stage;
  while (inner > 0 && stages_[inner - 1].signatures.size() == 1) {
    next[--inner] = 0;
    instances *= widest_[inner], others /= widest_[inner];
  }
  const bool last = inner == 0;
  Least least;
  least.energy_pj = problem_.compute_pj;
  if (paid_by_instance_) {
    chains_.set(fanouts_of(family), kTileFamiliesInfinite, {});
    least.energy_pj += chains_.least();
  }
  bool set = false;
  for (std::size_t k = 0; k < here.signatures.size(); ++k) {
    const Signature& signature = here.signatures[k];
    Least one = least;
    one.active = std::max(outermost_active_, compute_cycles(instances * signature.instances * others));
    if (!wanted.wanted(one)) break;  // the widest come first
    next[stage] = static_cast<int>(k);
    if (last && !configs(next, std::vector<std::uint32_t>(problem_.levels, 0), [](const Config&) { return true; }))
      continue;
    if (last || paid_by_instance_) {
      if (set)
        chains_.change(fanouts_of(next), here.first);
      else
        chains_.set(fanouts_of(next), kTileFamiliesInfinite, last ? followed_ : std::vector<char>{});
      set = true;
      one.energy_pj = problem_.compute_pj + chains_.least();
      one.leak_pj_per_cycle = chains_.crossings().leak_pj_per_cycle();
      if (!wanted.wanted(one)) continue;
    }
    use(next, one);
  }
}

std::vector<Chain> Families::chains(const Family& family, const Wanted& wanted) {
  const std::vector<Fanout> fanouts = fanouts_of(family);
  double instances = 1;
  for (const Fanout& fanout : fanouts) instances *= fanout.instances;
  std::vector<Chain> found;
  chains_.set(fanouts, kTileFamiliesInfinite, followed_);
  const double leak = chains_.crossings().leak_pj_per_cycle();
  const double most = wanted.most_active(leak, problem_.compute_pj + chains_.least());
  if (most < kTileFamiliesInfinite) chains_.set(fanouts, most, followed_);
  const double active = std::max(compute_cycles(instances), chains_.outermost_active(always_kept()));
  // The most energy that is wanted, by halving.
  const auto is_wanted = [&](double energy_pj) {
    return wanted.wanted({problem_.compute_pj + energy_pj, active, leak});
  };
  double low = chains_.least();
  if (!(low < kTileFamiliesInfinite) || !is_wanted(low)) return found;
  double high = std::max(low * 2, 1.0);
  for (int k = 0; k < 60 && is_wanted(high); ++k) low = high, high *= 2;
  for (int k = 0; k < 60; ++k) (is_wanted((low + high) / 2) ? low : high) = (low + high) / 2;
  chains_.each(high, [&](const std::vector<std::uint32_t>& keep, double energy_pj) {
    found.push_back({keep, {problem_.compute_pj + energy_pj, active, leak}});
  });
  return found;
}

bool Families::configs(const Family& family, const std::vector<std::uint32_t>& keep,
                       const std::function<bool(const Config&)>& use) const {
  Config config;
  config.choice.assign(problem_.levels, 0);
  config.keep = keep;
  std::vector<Count> left = problem_.bound;
  const std::function<bool(std::size_t)> choose = [&](std::size_t stage) {
    if (stage == stages_.size()) return use(config);
    const std::vector<Count> before = left;
    bool enough = false;
    for (const Spread& spread : stages_[stage].signatures[family[stage]].spreads) {
      bool divides = true;
      for (int d = 0; d < problem_.dimensions() && divides; ++d) {
        divides = left[d] % spread.factor[d] == 0;
        left[d] /= spread.factor[d];
      }
      if (divides) {
        std::copy(spread.choice.begin(), spread.choice.end(), config.choice.begin() + stages_[stage].first);
        enough = choose(stage + 1);
      }
      left = before;
      if (enough) return true;
    }
    return false;
  };
  return choose(0);
}

}  // namespace orrery::nest::tiles
