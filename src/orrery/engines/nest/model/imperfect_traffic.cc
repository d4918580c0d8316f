// Counting where factors leave a remainder, in closed form.
//
// The iterations of one dimension are the numbers 0 .. bound - 1, written with one digit per loop; their digits range
// over all combinations up to those of bound - 1, lexicographically from the outermost loop inwards. So every count
// below is how many combinations of *some* of the digits occur. With `full` and `edge` for the loops so far, innermost
// first, where edge counts those within the last round,
//     digit kept     edge = (last - 1) full + edge,   full = iterations * full
//     digit dropped  edge = last > 1 ? full : edge                                  (the first digits occur more often)
// starting from 1, 1; the outermost edge is the count. Dimensions are independent: counts multiply.
//
// Instances work in step. The tile of an instance is the box of what its step needs; a step at which a dimension that
// moves the tile has nothing for this instance needs the empty box; one at which another dimension has nothing leaves
// the instance as it is. A box is brought when it differs from the one before. Let the digits outside a tile be known
// for the dimensions that move it: then it is brought once for each combination of the other dimensions' digits, those
// of the innermost run of loops left out. For the words, sum the boxes: a dimension that moves the tile has as many as
// its bound, whatever the loops.
//
// The run may be longer at the edge: a loop of one iteration in the last round moves nothing there. That needs every
// loop of the dimension outside it at its last iteration on all instances at once, i.e. no fan-out outside it with more
// than one instance in its last round. So each dimension's combinations fall in two classes, with a run each; they are
// summed by where the joint run ends.
//
// A fan-out drops its digit from the dimensions that do not move the dataspace, as one access serves all of them. For
// the busiest instance all digits of fan-outs outside it are dropped. A stretched dimension (coefficient c) spans 1 + c
// (e - 1) words for e iterations: c times its points less c - 1 for each tile. Cost: boundaries times dimensions times
// loops.
#include "orrery/engines/nest/model/imperfect_traffic.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>

#include "orrery/engines/nest/model/boxes.h"
#include "orrery/engines/nest/model/first_words.h"
#include "orrery/engines/nest/model/imperfect_windows.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr int kNever = std::numeric_limits<int>::max();  // the position of a loop that is not there

struct ImperfectLoop {
  int level;
  bool in_space;
  int position;  // in time, counted outwards over all levels; -1 in space
  Count iterations, last;
};

struct Loops {
  std::array<ImperfectLoop, 2 * kMaxLevels> loop;  // innermost first, those that iterate
  int count = 0;
};

// Combinations of the digits that `kept` names, of the loops from `first` on.
struct Combinations {
  Count full = 1, edge = 1;

  void keep(const ImperfectLoop& loop) {
    edge += (loop.last - 1) * full;
    full *= loop.iterations;
  }
  void drop(const ImperfectLoop& loop) {
    if (loop.last > 1) edge = full;
  }
};

// What of a dimension's loops a count is to see.
struct View {
  int tile = -1;            // loops up to this level make up the tile
  int shared_up_to = -1;    // fan-outs of the levels above `tile` up to this one share a word
  std::uint32_t alone = 0;  // but for these levels
  int one_of = kMaxLevels;  // fan-outs outside this level stand at their first instance
};

class Counter {
 public:
  Counter(const workload::Einsum& einsum, const Mapping& mapping)
      : dimensions_(static_cast<int>(einsum.dimensions.size())) {
    const int levels = static_cast<int>(mapping.levels.size());
    for (int i = 0; i < levels; ++i) {
      const LevelMapping& level = mapping.levels[i];
      for (int d = 0; d < dimensions_; ++d)
        if (level.spatial[d] > 1)
          add(d,
              {i, true, -1, level.spatial[d], level.spatial_last.empty() ? level.spatial[d] : level.spatial_last[d]});
      for (int at = 0; at < dimensions_; ++at) {
        const int d = level.temporal_order[at];
        if (level.temporal[d] > 1)
          add(d, {i, false, i * kMaxDimensions + at, level.temporal[d],
                  level.temporal_last.empty() ? level.temporal[d] : level.temporal_last[d]});
      }
    }
  }

  // Different combinations of all temporal loops; of all fan-outs outside `level`.
  Count steps(int d) const {
    Combinations found;
    for (int k = 0; k < loops_[d].count; ++k) {
      const ImperfectLoop& loop = loops_[d].loop[k];
      loop.in_space ? found.drop(loop) : found.keep(loop);
    }
    return found.edge;
  }
  Count instances(int d, int level) const {
    Combinations found;
    for (int k = 0; k < loops_[d].count; ++k) {
      const ImperfectLoop& loop = loops_[d].loop[k];
      if (loop.level <= level) continue;
      loop.in_space ? found.keep(loop) : found.drop(loop);
    }
    return found.edge;
  }
  // Iterations that a tile of `level` spans, at most; without the loops in time of that level.
  Count extent(int d, int level) const {
    return spanned(d, [level](const ImperfectLoop& loop) { return loop.level <= level; });
  }
  Count extent_in_space(int d, int level) const {
    return spanned(
        d, [level](const ImperfectLoop& loop) { return loop.level < level || (loop.level == level && loop.in_space); });
  }

  // How often a dimension that does not move the dataspace has its tile brought, when the run ends before `position`.
  double times(int d, const View& view, int position) const {
    Combinations found;
    for (int k = 0; k < loops_[d].count; ++k) {
      const ImperfectLoop& loop = loops_[d].loop[k];
      if (loop.level <= view.tile) continue;
      const bool keeps = loop.in_space ? keeps_fan_out(loop, view, true) : loop.position > position;
      keeps ? found.keep(loop) : found.drop(loop);
    }
    return static_cast<double>(found.edge);
  }

  // Words along a dimension that moves the dataspace, summed over all its tiles; those in the last round of the
  // innermost loop apart, if that loop has one iteration there and the run so ends further out.
  struct Moved {
    double words = 0, at_edge = 0;
    int position = kNever, position_at_edge = kNever;
    double all() const { return words + at_edge; }
  };
  Moved moved(int d, const View& view, Count coefficient) const {
    Moved result;
    Combinations points, tiles;
    const ImperfectLoop* innermost = nullptr;  // in time
    for (int k = 0; k < loops_[d].count; ++k) {
      const ImperfectLoop& loop = loops_[d].loop[k];
      const bool outside = loop.level > view.tile;
      if (outside && !loop.in_space && !innermost) {
        innermost = &loop;
        result.position = loop.position;
        if (loop.last == 1) find_edge(d, k, span(points, tiles, coefficient), result);
      }
      const bool keeps = !loop.in_space || keeps_fan_out(loop, view, false);
      keeps ? points.keep(loop) : points.drop(loop);
      if (outside) keeps ? tiles.keep(loop) : tiles.drop(loop);
    }
    result.words = span(points, tiles, coefficient) - result.at_edge;
    return result;
  }

 private:
  template <typename Within>
  Count spanned(int d, const Within& within) const {
    Combinations found;
    for (int k = 0; k < loops_[d].count; ++k) {
      const ImperfectLoop& loop = loops_[d].loop[k];
      within(loop) ? found.keep(loop) : found.drop(loop);
    }
    return found.edge;
  }

  void add(int d, const ImperfectLoop& loop) { loops_[d].loop[loops_[d].count++] = loop; }

  static bool keeps_fan_out(const ImperfectLoop& loop, const View& view, bool may_share) {
    if (loop.level > view.one_of) return false;
    return !may_share || loop.level <= view.tile || loop.level > view.shared_up_to || (view.alone >> loop.level & 1);
  }

  static double span(const Combinations& points, const Combinations& tiles, Count coefficient) {
    if (coefficient == 1) return static_cast<double>(points.edge);
    return static_cast<double>(coefficient) * static_cast<double>(points.edge) -
           static_cast<double>(coefficient - 1) * static_cast<double>(tiles.edge);
  }

  // The loops from `first` on have one iteration in the last round as far as the next that has more.
  void find_edge(int d, int first, double words, Moved& result) const {
    int position = kNever;
    for (int k = first; k < loops_[d].count; ++k) {
      const ImperfectLoop& loop = loops_[d].loop[k];
      if (loop.last == 1) continue;
      if (loop.in_space) return;
      if (position == kNever) position = loop.position;
    }
    result.at_edge = words;
    result.position_at_edge = position;
  }

  int dimensions_;
  std::array<Loops, kMaxDimensions> loops_;
};

struct Mover {
  int dimension;
  Count coefficient;
};

// The sum over classes of how much moves times how often, by where the joint run ends.
double words_brought(const Counter& counter, std::span<const Mover> movers, std::uint32_t others, const View& view,
                     bool every_step) {
  std::array<Counter::Moved, kMaxDimensions> moved;
  const auto times = [&](int position) {
    double result = 1;
    for (std::uint32_t rest = others; rest != 0; rest &= rest - 1)
      result *= counter.times(__builtin_ctz(rest), view, position);
    return result;
  };
  double all = 1;
  int innermost = kNever;
  bool edges = false;
  for (std::size_t m = 0; m < movers.size(); ++m) {
    moved[m] = counter.moved(movers[m].dimension, view, movers[m].coefficient);
    all *= moved[m].all();
    innermost = std::min(innermost, moved[m].position);
    edges = edges || moved[m].at_edge > 0;
  }
  if (every_step) return all * times(-1);
  if (!edges) return all * times(innermost);
  // Words of the classes whose runs end at `position` or further out; from the outermost on.
  const auto up_to = [&](int position) {
    double result = 1;
    for (std::size_t m = 0; m < movers.size(); ++m)
      result *= (moved[m].position >= position ? moved[m].words : 0) +
                (moved[m].position_at_edge >= position ? moved[m].at_edge : 0);
    return result;
  };
  std::array<int, 2 * kMaxDimensions> ends;
  std::size_t count = 0;
  for (std::size_t m = 0; m < movers.size(); ++m) {
    ends[count++] = moved[m].position;
    if (moved[m].at_edge > 0) ends[count++] = moved[m].position_at_edge;
  }
  std::sort(ends.begin(), ends.begin() + count, std::greater<>());
  double words = 0, settled = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (k > 0 && ends[k] == ends[k - 1]) continue;
    const double here = up_to(ends[k]);
    words += (here - settled) * times(ends[k]);
    settled = here;
  }
  return words;
}

// Of a dataspace whose tiles may overlap: its tiles, and what an instance sees of it, by section 3 of the model's
// equations: the part of what the level outside sees that a tile is of all the tiles side by side. Of outputs whose
// boxes have holes, their unions.
void share_out(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping, const Counter& counter,
               int s, int levels, const std::array<Extents, kMaxLevels>& extents, ImperfectTraffic& out) {
  if (shape.gaps[s] && einsum.dataspaces[s].read_write) {
    int inner = -1;
    for (int i = 0; i < levels; ++i) {
      out.tile[i][s] = einsum.volume(s, {extents[i].begin(), extents[i].end()});
      double moved = 1;  // instances that dimensions tell apart which move the dataspace
      for (std::size_t d = 0; d < einsum.dimensions.size(); ++d)
        if (shape.relevant[s] >> d & 1) moved *= static_cast<double>(counter.instances(static_cast<int>(d), i));
      const DifferentWords leaving = different_words(shape, s, mapping, inner, i);
      const DifferentWords entering = different_words(shape, s, mapping, i, i);
      out.mean.seen[i][s] = leaving.of_all / moved;
      out.mean.seen_entering[i][s] = entering.of_all / moved;
      out.busiest.seen[i][s] = static_cast<double>(leaving.of_first);
      out.busiest.seen_entering[i][s] = static_cast<double>(entering.of_first);
      if (mapping.levels[i].keep >> s & 1) inner = i;
    }
    return;
  }
  double seen = 0;
  for (int i = levels - 1; i >= 0; --i) {
    const Count tile = out.tile[i][s] = einsum.volume(s, {extents[i].begin(), extents[i].end()});
    if (i == levels - 1) {
      seen = static_cast<double>(tile);
    } else {
      std::vector<Count> side_by_side;
      for (std::size_t d = 0; d < einsum.dimensions.size(); ++d)
        side_by_side.push_back(counter.extent_in_space(static_cast<int>(d), i + 1));
      seen *= static_cast<double>(tile) / static_cast<double>(einsum.volume(s, side_by_side));
    }
    for (Flows<double>* flows : {&out.mean, &out.busiest}) {
      flows->seen[i][s] = flows->seen_entering[i][s] = seen;
      if (!einsum.dataspaces[s].read_write) continue;
      // No more words come for the first time than come at all.
      for (const double words : {flows->content[i][s], flows->share[i][s]})
        if (words > 0) flows->seen[i][s] = std::min(flows->seen[i][s], words);
      flows->seen_entering[i][s] = flows->seen[i][s];
    }
  }
}

}  // namespace

void imperfect_traffic(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping,
                       const std::vector<ReuseRules>& reuse, bool destinations, ImperfectTraffic& out) {
  const int levels = static_cast<int>(mapping.levels.size());
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const int dataspaces = static_cast<int>(einsum.dataspaces.size());
  const Counter counter(einsum, mapping);

  std::array<Extents, kMaxLevels> extents;
  out.compute_cycles = out.compute_instances = 1;
  for (int d = 0; d < dimensions; ++d) {
    out.compute_cycles *= counter.steps(d);
    out.compute_instances *= counter.instances(d, -1);
  }
  for (int i = 0; i < levels; ++i) {
    out.instances[i] = 1;
    for (int d = 0; d < dimensions; ++d) {
      out.instances[i] *= counter.instances(d, i);
      extents[i][d] = counter.extent(d, i);
    }
  }

  for (int s = 0; s < dataspaces; ++s) {
    if (!shape.separable[s]) {
      imperfect_windows(shape, mapping, reuse, s, destinations, out);
      share_out(einsum, shape, mapping, counter, s, levels, extents, out);
      continue;
    }
    std::array<Mover, kMaxDimensions> listed;
    std::size_t count = 0;
    std::uint32_t others = (1u << dimensions) - 1;
    for (const workload::Rank& rank : einsum.dataspaces[s].ranks)
      for (const workload::Term& term : rank.terms) {
        if (term.coefficient == 0 || einsum.dimensions[term.dimension].bound == 1) continue;
        listed[count++] = {term.dimension, term.coefficient};
        others &= ~(1u << term.dimension);
      }
    const std::span<const Mover> movers(listed.data(), count);
    std::uint32_t alone = 0;
    for (int i = 0; i < levels && !reuse.empty(); ++i) alone |= (reuse[i].no_spatial_sharing >> s & 1) << i;
    int outermost = -1;
    for (int i = 0; i < levels; ++i)
      if (mapping.levels[i].keep >> s & 1) outermost = i;

    int inner = -1;  // the keeper inside, or the compute units
    for (int i = 0; i < levels; ++i) {
      const double instances = static_cast<double>(out.instances[i]);
      Count tile = 1;
      for (const Mover& mover : movers) tile *= 1 + mover.coefficient * (extents[i][mover.dimension] - 1);
      out.tile[i][s] = tile;
      // All tiles of level `of` that come to the instances of level i; one_of: to one of them.
      const auto different = [&](int of, int one_of) {
        double seen = 1;
        for (const Mover& mover : movers)
          seen *= counter.moved(mover.dimension, {of, of, alone, one_of}, mover.coefficient).all();
        for (std::uint32_t rest = one_of == i ? 0 : others; rest != 0; rest &= rest - 1)
          seen *= static_cast<double>(counter.instances(__builtin_ctz(rest), i));
        return seen;
      };
      const double seen = different(i, kMaxLevels), seen_by_one = different(i, i);
      const bool gaps = shape.gaps[s] && einsum.dataspaces[s].read_write;
      out.mean.seen_entering[i][s] = seen / instances;
      out.busiest.seen_entering[i][s] = seen_by_one;
      out.mean.seen[i][s] = (gaps ? different(inner, kMaxLevels) : seen) / instances;
      out.busiest.seen[i][s] = gaps ? different(inner, i) : seen_by_one;
      out.mean.share[i][s] = out.busiest.share[i][s] = 0;
      if (i > outermost) continue;

      const bool every_step = inner < 0 || (!reuse.empty() && (reuse[inner].no_temporal_reuse >> s & 1));
      const auto words = [&](int shared_up_to, int one_of) {
        return words_brought(counter, movers, others, {inner, shared_up_to, alone, one_of}, every_step);
      };
      const double content = words(i, kMaxLevels);
      out.mean.content[i][s] = content / instances;
      out.busiest.content[i][s] = words(i, i);
      if (destinations) out.destinations[i][s] = words(i - 1, kMaxLevels) / content;
      if (!(mapping.levels[i].keep >> s & 1)) continue;
      if (inner >= 0) {
        out.mean.share[inner][s] = words(inner, kMaxLevels) / static_cast<double>(out.instances[inner]);
        out.busiest.share[inner][s] = words(inner, inner);
      }
      inner = i;
    }
  }
}

}  // namespace orrery::nest
