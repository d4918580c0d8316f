// Cost: some microseconds for each change of fan-outs, and some hundred nanoseconds for each term that is not known.
#include "orrery/engines/nest/search/tiles/tile_chains.h"

#include <algorithm>
#include <array>

namespace orrery::nest::tiles {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostTerms = 1 << 19;  // of a storage, for all that was spread inside it

}  // namespace

Chains::Chains(const Problem& problem, Fronts& fronts) : problem_(problem), fronts_(fronts), spaces_(problem.spaces()) {
  for (int level = 0; level < problem.levels; ++level) {
    const std::vector<std::uint32_t>& keeps = problem.space->keeps(level);
    if (keeps.size() > 1 || keeps.front() != 0) keeps_.push_back(level);
  }
  outsides_ = static_cast<int>(keeps_.size()) + 1;
  for (int s = 0; s < spaces_; ++s) width_.push_back(states_), states_ *= outsides_;
  for (int state = 0; state < states_; ++state)
    for (int s = 0; s < spaces_; ++s) outside_.push_back(state / width_[s] % outsides_);
  for (const Count bound : problem.bound) operations_ *= static_cast<double>(bound);
  lines_.resize(static_cast<std::size_t>(spaces_ * outsides_ * outsides_));
  spreading_.resize(keeps_.size());
  terms_.resize(keeps_.size());
  current_.resize(keeps_.size());
  least_.resize(keeps_.size());
}

void Chains::set(const std::vector<Fanout>& fanouts, double most, const std::vector<char>& followed) {
  most_ = most * (1 + 1e-9);
  followed_ = followed;
  update(fanouts, problem_.levels);
}

void Chains::change(const std::vector<Fanout>& fanouts, int first) {
  update(fanouts, first);
}

// What depends on fan-outs inside levels from `first` on stays.
void Chains::update(const std::vector<Fanout>& fanouts, int first) {
  crossings_.emplace(problem_, fanouts);
  for (int inner = -1; inner < static_cast<int>(keeps_.size()); ++inner) {
    if (inner >= 0 && keeps_[inner] >= first) break;
    for (int s = 0; s < spaces_; ++s)
      for (int outer = 0; outer < outsides_; ++outer)
        lines_[static_cast<std::size_t>((s * outsides_ + inner + 1) * outsides_ + outer)].reset();
  }
  Spreading inside;
  inside.parts.fill(1);
  int level = 0;
  for (std::size_t k = 0; k < keeps_.size(); ++k) {
    for (; level <= keeps_[k]; ++level) {
      if (followed_.empty()) continue;
      inside.instances *= fanouts[level].instances;
      for (int s = 0; s < spaces_; ++s) inside.parts[s] *= fanouts[level].partition[s];
    }
    spreading_[k] = Spreading{};
    spreading_[k].parts.fill(1);
    if (!followed_.empty() && followed_[keeps_[k]]) spreading_[k] = inside;
    const std::size_t more = static_cast<std::size_t>(states_) << spaces_;
    if (keeps_[k] < first || (terms_[k].size() + 1) * more > kMostTerms) terms_[k].clear();
    Terms& terms = terms_[k][spreading_[k]];
    if (terms.empty()) terms.assign(more, -1);
    current_[k] = &terms;
    least_[k].assign(states_, -1);
  }
  innermost_.clear();
  for (int s = 0; s < spaces_; ++s)
    for (int outer = 0; outer < outsides_; ++outer) innermost_.push_back(price_innermost(s, outer));
}

double Chains::outermost_active(std::uint32_t always) {
  std::vector<double> loads(crossings_->ports(), 0);
  for (int s = 0; s < spaces_; ++s) {
    if (!(always >> s & 1)) continue;
    const Crossings::Line& of = line(s, -1, outsides_ - 1);
    for (const Crossings::Line::Load& load : of.leaves)
      loads[load.port] += std::max(0.0, load.per_word * fronts_.whole(s) * of.shared + load.once);
  }
  return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
}

int Chains::kept_by(int state, int k, std::uint32_t mask) const {
  for (int s = 0; s < spaces_; ++s)
    if (mask >> s & 1) state += width_[s] * (k + 1 - outside(state, s));
  return state;
}

// `inner`: a keeper, or -1 for the compute units; `outer`: 1 + a keeper.
const Crossings::Line& Chains::line(int s, int inner, int outer) {
  std::optional<Crossings::Line>& known =
      lines_[static_cast<std::size_t>((s * outsides_ + inner + 1) * outsides_ + outer)];
  if (!known) known = crossings_->line(s, inner < 0 ? -1 : keeps_[inner], keeps_[outer - 1]);
  return *known;
}

// Least cost of what `mask` lets cross into keeper k.
double Chains::term(int k, int state, std::uint32_t mask) {
  int matters = 0;
  for (int s = 0; s < spaces_; ++s)
    if (mask >> s & 1) matters += width_[s] * outside(state, s);
  double& known = (*current_[k])[(static_cast<std::size_t>(matters) << spaces_) + mask];
  if (known < 0) known = price(k, state, mask);
  return known;
}

double Chains::price(int k, int state, std::uint32_t mask) {
  const int a = keeps_[k];
  if (mask == 0) return problem_.space->minimum_use(a) == 0 ? 0 : kInfinite;
  const Front& front = fronts_.front(a, mask, spreading_[k]);
  if (front.words.empty()) return kInfinite;
  std::array<double, kMaxDataspaces> entering{}, leaving{}, least_in{}, least_words{}, most{};
  double once = 0;
  bool some = false;
  for (std::size_t n = 0; n < front.spaces.size(); ++n) {
    const int s = front.spaces[n];
    most[n] = kInfinite;
    if (outside(state, s) == 0) continue;
    some = true;
    const Crossings::Line& of = line(s, k, outside(state, s));
    entering[n] = of.entering;
    leaving[n] = of.leaving;
    least_in[n] = followed_.empty() ? 0 : of.seen;
    least_words[n] = fronts_.whole(s) * of.shared;
    once += of.once;
    for (const auto* loads : {&of.enters, &of.leaves})
      for (const Crossings::Line::Load& load : *loads) most[n] = std::min(most[n], (most_ - load.once) / load.per_word);
  }
  if (!some) return 0;
  double least = kInfinite;
  const std::size_t wide = front.spaces.size();
  for (std::size_t at = 0; at < front.words.size(); at += wide) {
    double cost = once;
    bool may = true;
    for (std::size_t n = 0; n < wide; ++n) {
      const double words = std::max(front.words[at + n], least_in[n]);
      cost += entering[n] * words + leaving[n] * std::max(words, least_words[n]);
      may = may && words <= most[n];
    }
    if (may) least = std::min(least, cost);
  }
  return std::max(least, 0.0);
}

double Chains::price_innermost(int s, int outer) {
  if (outer == 0) return kInfinite;
  const Crossings::Line& of = line(s, -1, outer);
  const double words = std::max(operations_, fronts_.whole(s) * of.shared);
  for (const Crossings::Line::Load& load : of.leaves)
    if (load.per_word * words + load.once > most_) return kInfinite;
  return of.entering * operations_ + std::max(0.0, of.leaving * words + of.once);
}

// What compute units ask of the innermost levels that keep.
double Chains::innermost(int state) const {
  double cost = 0;
  for (int s = 0; s < spaces_; ++s) cost += innermost_[static_cast<std::size_t>(s * outsides_ + outside(state, s))];
  return cost;
}

double Chains::from(int k, int state) {
  if (k < 0) return innermost(state);
  double& known = least_[k][state];
  if (known >= 0) return known;
  double least = kInfinite;
  for (const std::uint32_t mask : problem_.space->keeps(keeps_[k])) {
    const double here = term(k, state, mask);
    if (here < least) least = std::min(least, here + from(k - 1, kept_by(state, k, mask)));
  }
  return known = least;
}

void Chains::each(double below, const std::function<void(const std::vector<std::uint32_t>&, double)>& use) {
  std::vector<std::uint32_t> keep(problem_.levels, 0);
  visit(static_cast<int>(keeps_.size()) - 1, 0, 0, below, keep, use);
}

void Chains::visit(int k, int state, double so_far, double below, std::vector<std::uint32_t>& keep,
                   const std::function<void(const std::vector<std::uint32_t>&, double)>& use) {
  if (k < 0) return use(keep, so_far + innermost(state));
  for (const std::uint32_t mask : problem_.space->keeps(keeps_[k])) {
    const double here = so_far + term(k, state, mask);
    const int next = kept_by(state, k, mask);
    if (!(here < below) || !(here + from(k - 1, next) < below)) continue;
    keep[keeps_[k]] = mask;
    visit(k - 1, next, here, below, keep, use);
  }
}

}  // namespace orrery::nest::tiles
