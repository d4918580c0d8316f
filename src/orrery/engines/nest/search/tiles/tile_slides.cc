// A boundary of s below storage a ends at the first loop outside it that moves s. Let t be the tile inside that level's
// loops, left the factors that all temporal loops share, f those of the run. All loops between a and there leave s
// where it is, so its box is that of t, and per instance of a
//     words = left / (t f) for each dimension, multiplied, times the box,
// for a window times less: while the loop that ends the run, n iterations of step t_1, slides the box, it brings
// box + (n - 1) slice instead of n boxes, and the next loop along the same axis c_2 instead of a box (boxes.h).
//
// Further out: let U be the words of one pass, the box with which it begins included, and sum the steps of the loops
// along the axis so far. A later one, n iterations of step t, makes
//     U' = n U                               where t - sum is neither 0 nor t_1: its moves bring boxes
//     U' = n U - (n - 1) (box - brought)     where it is 0, and nothing is brought, or t_1, and a slice is
// So what all of them spare, divided by their iterations, is the sum of (1 / N_j-1 - 1 / N_j) (box - brought), N_j
// being the iterations up to loop j. Which loops meet depends on the tile and the fan-outs alone. All ways to split
// what is left of the axis' dimensions over the levels further out are tried, each level's loops in either order; loops
// that do not move s, or along another axis only, add iterations and spare nothing. Most slides of three steps or more
// meet nothing, as the next loop of their dimension moves by n - 1 steps. Cost: a hundred nanoseconds to some
// microseconds.
#include "orrery/engines/nest/search/tiles/tile_slides.h"

#include <algorithm>
#include <array>

namespace orrery::nest::tiles {

namespace {

class Onward {
 public:
  // `known`: factors of the levels from `first` on that are chosen; `others`: dimensions that move s along another
  // axis.
  Onward(const Prices& prices, const Axis& axis, std::uint32_t others, Count slide, double spared_by_slice, int first,
         std::span<const Factors* const> known)
      : prices_(prices),
        axis_(axis),
        others_(others),
        slide_(slide),
        spared_by_slice_(spared_by_slice),
        first_(first),
        known_(known) {}

  // From the loops of `level` that are not in `placed`. `inside`: by term of the axis.
  double most(int level, std::uint32_t placed, const std::array<Count, 2>& inside, Count sum) const {
    double best = 0, all = 1;
    for (std::size_t k = 0; k < axis_.terms.size(); ++k)
      all *= static_cast<double>(inside[k]) / static_cast<double>(prices_.left(axis_.terms[k].dimension));
    const Problem& problem = prices_.problem();
    for (int j = level; j < problem.levels; ++j, placed = 0) {
      const std::size_t ahead = static_cast<std::size_t>(j - first_);
      const Factors* chosen = ahead < known_.size() ? known_[ahead] : nullptr;
      for (std::size_t k = 0; k < axis_.terms.size(); ++k) {
        if (1 - all <= best) return best;
        const auto& [d, coefficient] = axis_.terms[k];
        const Count left = prices_.left(d) / inside[k];
        if (left == 1 || (placed >> k & 1)) continue;
        const Count by = coefficient * inside[k] * prices_.spread(j, d);
        const double spared = by == sum ? 1 : by == sum + slide_ ? spared_by_slice_ : 0;
        for (const Count n : problem.space->temporal(j, problem.dimension[d])) {
          if (n == 1 || left % n != 0 || (chosen && n != (*chosen)[d])) continue;
          std::array<Count, 2> next = inside;
          next[k] *= n;
          const double share = 1 / static_cast<double>(n);
          best = std::max(best, (1 - share) * spared + share * most(j, placed | 1u << k, next, sum + by));
        }
      }
      if (chosen && !passes(*chosen, placed)) return best;
    }
    return best;
  }

 private:
  // Whether what comes further out may still meet: all loops along the axis are placed, and none along another moves s.
  bool passes(const Factors& chosen, std::uint32_t placed) const {
    for (std::size_t k = 0; k < axis_.terms.size(); ++k)
      if (chosen[axis_.terms[k].dimension] > 1 && !(placed >> k & 1)) return false;
    for (std::uint32_t rest = others_; rest != 0; rest &= rest - 1)
      if (chosen[__builtin_ctz(rest)] > 1) return false;
    return true;
  }

  const Prices& prices_;
  const Axis& axis_;
  const std::uint32_t others_;
  const Count slide_;
  const double spared_by_slice_;
  const int first_;
  const std::span<const Factors* const> known_;
};

}  // namespace

double words_crossing(const Prices& prices, int s, int a, int level, const Factors& inside, const Step& step,
                      const Factors& loops, double spared) {
  const Problem& problem = prices.problem();
  const Dataspace& dataspace = problem.dataspaces[s];
  double once = 1, box = 1;  // iterations of one pass
  for (int d = 0; d < problem.dimensions(); ++d) {
    once *= static_cast<double>(inside[d]);
    if (step.run[s] >> d & 1) once *= static_cast<double>(loops[d]);
  }
  double passes = prices.cycles() / once;
  const int first = step.first[s], second = step.second[s];
  const Axis* along = first >= 0 ? &dataspace.axis_of(first) : nullptr;
  double side_along = 1;
  for (const Axis& axis : dataspace.axes) {
    Count side = 1;
    for (const workload::Term& term : axis.terms)
      side += term.coefficient * (inside[term.dimension] * prices.spread(a, term.dimension) - 1);
    box *= static_cast<double>(side);
    if (&axis == along) side_along = static_cast<double>(side);
  }
  if (!along) return passes * box;
  const auto step_along = [&](int d) {
    for (const workload::Term& term : along->terms)
      if (term.dimension == d)
        return static_cast<double>(term.coefficient) * static_cast<double>(inside[d] * prices.spread(level, d));
    return 0.0;
  };
  const auto slice = [&](double by) { return box / side_along * std::min(by, side_along); };
  double n1 = static_cast<double>(loops[first]), t1 = step_along(first);
  double n2 = second >= 0 ? static_cast<double>(loops[second]) : 1;
  double t2 = second >= 0 ? step_along(second) : 0;
  if (n1 == 1) n1 = n2, t1 = t2, n2 = 1;
  if (n1 == 1) return passes * box;
  double chain = (n1 - 1) * slice(t1);
  if (n2 > 1) chain = n2 * chain + (n2 - 1) * (t2 == t1 ? 0 : t2 == 2 * t1 ? slice(t1) : box);
  passes /= n1 * n2;
  return passes * (box * (1 - spared) + chain);
}

bool may_continue(const Problem& problem, const Factors& left, int s, const Step& step, int level) {
  const int first = step.first[s];
  if (first < 0 || (step.open >> s & 1)) return false;
  for (const workload::Term& term : problem.dataspaces[s].axis_of(first).terms)
    for (int k = level + 1; k < problem.levels; ++k) {
      const std::vector<Count>& allowed = problem.space->temporal(k, problem.dimension[term.dimension]);
      if (!allowed.empty() && allowed.back() > 1 && left[term.dimension] > 1) return true;
    }
  return false;
}

double spared_further(const Prices& prices, int s, int a, int level, const Factors& inside, const Step& step,
                      const Factors& loops, std::span<const Factors* const> known) {
  const Dataspace& dataspace = prices.problem().dataspaces[s];
  const Axis& axis = dataspace.axis_of(step.first[s]);
  std::uint32_t others = dataspace.relevant;
  for (const workload::Term& term : axis.terms) others &= ~(1u << term.dimension);
  std::array<Count, 2> after{1, 1}, by{0, 0};
  Count side = 1;
  for (std::size_t k = 0; k < axis.terms.size(); ++k) {
    const auto& [d, coefficient] = axis.terms[k];
    after[k] = inside[d] * loops[d];
    by[k] = coefficient * inside[d] * prices.spread(level, d);
    side += coefficient * (inside[d] * prices.spread(a, d) - 1);
  }
  const auto term_of = [&](int d) { return static_cast<std::size_t>(axis.terms[0].dimension == d ? 0 : 1); };
  const int first = step.first[s], second = step.second[s];
  Count slide = 0, sum = 0;
  for (const int d : {first, second}) {
    if (d < 0 || loops[d] == 1) continue;
    if (slide == 0) slide = by[term_of(d)];
    sum += by[term_of(d)];
  }
  if (slide == 0) return 0;
  const double slice = static_cast<double>(std::min(slide, side)) / static_cast<double>(side);
  return Onward(prices, axis, others, slide, 1 - slice, level + 1, known).most(level + 1, 0, after, sum);
}

double spared_by_all(const Prices& prices, const Axis& axis, const Factors& inside, const Factors& loops) {
  double further = 1;
  for (const workload::Term& term : axis.terms)
    further *= static_cast<double>(prices.left(term.dimension) / (inside[term.dimension] * loops[term.dimension]));
  return 1 - 1 / further;
}

}  // namespace orrery::nest::tiles
