// Cost: tiles times dimensions for each storage with a capacity and each set that it may keep, some nanoseconds each.
#include "orrery/engines/nest/search/tiles/tile_fronts.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/factor.h"

namespace orrery::nest::tiles {

namespace {

Factors bounds(const Problem& problem) {
  Factors bounds;
  bounds.fill(1);
  for (int d = 0; d < problem.dimensions(); ++d) bounds[d] = problem.bound[d];
  return bounds;
}

// Words that are used at all: windows may leave gaps between them, which nobody has to bring.
double used(const Problem& problem, const Dataspace& dataspace) {
  double words = 1;
  for (const Axis& axis : dataspace.axes) {
    Count most = 1, side = 1;
    bool gapless = false;
    for (const workload::Term& term : axis.terms) {
      most = std::max(most, problem.bound[term.dimension]);
      side += term.coefficient * (problem.bound[term.dimension] - 1);
      for (const workload::Term& other : axis.terms)
        gapless =
            gapless || (&other != &term && term.coefficient == 1 && problem.bound[term.dimension] >= other.coefficient);
    }
    words *= static_cast<double>(gapless ? side : most);
  }
  return words;
}

}  // namespace

Fronts::Fronts(const Problem& problem, const base::Budget& budget)
    : problem_(problem), lattice_(problem, bounds(problem)), clock_(budget, 256) {
  list_words();
  tiles_.resize(problem.levels);
  for (int a = 0; a < problem.levels && complete_; ++a) {
    tiles_[a].resize(std::size_t{1} << problem.spaces());
    for (const std::uint32_t mask : problem.space->keeps(a)) list_tiles(a, mask);
  }
}

void Fronts::list_words() {
  const int dims = problem_.dimensions();
  for (int s = 0; s < problem_.spaces(); ++s) {
    const Dataspace& dataspace = problem_.dataspaces[s];
    whole_.push_back(used(problem_, dataspace));
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
    words =
        std::min({words, box + all * (1 - 1 / meeting) * slice(step), box + all * (1 - 1 / least) * slice(2 * step)});
  }
  return passes / all * words;
}

namespace {

// Entries of which none is above another in all.
class Pareto {
 public:
  explicit Pareto(std::size_t wide) : wide_(wide) {}

  void add(const double* entry) {
    for (std::size_t at = 0; at < words_.size(); at += wide_)
      if (below(&words_[at], entry)) {
        // What was below once often is again.
        if (at > 0)
          std::swap_ranges(words_.begin() + static_cast<std::ptrdiff_t>(at),
                           words_.begin() + static_cast<std::ptrdiff_t>(at + wide_), words_.begin());
        return;
      }
    std::size_t kept = 0;
    for (std::size_t at = 0; at < words_.size(); at += wide_) {
      if (below(entry, &words_[at])) continue;
      if (kept != at) std::copy_n(&words_[at], wide_, &words_[kept]);
      kept += wide_;
    }
    words_.resize(kept);
    words_.insert(words_.end(), entry, entry + wide_);
  }
  std::vector<double> take() { return std::move(words_); }

 private:
  bool below(const double* a, const double* b) const {
    for (std::size_t n = 0; n < wide_; ++n)
      if (a[n] > b[n]) return false;
    return true;
  }
  std::size_t wide_;
  std::vector<double> words_;
};

bool holds(double words, double part) {
  return std::fmod(words, part) == 0;
}

}  // namespace

const Front& Fronts::front(int a, std::uint32_t mask, const Spreading& spreading) {
  Tiles& tiles = tiles_[a][mask];
  const auto [place, fresh] = tiles.fronts.try_emplace(spreading);
  Front& front = place->second;
  if (!fresh) return front;
  front.spaces = tiles.spaces;
  const std::size_t wide = front.spaces.size();
  if (wide == 0) return front;
  Pareto pareto(wide);
  for (const Tile& tile : tiles.tiles) {
    bool may = holds(tile.iterations, spreading.instances);
    for (int s = 0; s < problem_.spaces() && may; ++s) {
      if (!problem_.dataspaces[s].product_form || problem_.dataspaces[s].shaped != 0) continue;
      const double part = spreading.parts[s];
      may = holds(tile.words[s], part) && holds(tile.iterations / tile.words[s], spreading.instances / part);
    }
    if (!may) continue;
    for (std::size_t entry = tile.first; entry < tile.last; ++entry) pareto.add(&tiles.words[entry * wide]);
  }
  front.words = pareto.take();
  return front;
}

void Fronts::list_tiles(int a, std::uint32_t mask) {
  const int dims = problem_.dimensions();
  Tiles& out = tiles_[a][mask];
  for (int s = 0; s < problem_.spaces(); ++s)
    if (mask >> s & 1) out.spaces.push_back(s);
  if (out.spaces.empty()) return;
  const std::optional<Count> capacity = problem_.space->capacity(a);
  const Count least = problem_.space->minimum_use(a);
  std::uint32_t shaped = 0;
  for (const Dataspace& dataspace : problem_.dataspaces) shaped |= dataspace.shaped;
  std::vector<char> fit(lattice_.size());
  for (int tile = 0; tile < lattice_.size(); ++tile) {
    Count words = 0;
    for (const int s : out.spaces) words += problem_.space->units(a, s) * held_[s][lattice_.shape(s).place[tile]];
    fit[tile] = (!capacity || words <= *capacity) && words >= least;
  }
  const std::size_t wide = out.spaces.size();
  std::vector<double> entry(wide);
  for (int tile = 0; tile < lattice_.size(); ++tile) {
    if (clock_.spent()) {
      complete_ = false;
      return;
    }
    if (!fit[tile]) continue;
    // Words fall as a dimension grows, unless boxes have more words than it has iterations.
    bool largest = true;
    for (int d = 0; d < dims && largest; ++d) {
      if (shaped >> d & 1) continue;
      const int u = lattice_.coordinate(tile, d);
      for (int v = u + 1; v < lattice_.divisors(d) && largest; ++v)
        if (lattice_.divisor(d, v) % lattice_.divisor(d, u) == 0) largest = !fit[tile + (v - u) * lattice_.stride(d)];
    }
    if (!largest) continue;
    Tile one;
    for (int d = 0; d < dims; ++d) one.iterations *= static_cast<double>(lattice_.extent(tile, d));
    for (int s = 0; s < problem_.spaces(); ++s)
      one.words[s] = static_cast<double>(held_[s][lattice_.shape(s).place[tile]]);
    Pareto pareto(wide);
    for (int d = -1; d < dims; ++d) {
      for (std::size_t n = 0; n < wide; ++n) {
        const int s = out.spaces[n];
        entry[n] = words_[s][static_cast<std::size_t>(lattice_.charged(s).place[tile]) * (dims + 1) + 1 + d];
      }
      pareto.add(entry.data());
    }
    const std::vector<double> entries = pareto.take();
    one.first = out.words.size() / wide;
    out.words.insert(out.words.end(), entries.begin(), entries.end());
    one.last = out.words.size() / wide;
    out.tiles.push_back(one);
  }
}

}  // namespace orrery::nest::tiles
