// The first update of a word has nothing to add to, so that as many updates are spared a read, and as many words a
// fill, as there are different words among those that come. Boxes move whole, holes included (sliding.cc); so what
// comes for the first time is the union of the boxes that cross the boundary, which is never more than what crosses it.
// Where a box has no holes that is what section 3 of docs/model/nest.md shares out by volumes; where words lie between
// those that operations touch, the volumes of large boxes count words that no small box ever brings, and boxes are
// united:
//
//   - Ranks that share no dimension multiply.
//   - A rank that moves with one dimension: its tiles lie apart, and their sides add up. Several ranks that move with
//   the
//     same one dimension (a diagonal): tiles lie apart, and their volumes add up.
//   - A rank that adds several: the tiles of each dimension are intervals, and the sum of sets of intervals is taken
//     term by term, touching intervals merged (Minkowski sum).
//   - Ranks that share some dimensions of several: words are listed.
//
// Instances of the level outside hold what is left of each dimension when their digits in space are fixed, so that the
// pairs of tiles of all instances together are no more than all pairs. Cost: without remainders and overlaps, a product
// over loops; otherwise the number of tiles of the dimensions of a rank, multiplied, times their logarithm.
#include "orrery/engines/nest/model/first_words.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr Count kMostPairs = Count{1} << 24;

struct Interval {
  Count first, last;
};
using Intervals = std::vector<Interval>;

// Of one dimension, the iterations that the tiles of one instance cover, tile by tile.
using ByInstance = std::vector<Intervals>;  // the first instance first

ByInstance tiles_of(const Mapping& mapping, int d, int inner, int outer, bool first_only) {
  const int levels = static_cast<int>(mapping.levels.size());
  Count inside = 1;
  for (int i = 0; i <= inner; ++i) inside *= mapping.levels[i].spatial[d] * mapping.levels[i].temporal[d];
  const Count bound = *span_of(factors_of(mapping, d));
  std::map<Count, Intervals> found;
  for (Count tile = 0; tile * inside < bound; ++tile) {
    Count rest = tile, instance = 0;
    for (int i = inner + 1; i < levels && rest > 0; ++i) {
      const LevelMapping& level = mapping.levels[i];
      // Digits further out weigh more, and those that are 0 nothing: places are told apart by where their tiles start.
      if (i > outer) {
        Count weight = 1;
        for (int j = outer + 1; j < i; ++j) weight *= mapping.levels[j].spatial[d];
        instance += weight * (rest % level.spatial[d]);
      }
      rest /= level.spatial[d] * level.temporal[d];
    }
    if (first_only && instance > 0) continue;
    found[instance].push_back({tile * inside, std::min(bound, (tile + 1) * inside) - 1});
  }
  ByInstance result;
  for (auto& [instance, tiles] : found) result.push_back(std::move(tiles));
  return result;
}

// Sorted, intervals that touch or overlap merged.
void merge(Intervals& intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.first <= intervals[kept - 1].last + 1)
      intervals[kept - 1].last = std::max(intervals[kept - 1].last, next.last);
    else
      intervals[kept++] = next;
  }
  intervals.resize(kept);
}

// Ranks that hang together by the dimensions that move them.
struct Component {
  std::vector<workload::Rank> ranks;
  std::vector<int> dimensions;
};

std::vector<Component> components_of(const std::vector<workload::Rank>& ranks) {
  std::vector<Component> found;
  for (const workload::Rank& rank : ranks) {
    Component here{{rank}, {}};
    const auto add = [&](int d) {
      if (std::find(here.dimensions.begin(), here.dimensions.end(), d) == here.dimensions.end())
        here.dimensions.push_back(d);
    };
    for (const workload::Term& term : rank.terms) add(term.dimension);
    for (std::size_t k = found.size(); k-- > 0;) {
      Component& other = found[k];
      if (std::none_of(rank.terms.begin(), rank.terms.end(), [&](const workload::Term& term) {
            return std::find(other.dimensions.begin(), other.dimensions.end(), term.dimension) !=
                   other.dimensions.end();
          }))
        continue;
      here.ranks.insert(here.ranks.end(), other.ranks.begin(), other.ranks.end());
      for (const int d : other.dimensions) add(d);
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(k));
    }
    found.push_back(std::move(here));
  }
  return found;
}

// `tiles`: of one instance, by place in `dimensions`.
Count words_of(const Component& component, const std::vector<const Intervals*>& tiles) {
  const auto tiles_along = [&](int d) -> const Intervals& {
    const auto at = std::find(component.dimensions.begin(), component.dimensions.end(), d);
    return *tiles[static_cast<std::size_t>(at - component.dimensions.begin())];
  };
  if (component.dimensions.size() == 1) {
    Count words = 0;
    for (const Interval& tile : *tiles[0]) {
      Count box = 1;
      for (const workload::Rank& rank : component.ranks) {
        Count side = 1;
        for (const workload::Term& term : rank.terms) side += term.coefficient * (tile.last - tile.first);
        box *= side;
      }
      words += box;
    }
    return words;
  }
  if (component.ranks.size() == 1) {
    std::vector<workload::Term> terms = component.ranks[0].terms;
    std::sort(terms.begin(), terms.end(),
              [](const workload::Term& a, const workload::Term& b) { return a.coefficient < b.coefficient; });
    Intervals reached{{0, 0}};
    for (const auto& [d, coefficient] : terms) {
      Intervals longer;
      for (const Interval& from : reached)
        for (const Interval& tile : tiles_along(d))
          longer.push_back({from.first + coefficient * tile.first, from.last + coefficient * tile.last});
      merge(longer);
      reached = std::move(longer);
    }
    Count words = 0;
    for (const auto& [first, last] : reached) words += last - first + 1;
    return words;
  }
  // Every combination of tiles, every word of its box.
  std::set<std::vector<Count>> words;
  std::vector<std::size_t> index(tiles.size(), 0);
  while (true) {
    std::vector<std::vector<Count>> box{{}};
    for (const workload::Rank& rank : component.ranks) {
      Interval side{0, 0};
      for (const auto& [d, coefficient] : rank.terms) {
        const auto at = std::find(component.dimensions.begin(), component.dimensions.end(), d);
        const auto k = static_cast<std::size_t>(at - component.dimensions.begin());
        side.first += coefficient * (*tiles[k])[index[k]].first;
        side.last += coefficient * (*tiles[k])[index[k]].last;
      }
      std::vector<std::vector<Count>> longer;
      for (const std::vector<Count>& word : box)
        for (Count at = side.first; at <= side.last; ++at) {
          longer.push_back(word);
          longer.back().push_back(at);
        }
      box = std::move(longer);
    }
    words.insert(box.begin(), box.end());
    std::size_t k = 0;
    while (k < tiles.size() && ++index[k] == tiles[k]->size()) index[k++] = 0;
    if (k == tiles.size()) break;
  }
  return static_cast<Count>(words.size());
}

}  // namespace

DifferentWords different_words(const Shape& shape, int s, const Mapping& mapping, int inner, int outer) {
  DifferentWords result{1, 1};
  for (const Component& component : components_of(shape.moving[s])) {
    std::vector<ByInstance> by_dimension;
    for (const int d : component.dimensions) by_dimension.push_back(tiles_of(mapping, d, inner, outer, false));
    double sum = 0;
    std::vector<std::size_t> index(by_dimension.size(), 0);
    std::vector<const Intervals*> tiles(by_dimension.size());
    for (bool first = true;; first = false) {
      for (std::size_t k = 0; k < index.size(); ++k) tiles[k] = &by_dimension[k][index[k]];
      const Count words = words_of(component, tiles);
      if (first) result.of_first *= words;
      sum += static_cast<double>(words);
      std::size_t k = 0;
      while (k < index.size() && ++index[k] == by_dimension[k].size()) index[k++] = 0;
      if (k == index.size()) break;
    }
    result.of_all *= sum;
  }
  return result;
}

Count different_words_of_one(const Shape& shape, int s, const Mapping& mapping, int inner, int outer) {
  if (!shape.overlapping[s]) {
    // Tiles lie apart: as many as their dimensions have, each the box of one.
    Count words = 1;
    std::uint32_t counted = 0;
    for (const workload::Rank& rank : shape.moving[s])
      for (const auto& [d, coefficient] : rank.terms) {
        Count inside = 1, tiles = 1;
        for (int i = 0; i < static_cast<int>(mapping.levels.size()); ++i) {
          const LevelMapping& level = mapping.levels[i];
          if (i <= inner)
            inside *= level.spatial[d] * level.temporal[d];
          else
            tiles *= level.temporal[d] * (i <= outer ? level.spatial[d] : 1);
        }
        words *= 1 + coefficient * (inside - 1);
        if (!(counted >> d & 1)) words *= tiles;
        counted |= 1u << d;
      }
    return words;
  }
  Count words = 1;
  for (const Component& component : components_of(shape.moving[s])) {
    std::vector<ByInstance> by_dimension;
    for (const int d : component.dimensions) by_dimension.push_back(tiles_of(mapping, d, inner, outer, true));
    std::vector<const Intervals*> tiles;
    for (const ByInstance& one : by_dimension) tiles.push_back(one.data());
    words *= words_of(component, tiles);
  }
  return words;
}

void require_listable(const workload::Einsum& einsum, const Shape& shape) {
  for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
    if (!shape.gaps[s] || !shape.overlapping[s] || !einsum.dataspaces[s].read_write) continue;
    for (const Component& component : components_of(shape.moving[s])) {
      if (component.dimensions.size() == 1) continue;
      __int128 pairs = 1;
      const auto times = [&](Count factor) { pairs = std::min<__int128>(pairs * factor, kMostPairs + 1); };
      for (const int d : component.dimensions) times(einsum.dimensions[d].bound);
      for (const workload::Rank& rank : component.ranks) {
        if (component.ranks.size() == 1) break;
        Count side = 1;
        for (const auto& [d, coefficient] : rank.terms) side += coefficient * (einsum.dimensions[d].bound - 1);
        times(side);
      }
      if (pairs > kMostPairs)
        base::fail("O1010", fmt::format("the model supports at most {} combinations of the dimensions of a rank of an "
                                        "output whose tiles overlap and leave words out; `{}` has more",
                                        kMostPairs, einsum.dataspaces[s].name));
    }
  }
}

}  // namespace orrery::nest
