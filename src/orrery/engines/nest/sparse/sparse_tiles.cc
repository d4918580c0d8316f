// A format has a fixed number of ranks, a mapping any number of loops. The loops between a keeper and the next one
// inside go to the ranks in order, from the outermost on (or from the innermost), one loop each, or several neighbours
// where the rank flattens their dimensions; ranks that are left over have fibers of one coordinate and cost nothing.
// Loops that are left over need a rank that the hardware does not have: the mapping does not fit.
//
// A compressed tile cannot be cut at run time, so its inner ranks are those of the tiles that it is cut into: formats
// and loops of the keeper inside, as Sparseloop's "pre-tiling" has them.
//
// Of the tiles that are not empty the average is
//     words = sum over k > 0 of P(k) k,   units(rank) = sum of P(k) units of a tile with k nonzeros,
// over P(k > 0) where a level above with metadata keeps empty tiles away.
#include "orrery/engines/nest/sparse/sparse_tiles.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::nest {

using base::Count;

namespace {

struct PlacedLoop {
  SparseLoop loop;
  Extents swept;
};

// The loops that move s between `level` and the keeper inside, innermost first; without cutting beforehand those inside
// count, too, as part of the innermost loop of their dimension.
std::vector<PlacedLoop> loops_of(const SparseNest& nest, int level, int s, int child, bool cut) {
  std::vector<PlacedLoop> loops;
  for (int i = child + 1; i <= level; ++i)
    for (std::size_t k = 0; k < nest.loops(i).size(); ++k) {
      const SparseLoop& loop = nest.loops(i)[k];
      if (nest.moves(loop.dimension, s)) loops.push_back({loop, nest.swept(i, static_cast<int>(k))});
    }
  if (cut || child < 0) return loops;
  std::vector<PlacedLoop> inner;
  for (std::size_t d = 0; d < nest.scalar().size(); ++d) {
    const Count iterations = nest.tile(child)[d];
    if (iterations == 1 || !nest.moves(static_cast<int>(d), s)) continue;
    const auto first = std::find_if(loops.begin(), loops.end(),
                                    [&](const PlacedLoop& one) { return one.loop.dimension == static_cast<int>(d); });
    if (first != loops.end())
      first->loop.iterations *= iterations;
    else
      inner.push_back({{static_cast<int>(d), iterations, false}, nest.tile(child)});
  }
  loops.insert(loops.begin(), inner.begin(), inner.end());
  return loops;
}

const std::vector<int>* rule_for(const RankFormat& rank, int dimension) {
  for (const std::vector<int>& list : rank.flattened)
    if (std::find(list.begin(), list.end(), dimension) != list.end()) return &list;
  return nullptr;
}

Mold fiber_mold(const SparseNest& nest, int s, const std::vector<SparseLoop>& loops) {
  Extents extents = nest.scalar();
  for (const SparseLoop& loop : loops) extents[static_cast<std::size_t>(loop.dimension)] *= loop.iterations;
  return nest.mold(s, extents);
}

}  // namespace

std::optional<std::vector<RankShape>> rank_shapes(const SparseNest& nest, const SparseDesign& design, int level, int s,
                                                  const std::vector<RankShape>& of_child,
                                                  std::optional<SparseMisfit>& misfit) {
  const TensorFormat* const format = design.storages[static_cast<std::size_t>(level)].format(s);
  const int child = nest.child(level, s);
  const bool cut = format != nullptr && format->compressed() && child >= 0 && nest.mold(s, nest.tile(child)).words > 1;
  const std::string& tensor = nest.einsum().dataspaces[static_cast<std::size_t>(s)].name;
  const std::size_t ranks = format == nullptr ? 1 : format->ranks.size();
  const std::size_t inner = cut ? of_child.size() : 0;
  const auto refuse = [&](std::string text, std::string arithmetic) {
    misfit = SparseMisfit{SparseMisfit::Kind::kRanks, level, s, std::move(text), std::move(arithmetic)};
    return std::nullopt;
  };
  std::vector<RankShape> shapes;
  if (cut) {
    const TensorFormat* const below = design.storages[static_cast<std::size_t>(child)].format(s);
    if (inner > ranks)
      return refuse(fmt::format("the format of `{}` has fewer ranks than that of its tiles inside", tensor),
                    fmt::format("{} has {} ranks, its tiles have {}", format->name(), ranks, inner));
    for (std::size_t r = 0; below != nullptr && below->compressed() && r < inner; ++r)
      if (below->ranks[r].kind != format->ranks[r].kind)
        return refuse(fmt::format("`{}` is not stored as its tiles inside are", tensor),
                      fmt::format("{} outside, {} inside", format->name(), below->name()));
    shapes.assign(of_child.begin(), of_child.end());
  }
  const Extents& base = cut ? nest.tile(child) : nest.scalar();
  const std::vector<PlacedLoop> loops = loops_of(nest, level, s, child, cut);
  shapes.resize(ranks);

  const auto dimension_of = [&](std::size_t at) { return loops[at].loop.dimension; };
  const auto together = [&](const std::vector<int>* rule, std::size_t at) {
    return format == nullptr ||
           (rule != nullptr && std::find(rule->begin(), rule->end(), dimension_of(at)) != rule->end());
  };
  std::size_t left = loops.size();
  if (format == nullptr || !format->inner_to_outer) {
    std::size_t r = ranks;
    while (r > inner && left > 0) {
      RankShape& shape = shapes[--r];
      const std::vector<int>* rule = nullptr;
      shape.swept = loops[left - 1].swept;
      if (format != nullptr && !format->ranks[r].flattened.empty()) {
        rule = rule_for(format->ranks[r], dimension_of(left - 1));
        if (rule == nullptr) continue;  // a fiber of one coordinate around the next loop
      }
      do shape.loops.insert(shape.loops.begin(), loops[--left].loop);
      while (left > 0 && together(rule, left - 1));
    }
    while (r > inner) shapes[--r].swept = base;
  } else {
    std::size_t r = inner, at = 0;
    const Extents* reached = &base;
    for (; r < ranks && at < loops.size(); ++r) {
      RankShape& shape = shapes[r];
      const std::vector<int>* rule = nullptr;
      shape.swept = *reached;
      if (!format->ranks[r].flattened.empty()) {
        rule = rule_for(format->ranks[r], dimension_of(at));
        if (rule == nullptr) continue;
      }
      do shape.loops.push_back(loops[at++].loop);
      while (at < loops.size() && together(rule, at));
      shape.swept = loops[at - 1].swept;
      reached = &loops[at - 1].swept;
    }
    for (; r < ranks; ++r) shapes[r].swept = *reached;
    left = loops.size() - at;
  }
  if (left > 0)
    return refuse(
        fmt::format("`{}` needs more ranks than its format has", tensor),
        fmt::format("{} loops move it between this level and the next inside, {} of them beyond the ranks of {}",
                    loops.size(), left, format == nullptr ? "none" : format->name()));
  return shapes;
}

namespace {

// Units of every rank of a tile, as a function of its nonzeros.
class RankCounter {
 public:
  RankCounter(const SparseNest& nest, const TensorFormat& format, const std::vector<RankShape>& shapes,
              const Density& density, const Mold& tile, int s) {
    Mold current = tile;
    double fibers = 1;
    for (std::size_t r = shapes.size(); r-- > 0;) {
      const Mold below = nest.mold(s, r == 0 ? nest.scalar() : shapes[r - 1].swept);
      Rank rank;
      rank.kind = format.ranks[r].kind;
      rank.fibers = fibers;
      rank.shape = static_cast<double>(fiber_mold(nest, s, shapes[r].loops).words);
      // Hardware passes over fibers of one coordinate, but for the outermost rank (the innermost, from inside).
      rank.passed = rank.shape == 1 && r != (format.inner_to_outer ? 0 : shapes.size() - 1);
      rank.empty_fiber = density.empty_within(current, tile);
      rank.empty_below = density.empty_within(below, tile);
      fibers *= rank.shape;
      current = below;
      ranks_.insert(ranks_.begin(), std::move(rank));
    }
  }

  std::vector<FormatUnits> of(Count nonzeros) const {
    std::vector<FormatUnits> units;
    for (const Rank& rank : ranks_)
      units.push_back(rank.passed ? FormatUnits{}
                                  : units_of(rank.kind, rank.fibers, rank.shape, rank.empty_fiber(nonzeros),
                                             rank.empty_below(nonzeros)));
    // The innermost payload is the values themselves.
    for (FormatUnits& rank : units)
      if (!rank.none()) {
        rank.payload = 0;
        break;
      }
    return units;
  }

 private:
  struct Rank {
    RankFormat::Kind kind{};
    bool passed = false;
    double fibers = 1, shape = 1;
    std::function<double(Count)> empty_fiber, empty_below;
  };
  std::vector<Rank> ranks_;
};

}  // namespace

std::vector<TileContent> tile_contents(const SparseNest& nest, const SparseDesign& design, int s,
                                       std::optional<SparseMisfit>& misfit) {
  const Density& density = design.densities[static_cast<std::size_t>(s)];
  std::vector<TileContent> contents(static_cast<std::size_t>(nest.levels()));
  std::vector<RankShape> shapes;
  for (int level = 0; level < nest.levels(); ++level) {
    if (!nest.keeps(level, s)) continue;
    const TensorFormat* const format = design.storages[static_cast<std::size_t>(level)].format(s);
    auto own = rank_shapes(nest, design, level, s, shapes, misfit);
    if (!own) return contents;
    shapes = std::move(*own);

    TileContent& content = contents[static_cast<std::size_t>(level)];
    content.mold = nest.mold(s, nest.tile(level));
    const int parent = nest.parent(level, s);
    content.conditional = parent >= 0 && design.storages[static_cast<std::size_t>(parent)].format(s) != nullptr;
    const double empty = content.conditional ? density.empty(content.mold) : 0;
    content.share = 1 - empty;
    content.words = density.expected(content.mold) / content.share;
    const bool compressed = format != nullptr && format->compressed();
    const Count most = density.most(content.mold);
    content.most_words = compressed ? most : content.mold.words;
    if (format == nullptr) continue;

    const RankCounter counter(nest, *format, shapes, density, content.mold, s);
    content.units.assign(format->ranks.size(), {});
    for (const auto& [nonzeros, probability] : density.occupancies(content.mold)) {
      if (nonzeros == 0 && content.conditional) continue;
      const std::vector<FormatUnits> units = counter.of(nonzeros);
      for (std::size_t r = 0; r < units.size(); ++r) content.units[r] += units[r] * (probability / content.share);
    }
    content.most_units = counter.of(most);
  }
  return contents;
}

}  // namespace orrery::nest
