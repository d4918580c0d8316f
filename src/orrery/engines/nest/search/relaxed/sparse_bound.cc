// Savings depend on the tiles that meet, so that the sparse cost is no function of the dense one, and the bounds of the
// dense searches do not hold for it. What bounds it is a factor. Of the accesses to a tensor at least the share d (its
// density, where a format leaves zeros out) times the product of its leaders' densities (a leader's tile is empty no
// more often than one word of it is zero) is left wherever a unit may act on them; what is gated passes the ports all
// the same. Of the operations that of the leaders is left, and where compute units or formats leave zeros out, that of
// all operands. So the dense optimum on a chip with prices, ports and cycles scaled by these bounds every mapping; a
// storage's prices by the least factor of what it may keep, and each word that must cross there once more by what its
// own factor is above that. Metadata is free; where anything is sparse, blocks are counted in parts.
#include <algorithm>
#include <cmath>

#include "orrery/engines/nest/model/touched.h"
#include "orrery/engines/nest/search/relaxed/sparse_search.h"
#include "orrery/engines/nest/sparse/sparse_model.h"

namespace orrery::nest {

namespace {

double leaders_left(const SparseDesign& design, const Follower& follower) {
  double left = 1;
  for (const int leader : follower.leaders) left *= design.densities[static_cast<std::size_t>(leader)].share();
  return left;
}

// The least share of its accesses that savings leave of dataspace s.
double least_saved(const SparseDesign& design, int s) {
  double left = 1;
  for (const SparseStorage& storage : design.storages)
    for (const AccessSaving& unit : storage.savings)
      for (const Follower& option : unit.options)
        if (option.target == s) left = std::min(left, leaders_left(design, option));
  return left;
}

class ScaledChip {
 public:
  ScaledChip(const Model& model, const SparseDesign& design, const Space* space)
      : model_(model),
        design_(design),
        dataspaces_(static_cast<int>(model.einsum().dataspaces.size())),
        levels_(static_cast<int>(design.storages.size())),
        may_(design.storages.size(), ~0u),
        must_(design.storages.size(), 0) {
    for (int level = 0; space != nullptr && level < levels_; ++level) {
      may_[at(level)] = 0, must_[at(level)] = ~0u;
      for (const std::uint32_t keep : space->keeps(level)) may_[at(level)] |= keep, must_[at(level)] &= keep;
    }
  }

  SparseBound bound() {
    SparseBound bound{roomy(model_.chip(), design_), model_.options(), 1};
    // Of dense tensors every word is moved, in whole blocks: only metadata is added.
    for (const Density& density : design_.densities)
      if (!density.dense()) bound.options.fractional_blocks = true;
    const double operations_left = share_computation();
    bound.cycles = time_left_;
    const double operations = static_cast<double>(model_.einsum().operations());
    if (time_left_ < 1) {
      // A port that binds on the scaled chip is rounded up to a whole cycle there, and takes more than the compute
      // units.
      const double least = std::ceil(operations / static_cast<double>(model_.chip().compute.instances));
      bound.cycles *= least / (least + 1);
    }
    for (int level = 0; level < levels_; ++level) scale(level, bound.cycles, bound.chip.storages[at(level)]);
    bound.chip.compute.compute_pj *= operations_left;
    bound.chip.compute.compute_pj += certain_pj_ / operations;
    bound.chip.compute.leak_pj_per_cycle *= bound.cycles;
    return bound;
  }

 private:
  struct Left {
    double energy = 1, time = 1;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  bool read_write(int s) const { return model_.einsum().dataspaces[at(s)].read_write; }

  // Zeros of s are left out at a level with a format; and where the next level outside that keeps it has one, empty
  // tiles are.
  double represented(int level, int s) const {
    for (int outer = level; outer < levels_; ++outer) {
      if (design_.storages[at(outer)].format(s) != nullptr) return design_.densities[at(s)].share();
      if (outer > level && must_[at(outer)] >> s & 1) break;
    }
    return 1;
  }

  // What savings leave of the accesses to s at a level: a unit at a storage acts at the next one outwards that keeps
  // its target. Outside of a level it saves what never gets there; at the level itself, the time only where it skips.
  Left left_at(int level, int s) const {
    Left left;
    for (int from = 0; from < levels_; ++from) {
      bool passes = true;  // the unit may act at the level
      for (int inner = from; inner < level; ++inner) passes = passes && !(must_[at(inner)] >> s & 1);
      for (const AccessSaving& unit : design_.storages[at(from)].savings)
        for (const Follower& option : unit.options) {
          if (option.target != s || !passes) continue;
          const double share = leaders_left(design_, option);
          left.energy = std::min(left.energy, share);
          if (unit.skips || from > level) left.time = std::min(left.time, share);
        }
    }
    return left;
  }

  // The share of operations that is left; sets that of the time.
  double share_computation() {
    double saved = 1, nonzero = 1;
    bool all_know = true, any_knows = false;
    for (int s = 0; s < dataspaces_; ++s) {
      if (read_write(s)) continue;
      saved *= least_saved(design_, s);
      nonzero *= design_.densities[at(s)].share();
      bool knows = false;
      for (const SparseStorage& storage : design_.storages) knows = knows || storage.format(s) != nullptr;
      all_know = all_know && knows;
      any_knows = any_knows || knows;
    }
    const bool skips = all_know || (design_.aligns_compute && any_knows);
    time_left_ = saved * (skips ? nonzero : 1);
    return saved * (skips || design_.gates_compute ? nonzero : 1);
  }

  void scale(int level, double cycles, machine::Storage& storage) {
    double any = 1, reads = 1, held = 1, written = 1, read = 1;  // of energy, and of what ports pass
    for (int s = 0; s < dataspaces_; ++s) {
      if (!(may_[at(level)] >> s & 1)) continue;
      const Left left = left_at(level, s);
      const double kept = represented(level, s);
      // Reads of outputs that are saved are rounded down, so that nothing is sure to be left of them.
      const auto rounded = [&](double share) { return read_write(s) && share < 1 ? 0 : kept * share; };
      any = std::min(any, kept * left.energy);
      written = std::min(written, kept * left.time);
      reads = std::min(reads, rounded(left.energy));
      read = std::min(read, rounded(left.time));
      held = std::min(held, kept);
    }
    if (storage.cluster_size <= 1) add_certain(level, any, reads, storage);
    storage.energy.read_pj *= reads;
    storage.energy.write_pj *= any;
    storage.energy.update_pj *= any;
    storage.energy.leak_pj_per_cycle *= held * cycles;
    const auto widen = [&](std::optional<double>& words_per_cycle, double left) {
      if (left <= 0)
        words_per_cycle.reset();
      else if (words_per_cycle)
        *words_per_cycle *= time_left_ / left;
    };
    widen(storage.read_words_per_cycle, read);
    widen(storage.write_words_per_cycle, written);
    widen(storage.shared_words_per_cycle, std::min(read, written));
  }

  // Every word of what must be kept here crosses at least once, at its own share.
  void add_certain(int level, double any, double reads, const machine::Storage& storage) {
    const bool outermost = level + 1 == levels_;
    for (int s = 0; s < dataspaces_; ++s) {
      if (!(must_[at(level)] & must_.back() & may_[at(level)] & 1u << s)) continue;
      const double left = represented(level, s) * left_at(level, s).energy;
      const double words = touched_words(model_.einsum(), s) / static_cast<double>(storage.block_size);
      if (read_write(s))
        certain_pj_ += words * (left - any) * storage.energy.update_pj;
      else
        certain_pj_ +=
            words * ((left - reads) * storage.energy.read_pj + (outermost ? 0 : left - any) * storage.energy.write_pj);
    }
  }

  const Model& model_;
  const SparseDesign& design_;
  const int dataspaces_, levels_;
  std::vector<std::uint32_t> may_, must_;  // who may be kept at a level, and who must
  double time_left_ = 1;
  double certain_pj_ = 0;  // beyond the least shares
};

}  // namespace

SparseBound sparse_bound(const Model& model, const SparseDesign& design, const Space* space) {
  return ScaledChip(model, design, space).bound();
}

}  // namespace orrery::nest
