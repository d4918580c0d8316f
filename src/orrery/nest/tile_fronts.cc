// Cost: tiles times dimensions for each storage with a capacity and each set that it may keep, some nanoseconds each.
#include "orrery/nest/tile_fronts.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/factor.h"

namespace orrery::nest::tiles {

namespace {

Factors bounds(const Problem& problem) {
  Factors bounds;
  bounds.fill(1);
  for (int d = 0; d < problem.dimensions(); ++d) bounds[d] = problem.bound[d];
  return bounds;
}

}  // namespace

Fronts::Fronts(const Problem& problem, const cost::Budget& budget)
    : problem_(problem), lattice_(problem, bounds(problem)), clock_(budget, 256) {
  list_words();
  fronts_.resize(problem.levels);
  fits_.resize(problem.levels);
  for (int a = 0; a < problem.levels && complete_; ++a) {
    fronts_[a].resize(std::size_t{1} << problem.spaces());
    fits_[a].assign(std::size_t{1} << problem.spaces(), 0);
    for (const std::uint32_t mask : problem.space->keeps(a)) list_front(a, mask);
  }
}

void Fronts::list_words() {
  const int dims = problem_.dimensions();
  for (int s = 0; s < problem_.spaces(); ++s) {
    const Dataspace& dataspace = problem_.dataspaces[s];
    whole_.push_back(static_cast<double>(dataspace.tile(bounds(problem_))));
    const Lattice::Part& part = lattice_.charged(s);
    std::vector<double>& words = words_.emplace_back(static_cast<std::size_t>(part.size) * (dims + 1));
    for (int place = 0; place < part.size; ++place) {
      // Dimensions that do not matter are plain, and cancel.
      const Factors inside = part.extents(lattice_, place);
      for (int d = -1; d < dims; ++d)
        words[static_cast<std::size_t>(place) * (dims + 1) + 1 + d] =
            std::max(whole_.back(), least_words(s, inside, d));
    }
    const Lattice::Part& shape = lattice_.shape(s);
    std::vector<Count>& held = held_.emplace_back(shape.size);
    for (int place = 0; place < shape.size; ++place) held[place] = dataspace.tile(shape.extents(lattice_, place));
  }
}

// When dimension d iterates next; -1: none that matters.
double Fronts::least_words(int s, const Factors& inside, int d) const {
  const Dataspace& dataspace = problem_.dataspaces[s];
  const bool run = d >= 0 && (dataspace.blind >> d & 1);
  double passes = 1;
  for (int k = 0; k < problem_.dimensions(); ++k)
    if (!run || !(dataspace.blind >> k & 1)) passes *= static_cast<double>(problem_.bound[k] / inside[k]);
  const double box = static_cast<double>(dataspace.tile(inside));
  double least = passes * box;
  for (int k = 0; k < problem_.dimensions(); ++k)
    if ((dataspace.window >> k & 1) && (run || k == d)) least = std::min(least, slide_words(s, inside, k, passes, box));
  return least;
}

double Fronts::slide_words(int s, const Factors& inside, int d, double passes, double box) const {
  const Count rest = problem_.bound[d] / inside[d];
  if (rest == 1) return passes * box;
  double side = 1, step = 0, other_step = 0, all = 1;
  bool others = false;
  for (const workload::Term& term : problem_.dataspaces[s].axis_of(d).terms) {
    const double left = static_cast<double>(problem_.bound[term.dimension] / inside[term.dimension]);
    const double by = static_cast<double>(term.coefficient * inside[term.dimension]);
    side += static_cast<double>(term.coefficient * (inside[term.dimension] - 1));
    all *= left;
    if (term.dimension == d)
      step = by;
    else if (left > 1)
      others = true, other_step = by;
  }
  const auto slice = [&](double by) { return box / side * std::min(by, side); };
  const double n = static_cast<double>(rest);
  double words = all / n * (box - slice(step)) + all * slice(step);
  if (others) {
    const double least = static_cast<double>(base::prime_factors(rest).front().first);
    const double meeting = std::max(least, std::ceil(other_step / step * (1 - 1e-12)));
    words = std::min({words, box + all * (1 - 1 / meeting) * slice(step), box + all * (1 - 1 / least) * slice(2 * step)});
  }
  return passes / all * words;
}

void Fronts::list_front(int a, std::uint32_t mask) {
  const int dims = problem_.dimensions();
  Front& front = fronts_[a][mask];
  for (int s = 0; s < problem_.spaces(); ++s)
    if (mask >> s & 1) front.spaces.push_back(s);
  const std::optional<Count> capacity = problem_.space->capacity(a);
  const Count least = problem_.space->minimum_use(a);
  if (front.spaces.empty()) {
    fits_[a][mask] = least == 0;
    return;
  }
  std::uint32_t window = 0;
  for (const Dataspace& dataspace : problem_.dataspaces) window |= dataspace.window;
  const auto fits = [&](int tile) {
    Count words = 0;
    for (const int s : front.spaces) words += held_[s][lattice_.shape(s).place[tile]];
    return (!capacity || words <= *capacity) && words >= least;
  };
  std::vector<char> fit(lattice_.size());
  for (int tile = 0; tile < lattice_.size(); ++tile) fit[tile] = fits(tile);
  const std::size_t wide = front.spaces.size();
  std::vector<std::vector<double>> found;
  std::vector<double> entry(wide);
  for (int tile = 0; tile < lattice_.size(); ++tile) {
    if (clock_.spent()) {
      complete_ = false;
      return;
    }
    if (!fit[tile]) continue;
    // Words fall as a dimension grows that no window slides along.
    bool largest = true;
    for (int d = 0; d < dims && largest; ++d) {
      if (window >> d & 1) continue;
      const int u = lattice_.coordinate(tile, d);
      for (int v = u + 1; v < lattice_.divisors(d) && largest; ++v)
        if (lattice_.divisor(d, v) % lattice_.divisor(d, u) == 0) largest = !fit[tile + (v - u) * lattice_.stride(d)];
    }
    if (!largest) continue;
    for (int d = -1; d < dims; ++d) {
      for (std::size_t n = 0; n < wide; ++n) {
        const int s = front.spaces[n];
        entry[n] = words_[s][static_cast<std::size_t>(lattice_.charged(s).place[tile]) * (dims + 1) + 1 + d];
      }
      const auto below = [&](const std::vector<double>& other) {
        for (std::size_t n = 0; n < wide; ++n)
          if (other[n] > entry[n]) return false;
        return true;
      };
      if (std::any_of(found.begin(), found.end(), below)) continue;
      std::erase_if(found, [&](const std::vector<double>& other) {
        for (std::size_t n = 0; n < wide; ++n)
          if (entry[n] > other[n]) return false;
        return true;
      });
      found.push_back(entry);
    }
  }
  fits_[a][mask] = !found.empty();
  for (const std::vector<double>& one : found) front.words.insert(front.words.end(), one.begin(), one.end());
}

}  // namespace orrery::nest::tiles
