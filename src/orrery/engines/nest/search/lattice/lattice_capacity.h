// The capacity-aware bound of the lattice search: each level on its own with the cheapest tile that fits it,
// for all choices of what to keep at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/nest/search/lattice/lattice_boundary.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::nest::lattice {

// A choice of what to keep with what it costs at least.
struct Candidate {
  Keeps keeps{};
  Least terms{};  // what the capacity bound says
  double cycles = 0;
  Least least{};  // what is known by now
};

// Under one layout. Prices fall as tiles grow, so only tiles that no other fitting one contains matter. One
// dataspace per level is priced with its run at its largest, since only the innermost loop outside gives one.
// What a level costs depends on what it keeps and where each of that is kept next outside, so the least over
// all choices of what to keep is a shortest path, level by level from the compute units outwards. Where few choices are
// in question, listing them under a simpler bound for the levels not yet chosen, each dataspace on its own, comes to
// less. Borrows its arguments.
class CapacityBound {
 public:
  // Boundaries of dataspace s that take more than most[s] cycles of a resource are forbidden.
  // `room`: bytes for what term_within() keeps.
  CapacityBound(Boundaries& boundaries, const std::vector<Criterion>& criteria, const Triple<Loads>& most,
                const base::Budget& budget, double room);

  // Where each dataspace is kept next outside: 0 nowhere, else the level + 1.
  using Outer = Triple<int>;
  // What the levels inside a see when a keeps those.
  static Outer within(int a, std::uint32_t kept, Outer outer) {
    for (int s = 0; s < kSpaces; ++s)
      if (kept >> s & 1) outer[s] = a + 1;
    return outer;
  }

  // Level a for one choice of what it keeps and where that is kept next. Infinite where nothing fits.
  struct Term {
    Least cost;
    Loads least{};   // each resource on its own
    Loads chosen{};  // with the tile of least energy
  };
  const Term& term(int a, std::uint32_t kept, const Outer& outer);
  // The same by each criterion when the tile of some level outside a is t, by point t of the lattice: every tile
  // and run of a lies within t, or a's tile is t itself. Empty where the lattice is too large to list it.
  const std::vector<double>& term_within(int a, std::uint32_t kept, const Outer& outer, int criterion);
  // Levels 0 .. a and the reads of the compute units, at least, whatever what is kept; a = -1: the latter.
  Least below(int a, const Outer& outer) const;
  bool allowed(int a, std::uint32_t kept) const;

  // Every choice of what to keep whose bounds `keep` accepts. `keep` is asked of partial choices, too, with what any
  // completion costs at least. False, and not all of them, when more than so many choices would be looked at.
  template <typename Keep>
  bool list(const Keep& keep, std::vector<Candidate>& into, int looks = std::numeric_limits<int>::max()) {
    return extend(levels_ - 1, {0, 0, 0}, {}, {}, {}, keep, into, looks);
  }

  // Makes below() exact, as far as terms go, and the following known. Does not where the budget is spent.
  void fill();
  bool filled() const { return !below_.empty(); }
  // All levels; infinite where nothing fits.
  Least least() const { return below(levels_ - 1, {0, 0, 0}); }
  // Keeps of the least by a criterion.
  const Keeps& keeps_of_least(int criterion) const { return keeps_of_least_[criterion]; }

  // The loads of the tiles that the terms of least energy are made of.
  Loads loads_of(const Keeps& keeps);

 private:
  template <typename Keep>
  bool extend(int a, const Outer& outer, const Keeps& keeps, const Least& outside, const Loads& loads, const Keep& keep,
              std::vector<Candidate>& into, int& looks) {
    for (std::uint32_t kept = 0; kept < 1u << kSpaces; ++kept) {
      if (!allowed(a, kept)) continue;
      if (--looks < 0) return false;
      const Term& own = term(a, kept, outer);
      const Outer inner = within(a, kept, outer);
      const Least inside = below(a - 1, inner);
      if (own.cost[kEnergy] == kNever || inside[kEnergy] == kNever) continue;
      Least here = outside;
      Candidate next{keeps, inside, boundaries_.prices().layout().cycles};
      for (int k = 0; k < kCriteria; ++k) next.terms[k] += here[k] += own.cost[k];
      next.least = next.terms;
      Loads sum = loads;
      for (int s = 0; s < kSpaces; ++s) next.keeps[s] |= (kept >> s & 1) << a;
      for (int r = 0; r < problem_.resources; ++r) {
        sum[r] += own.least[r];
        if (a == 0)
          for (int s = 0; s < kSpaces; ++s) sum[r] += boundaries_.innermost_loads(s, inner[s] - 1)[r];
        next.cycles = std::max(next.cycles, sum[r] * (1 - kEqual));
      }
      if (!keep(next)) continue;
      if (a == 0)
        into.push_back(next);
      else if (!extend(a - 1, inner, next.keeps, here, sum, keep, into, looks))
        return false;
    }
    return true;
  }
  void fill_chains();
  const Least& chain(int s, int a, int outer) const { return chain_[s][a * (levels_ + 1) + outer]; }
  std::size_t term_slot(int a, std::uint32_t kept, const Outer& outer) const;
  // By index of the divisor that is reused.
  using ByCriterion = std::array<const double*, kCriteria>;
  const ByCriterion& prices(int s, int a, int b);
  std::size_t slot(int a, const Outer& outer) const;

  Boundaries& boundaries_;
  const LatticeProblem& problem_;
  const std::vector<Criterion> criteria_;
  const Triple<Loads> most_;
  const base::Budget& budget_;
  double room_;
  int levels_;
  std::vector<ByCriterion> prices_;  // [dataspace][inner level][outer level]
  std::deque<std::vector<double>> own_prices_;
  std::vector<std::shared_ptr<const LargestTiles::List>> tiles_;  // [level][kept]
  std::vector<int> term_index_;  // [level][what is kept and where next]: into terms_, or -1
  std::deque<Term> terms_;
  std::map<std::size_t, std::array<std::vector<double>, kCriteria>> terms_within_;
  Triple<std::vector<Least>> chain_;  // [dataspace][level][outer]: levels 0 .. a, every run at its largest
  std::vector<Least> below_;          // [slot]
  std::array<Keeps, kCriteria> keeps_of_least_{};
};

}  // namespace orrery::nest::lattice
