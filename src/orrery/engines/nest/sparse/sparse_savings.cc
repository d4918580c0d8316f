// A read of the target at the storage that keeps it serves everything that the loops below do with the tile it brings.
// It can be left out where all that the leader has for that time is zero. So the leader's tile is what it sweeps
// while the target's tile stays:
//
//   - the target goes to a keeper inside: it stays until the next loop that moves it (the target loop), so the leader
//     sweeps all loops inside that one; a target loop that moves both counts as one iteration of it (co-iteration),
//   - the target goes to the compute units: one word meets one word; loops in space below it share the read, so that
//     the leader sweeps them, but for loops that move both,
//   - loops in space farther out, up to the storage, are swept, too: their instances share the read,
//   - a read that brings a block serves `block` iterations of the target loop.
//
// With several leaders the read is left out where any of them is empty: 1 - product of (1 - P(empty)). Source:
// Sparseloop (Wu et al., MICRO 2022), section 5.3.4, and Timeloop's storage analysis.
#include "orrery/engines/nest/sparse/sparse_savings.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::nest {

using base::Count;

namespace {

// The loop whose iterations a read of the target serves, with what it sweeps.
struct Target {
  std::optional<SparseLoop> loop;
  int level = 0, at = -1;  // -1: inside all loops
  bool scalar = false;
  Extents swept;
};

Target target_of(const SparseNest& nest, int s, int level, int child) {
  Target target;
  target.swept = nest.scalar();
  if (child < 0) {
    const std::vector<SparseLoop>& inner = nest.loops(0);
    target.scalar = inner.empty() || !inner.front().spatial;
    if (target.scalar) {
      for (int i = 0; i <= level && !target.loop; ++i)
        for (const SparseLoop& loop : nest.loops(i))
          if (!target.loop && !loop.spatial) target.loop = loop;
      return target;
    }
    for (std::size_t k = 0; k < inner.size(); ++k) {
      const bool last = k + 1 == inner.size() || !inner[k + 1].spatial;
      if (!last && !nest.moves(inner[k].dimension, s)) continue;
      target.loop = inner[k];
      target.at = static_cast<int>(k);
      target.swept = nest.swept(0, target.at);
      return target;
    }
    return target;
  }
  for (int i = child + 1; i <= level; ++i)
    for (std::size_t k = 0; k < nest.loops(i).size(); ++k)
      if (nest.moves(nest.loops(i)[k].dimension, s)) {
        target = {nest.loops(i)[k], i, static_cast<int>(k), false, nest.swept(i, static_cast<int>(k))};
        return target;
      }
  // Nothing moves it: one read for everything up to here.
  target.level = level;
  target.at = static_cast<int>(nest.loops(level).size()) - 1;
  target.swept = nest.tile(level);
  return target;
}

Count scaled(Count extent, double by) {
  return std::max<Count>(1, base::saturated(std::ceil(static_cast<double>(extent) / by - 1e-9)));
}

}  // namespace

double saved_by(const SparseNest& nest, const SparseDesign& design, const Follower& follower, int level, double block) {
  const int s = follower.target, child = nest.child(level, s);
  const Target target = target_of(nest, s, level, child);
  const bool in_space = target.loop && target.at >= 0 && target.loop->spatial;
  std::vector<SparseLoop> swept_together;  // the target loop and those around it that share the read
  if (target.loop && target.at >= 0) swept_together.push_back(*target.loop);
  Extents around = target.swept;
  bool found_in_time = !in_space;
  for (int i = target.level; i <= level; ++i)
    for (std::size_t k = i == target.level ? static_cast<std::size_t>(target.at + 1) : 0; k < nest.loops(i).size();
         ++k) {
      const SparseLoop& loop = nest.loops(i)[k];
      const bool stays = !found_in_time && !loop.spatial && child >= 0 && !nest.moves(loop.dimension, s);
      if (loop.spatial || stays) {
        around[static_cast<std::size_t>(loop.dimension)] *= loop.iterations;
        swept_together.push_back(loop);
      }
      if (!loop.spatial && (child < 0 || nest.moves(loop.dimension, s))) found_in_time = true;
    }

  double effectual = 1;
  for (const int leader : follower.leaders) {
    std::vector<double> factors(nest.scalar().size(), 1);  // of dimensions that both iterate
    double together = 1;
    bool shared = false, discordant = false;
    for (const SparseLoop& loop : swept_together) {
      if (target.scalar) break;
      // The leader would have to be walked in another order than it comes.
      if (in_space && shared && nest.moves(loop.dimension, leader)) discordant = true;
      if (discordant) break;
      if (!nest.moves(loop.dimension, s) || !nest.moves(loop.dimension, leader)) continue;
      factors[static_cast<std::size_t>(loop.dimension)] *= static_cast<double>(loop.iterations);
      together *= static_cast<double>(loop.iterations);
      shared = true;
    }
    if (discordant) continue;
    Extents tile = around;
    double short_of = std::ceil(block / (static_cast<double>(nest.mold(s, target.swept).words) / together) - 1e-9);
    for (std::size_t d = 0; d < factors.size(); ++d) {
      if (factors[d] == 1) continue;
      tile[d] = scaled(tile[d], factors[d] / short_of);
      short_of /= factors[d];
    }
    if (short_of > 1 && target.loop)
      tile[static_cast<std::size_t>(target.loop->dimension)] *= base::saturated(short_of);
    effectual *= 1 - design.densities[static_cast<std::size_t>(leader)].empty(nest.mold(leader, tile));
  }
  return 1 - effectual;
}

std::vector<std::vector<Saved>> saved_accesses(const SparseNest& nest, const SparseDesign& design,
                                               const machine::Chip& chip, const std::vector<PricedLevel>& levels,
                                               const std::vector<std::vector<TileContent>>& contents,
                                               std::optional<SparseMisfit>& misfit) {
  std::vector<std::vector<Saved>> saved(static_cast<std::size_t>(nest.levels()),
                                        std::vector<Saved>(static_cast<std::size_t>(nest.dataspaces())));
  for (const bool skips : {false, true})
    for (int at = 0; at < nest.levels(); ++at)
      for (const AccessSaving& unit : design.storages[static_cast<std::size_t>(at)].savings) {
        if (unit.skips != skips) continue;
        double most = -1, share = 0;
        int level = -1, s = -1;
        for (const Follower& option : unit.options) {
          const int keeper = nest.keeps(at, option.target) ? at : nest.parent(at, option.target);
          if (keeper < 0) {
            misfit =
                SparseMisfit{SparseMisfit::Kind::kSource,
                             at,
                             option.target,
                             fmt::format("no storage from here outwards keeps `{}`, whose accesses are to be saved",
                                         nest.einsum().dataspaces[static_cast<std::size_t>(option.target)].name),
                             {}};
            return saved;
          }
          const std::size_t k = static_cast<std::size_t>(keeper), target = static_cast<std::size_t>(option.target);
          const double saves = saved_by(nest, design, option, keeper, static_cast<double>(chip.storages[k].block_size));
          const int child = nest.child(keeper, option.target);
          const double unit_words = static_cast<double>(design.storages[k].metadata_word_bits) /
                                    static_cast<double>(chip.storages[k].word_bits);
          double words = contents[target][k].words;
          for (const FormatUnits& rank : contents[target][child < 0 ? k : static_cast<std::size_t>(child)].units)
            words += (rank.metadata + rank.payload) * unit_words;
          const double worth = levels[k].read_pj / levels[k].block * words * saves;
          if (worth < most) continue;
          most = worth, share = saves, level = keeper, s = option.target;
        }
        if (level < 0) continue;
        Saved& now = saved[static_cast<std::size_t>(level)][static_cast<std::size_t>(s)];
        // Of two units at one place the more effective one works.
        if (!now.any || now.share < share) now = {true, skips, share};
      }
  return saved;
}

}  // namespace orrery::nest
