// Cost: some ten microseconds for each family.
#include "orrery/nest/tile_families.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/nest/objective.h"

namespace orrery::nest::tiles {

namespace {

constexpr double kMostWays = 3'000;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

// Prices under given fan-outs, and the cheapest chains.
class Families::Pricing {
 public:
  // Front entries that load a port for longer than `most` alone are passed over.
  // `followed`: levels whose tiles hold what fan-outs inside spread; empty: none.
  Pricing(const Problem& problem, Fronts& fronts, const std::vector<Fanout>& fanouts, double most,
          const std::vector<char>& followed)
      : problem_(problem),
        fronts_(fronts),
        crossings_(problem, fanouts),
        most_(most * (1 + 1e-9)),
        spaces_(problem.spaces()),
        outsides_(problem.levels + 1) {
    states_ = 1;
    for (int s = 0; s < spaces_; ++s) states_ *= outsides_;
    least_.assign(problem.levels, std::vector<double>(states_, -1));
    terms_.resize(problem.levels);
    for (int a = 0; a < problem.levels; ++a)
      terms_[a].assign(static_cast<std::size_t>(states_) << spaces_, -1);
    lines_.resize(static_cast<std::size_t>(spaces_) * outsides_ * outsides_);
    Spreading inside;
    inside.parts.fill(1);
    const Spreading unknown = inside;
    for (int a = 0; a < problem.levels; ++a) {
      inside.instances *= fanouts[a].instances;
      for (int s = 0; s < spaces_; ++s) inside.parts[s] *= fanouts[a].partition[s];
      spreadings_.push_back(!followed.empty() && followed[a] ? inside : unknown);
    }
  }

  const Crossings& crossings() const { return crossings_; }

  // What everything costs at least, computing aside.
  double least() { return from(problem_.levels - 1, 0); }

  // Chains of less than `below`.
  template <typename Use>
  void each(double below, const Use& use) {
    std::vector<std::uint32_t> keep(problem_.levels, 0);
    visit(problem_.levels - 1, 0, 0, below, keep, use);
  }

  // Cycles that the outermost storage's ports need, if all of these dataspaces are kept there.
  double outermost_active(std::uint32_t always) {
    const int b = problem_.levels - 1;
    std::vector<double> loads(crossings_.ports(), 0);
    for (int s = 0; s < spaces_; ++s) {
      if (!(always >> s & 1)) continue;
      const Crossings::Line& of = line(s, -1, b);
      for (const Crossings::Line::Load& load : of.leaves)
        loads[load.port] += std::max(0.0, load.per_word * fronts_.whole(s) * of.shared + load.once);
    }
    return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
  }

 private:
  // Who keeps dataspace s outside: 0: nobody.
  int outside(int state, int s) const {
    for (int k = 0; k < s; ++k) state /= outsides_;
    return state % outsides_;
  }

  int kept_at(int state, int level, std::uint32_t mask) const {
    int next = 0, width = 1;
    for (int s = 0; s < spaces_; ++s, width *= outsides_)
      next += width * (mask >> s & 1 ? level + 1 : outside(state, s));
    return next;
  }

  const Crossings::Line& line(int s, int a, int b) {
    std::optional<Crossings::Line>& known =
        lines_[(static_cast<std::size_t>(s) * outsides_ + static_cast<std::size_t>(a + 1)) * outsides_ + b];
    if (!known) known = crossings_.line(s, a, b);
    return *known;
  }

  // Least cost of what `mask` lets cross into storage a.
  double term(int a, int state, std::uint32_t mask) {
    int matters = 0, width = 1;
    for (int s = 0; s < spaces_; ++s, width *= outsides_)
      if (mask >> s & 1) matters += width * outside(state, s);
    double& known = terms_[a][(static_cast<std::size_t>(matters) << spaces_) + mask];
    if (known < 0) known = price(a, state, mask);
    return known;
  }

  double price(int a, int state, std::uint32_t mask) {
    if (mask == 0) return problem_.space->minimum_use(a) == 0 ? 0 : kInfinite;
    const Front& front = fronts_.front(a, mask, spreadings_[a]);
    if (front.words.empty()) return kInfinite;
    std::array<double, kMaxDataspaces> entering{}, leaving{}, least_words{}, most{};
    double once = 0;
    bool some = false;
    for (std::size_t n = 0; n < front.spaces.size(); ++n) {
      const int s = front.spaces[n], b = outside(state, s) - 1;
      most[n] = kInfinite;
      if (b < 0) continue;
      some = true;
      const Crossings::Line& of = line(s, a, b);
      entering[n] = of.entering;
      leaving[n] = of.leaving;
      least_words[n] = fronts_.whole(s) * of.shared;
      once += of.once;
      for (const auto* loads : {&of.enters, &of.leaves})
        for (const Crossings::Line::Load& load : *loads)
          most[n] = std::min(most[n], (most_ - load.once) / load.per_word);
    }
    if (!some) return 0;
    double least = kInfinite;
    const std::size_t wide = front.spaces.size();
    for (std::size_t at = 0; at < front.words.size(); at += wide) {
      double cost = once;
      bool may = true;
      for (std::size_t n = 0; n < wide; ++n) {
        const double words = front.words[at + n];
        cost += entering[n] * words + leaving[n] * std::max(words, least_words[n]);
        may = may && words <= most[n];
      }
      if (may) least = std::min(least, cost);
    }
    return std::max(least, 0.0);
  }

  // What compute units ask of the innermost keepers.
  double innermost(int state) {
    double cost = 0;
    for (int s = 0; s < spaces_; ++s) {
      const int b = outside(state, s) - 1;
      if (b < 0) return kInfinite;
      const Crossings::Line& of = line(s, -1, b);
      const double words = std::max(operations(), fronts_.whole(s) * of.shared);
      for (const Crossings::Line::Load& load : of.leaves)
        if (load.per_word * words + load.once > most_) return kInfinite;
      cost += of.entering * operations() + std::max(0.0, of.leaving * words + of.once);
    }
    return cost;
  }

  double operations() const {
    double all = 1;
    for (const Count bound : problem_.bound) all *= static_cast<double>(bound);
    return all;
  }

  double from(int level, int state) {
    if (level < 0) return innermost(state);
    double& known = least_[level][state];
    if (known >= 0) return known;
    double least = kInfinite;
    for (const std::uint32_t mask : problem_.space->keeps(level)) {
      const double here = term(level, state, mask);
      if (here < least) least = std::min(least, here + from(level - 1, kept_at(state, level, mask)));
    }
    return known = least;
  }

  template <typename Use>
  void visit(int level, int state, double so_far, double below, std::vector<std::uint32_t>& keep, const Use& use) {
    if (level < 0) return use(keep, so_far + innermost(state));
    for (const std::uint32_t mask : problem_.space->keeps(level)) {
      const double here = so_far + term(level, state, mask);
      const int next = kept_at(state, level, mask);
      if (!(here < below) || !(here + from(level - 1, next) < below)) continue;
      keep[level] = mask;
      visit(level - 1, next, here, below, keep, use);
    }
  }

  const Problem& problem_;
  Fronts& fronts_;
  const Crossings crossings_;
  const double most_;
  const int spaces_, outsides_;
  int states_ = 1;
  std::vector<std::vector<double>> least_;                  // [level][state]; below 0: not known
  std::vector<std::vector<double>> terms_;                  // [level][state << spaces + mask]
  std::vector<std::optional<Crossings::Line>> lines_;  // [dataspace][inner + 1][outer]
  std::vector<Spreading> spreadings_;                  // [level]: what fan-outs inside it spread
};

Families::Families(const Problem& problem, const cost::Budget& budget)
    : problem_(problem), budget_(budget), clock_(budget, 16), fronts_(problem, budget) {
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

Least Families::floor() const {
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
  if (!paid_by_instance_ || !complete_) return least;
  Pricing pricing(problem_, fronts_, fanouts, kInfinite, {});
  least.energy_pj += pricing.least();
  least.active = std::max(least.active, pricing.outermost_active(always_kept()));
  return least;
}

void Families::list(double most_active) {
  if (!complete_) return;
  stages_ = list_stages(problem_, operations_ / most_active * (1 - 1e-9), budget_, complete_);
  ideal_.clear();
  widest_.clear();
  for (const Stage& stage : stages_) {
    for (Fanout& fanout : ideal(problem_, stage)) ideal_.push_back(fanout);
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

std::vector<Fanout> Families::fanouts_of(const Family& family) const {
  std::vector<Fanout> fanouts;
  for (std::size_t k = 0; k < stages_.size(); ++k) {
    const std::vector<Fanout>& of = stages_[k].signatures[family[k]].fanouts;
    fanouts.insert(fanouts.end(), of.begin(), of.end());
  }
  return fanouts;
}

void Families::each(const Wanted& wanted, const std::function<void(const Family&, const Least&)>& use) {
  Family family(stages_.size(), 0);
  std::vector<Fanout> fanouts = ideal_;
  choose(stages_.size(), family, fanouts, 1, wanted, use);
}

// Stages from `stage` outwards are chosen.
void Families::choose(std::size_t stage, Family& family, std::vector<Fanout>& fanouts, double instances,
                      const Wanted& wanted, const std::function<void(const Family&, const Least&)>& use) {
  if (!complete_ || (complete_ = !clock_.spent(), !complete_)) return;
  double others = 1;
  for (std::size_t k = 0; k < stage; ++k) others *= widest_[k];
  Least least;
  least.active = compute_cycles(instances * others);
  // Stages without a choice need no bound of their own.
  const bool last = stage == 0;
  const bool forced = !last && stages_[stage - 1].signatures.size() == 1;
  if (last || (paid_by_instance_ && !forced)) {
    const auto bounded = [&](double most) {
      Pricing pricing(problem_, fronts_, fanouts, most, last ? followed_ : std::vector<char>{});
      least.energy_pj = problem_.compute_pj + pricing.least();
      least.leak_pj_per_cycle = pricing.crossings().leak_pj_per_cycle();
      if (last) least.active = std::max(least.active, pricing.outermost_active(always_kept()));
    };
    bounded(kInfinite);
    if (!wanted.wanted(least)) return;
    if (last) {
      const double most = wanted.most_active(least.leak_pj_per_cycle, least.energy_pj);
      if (most < kInfinite) bounded(most);
      if (!wanted.wanted(least)) return;
    }
  }
  if (last) return use(family, least);
  const Stage& here = stages_[stage - 1];
  const std::vector<Fanout> before(fanouts.begin() + here.first, fanouts.begin() + here.last + 1);
  for (std::size_t k = 0; k < here.signatures.size() && complete_; ++k) {
    const Signature& signature = here.signatures[k];
    Least fast = least;
    if (fast.energy_pj == kInfinite) fast.energy_pj = problem_.compute_pj;
    fast.active = compute_cycles(instances * signature.instances * others / widest_[stage - 1]);
    if (!wanted.wanted(fast)) break;  // the widest come first
    std::copy(signature.fanouts.begin(), signature.fanouts.end(), fanouts.begin() + here.first);
    family[stage - 1] = static_cast<int>(k);
    choose(stage - 1, family, fanouts, instances * signature.instances, wanted, use);
  }
  std::copy(before.begin(), before.end(), fanouts.begin() + here.first);
}

std::vector<Chain> Families::chains(const Family& family, const Wanted& wanted) {
  const std::vector<Fanout> fanouts = fanouts_of(family);
  double instances = 1;
  for (const Fanout& fanout : fanouts) instances *= fanout.instances;
  std::vector<Chain> found;
  Pricing first(problem_, fronts_, fanouts, kInfinite, followed_);
  const double leak = first.crossings().leak_pj_per_cycle();
  Pricing pricing(problem_, fronts_, fanouts, wanted.most_active(leak, problem_.compute_pj + first.least()), followed_);
  const double active = std::max(compute_cycles(instances), pricing.outermost_active(always_kept()));
  // The most energy that is wanted, by halving.
  const auto is_wanted = [&](double energy_pj) {
    return wanted.wanted({problem_.compute_pj + energy_pj, active, leak});
  };
  double low = pricing.least();
  if (!(low < kInfinite) || !is_wanted(low)) return found;
  double high = std::max(low * 2, 1.0);
  for (int k = 0; k < 60 && is_wanted(high); ++k) low = high, high *= 2;
  for (int k = 0; k < 60; ++k) (is_wanted((low + high) / 2) ? low : high) = (low + high) / 2;
  pricing.each(high, [&](const std::vector<std::uint32_t>& keep, double energy_pj) {
    found.push_back({keep, {problem_.compute_pj + energy_pj, active, leak}});
  });
  return found;
}

void Families::configs(const Family& family, const Chain& chain, const std::function<void(const Config&)>& use) const {
  Config config;
  config.choice.assign(problem_.levels, 0);
  config.keep = chain.keep;
  std::vector<Count> left = problem_.bound;
  const std::function<void(std::size_t)> choose = [&](std::size_t stage) {
    if (stage == stages_.size()) return use(config);
    const std::vector<Count> before = left;
    for (const Spread& spread : stages_[stage].signatures[family[stage]].spreads) {
      bool divides = true;
      for (int d = 0; d < problem_.dimensions() && divides; ++d) {
        divides = left[d] % spread.factor[d] == 0;
        left[d] /= spread.factor[d];
      }
      if (divides) {
        std::copy(spread.choice.begin(), spread.choice.end(), config.choice.begin() + stages_[stage].first);
        choose(stage + 1);
      }
      left = before;
    }
  };
  choose(0);
}

}  // namespace orrery::nest::tiles
