// From the dense counts of a mapping to those that remain, in Sparseloop's order (Wu et al., MICRO 2022, section 5):
//
//   1 representation   where a tensor has a format, only nonzeros are read, written and updated: each count c becomes
//                      c - floor(c (1 - density of the tile)). Its metadata moves as often as the tile:
//                      ceil(units c / words of the tile).
//   2 propagation      what a storage saves never reaches those inside: their counts lose the share p saved outside.
//   3 local savings    of the accesses that are left, the storage itself gates or skips 1 - (1 - p_here) / (1 - p),
//                      metadata that goes to the tile inside alike.
//   4 compute          operations lose the share saved by the innermost storage of each operand. Of the others, an
//                      operand is nonzero, a stored zero, or missing (with metadata); operations with a zero are gated
//                      and those with a missing operand skipped, where the units do that; with none there they vanish.
//
// Cycles: ceil((actual + gated operations) / units in use); a port passes actual and gated words and metadata. Energy:
// every kind of access at its price. Shares of counts are rounded as Timeloop rounds them, so that nothing is saved
// that is less than one access. Cost: some microseconds, more for tensors with many occupancies.
#include "orrery/engines/nest/sparse/sparse_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/nest/model/bandwidth_stall.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/sparse/sparse_savings.h"
#include "orrery/engines/nest/sparse/sparse_tiles.h"

namespace orrery::nest {

using base::Count;

namespace {

// Rounding alone does not cost an access.
Count lower_bound_of(double value) {
  return base::saturated(std::floor(value + 1e-9 + value * 1e-12));
}
Count ceil_of(double value) {
  return base::saturated(std::ceil(value - 1e-9 - value * 1e-12));
}
Count share_of(Count count, double share) {
  return std::min(count, lower_bound_of(static_cast<double>(count) * share));
}

Count bits_of(const std::vector<RankCount>& units, const TensorFormat& format) {
  Count bits = 0;
  for (std::size_t r = 0; r < units.size(); ++r)
    bits = base::checked_add(bits,
                             base::checked_add(base::checked_multiply(units[r].metadata, format.ranks[r].metadata_bits),
                                               base::checked_multiply(units[r].payload, format.ranks[r].payload_bits)));
  return bits;
}

void lose(std::vector<RankCount>& units, double share) {
  for (RankCount& rank : units) {
    rank.metadata -= share_of(rank.metadata, share);
    rank.payload -= share_of(rank.payload, share);
  }
}

// One evaluation.
class Account {
 public:
  Account(const Model& model, const SparseDesign& design, const Mapping& mapping, std::optional<SparseMisfit>& misfit)
      : model_(model),
        chip_(model.chip()),
        design_(design),
        nest_(model.einsum(), model.shape(), mapping),
        misfit_(misfit) {}

  std::optional<SparseEvaluation> run(const Mapping& mapping) {
    check_conversions();
    for (int s = 0; s < spaces() && !misfit_; ++s) contents_.push_back(tile_contents(nest_, design_, s, misfit_));
    if (!misfit_) check_capacity();
    if (!misfit_) saved_ = saved_accesses(nest_, design_, chip_, model_.levels(), contents_, misfit_);
    if (misfit_) return std::nullopt;
    model_.evaluate(mapping, out_.evaluation);
    out_.uses.assign(static_cast<std::size_t>(levels()), std::vector<SparseUse>(static_cast<std::size_t>(spaces())));
    for (int s = 0; s < spaces(); ++s) {
      represent(s);
      save(s);
    }
    for (int s = 0; s < spaces(); ++s) convert(s);
    compute();
    settle();
    return std::move(out_);
  }

 private:
  int levels() const { return nest_.levels(); }
  int spaces() const { return nest_.dataspaces(); }
  const SparseStorage& storage(int level) const { return design_.storages[static_cast<std::size_t>(level)]; }
  SparseUse& use(int level, int s) { return out_.uses[static_cast<std::size_t>(level)][static_cast<std::size_t>(s)]; }
  const TileContent& content(int level, int s) const {
    return contents_[static_cast<std::size_t>(s)][static_cast<std::size_t>(level)];
  }
  const Saved& saved(int level, int s) const {
    return saved_[static_cast<std::size_t>(level)][static_cast<std::size_t>(s)];
  }
  bool read_write(int s) const { return model_.einsum().dataspaces[static_cast<std::size_t>(s)].read_write; }
  const std::string& tensor(int s) const { return model_.einsum().dataspaces[static_cast<std::size_t>(s)].name; }

  void refuse(SparseMisfit::Kind kind, int level, int s, std::string text, std::string arithmetic = {}) {
    if (!misfit_) misfit_ = SparseMisfit{kind, level, s, std::move(text), std::move(arithmetic)};
  }

  // Who compresses and decompresses between neighbours.
  void check_conversions() {
    for (int s = 0; s < spaces(); ++s)
      for (int level = levels() - 1; level >= 0; --level) {
        const int parent = nest_.keeps(level, s) ? nest_.parent(level, s) : -1;
        if (parent < 0) continue;
        const bool above = storage(parent).compressed(s), here = storage(level).compressed(s);
        const auto refuse_conversion = [&](const char* what) {
          refuse(SparseMisfit::Kind::kConversion, level, s,
                 fmt::format("`{}` would have to be {} between `{}` and `{}`", tensor(s), what,
                             chip_.storages[static_cast<std::size_t>(parent)].name,
                             chip_.storages[static_cast<std::size_t>(level)].name));
        };
        if (above && !here && !storage(level).decompresses) refuse_conversion("decompressed");
        if (above && !here && read_write(s) && !storage(level).compresses) refuse_conversion("compressed");
        if (!above && here) refuse_conversion("compressed on its way inwards");
      }
  }

  // As for dense tiles, with the most nonzeros and the most metadata that a tile may have.
  void check_capacity() {
    for (int level = 0; level < levels(); ++level) {
      const auto usable = chip_.usable_words(level);
      if (!usable) continue;
      Count words = 0, bits = 0;
      std::string sum;
      for (int s = 0; s < spaces(); ++s) {
        if (!nest_.keeps(level, s)) continue;
        words = base::checked_add(words, content(level, s).most_words);
        sum += fmt::format("{}{} of {}", sum.empty() ? "" : " + ", content(level, s).most_words, tensor(s));
        if (const TensorFormat* format = storage(level).format(s))
          bits = base::checked_add(bits, most_bits(level, s, *format));
      }
      const std::string& name = chip_.storages[static_cast<std::size_t>(level)].name;
      if (words > *usable)
        refuse(SparseMisfit::Kind::kCapacity, level, -1,
               fmt::format("`{}` holds {} words; tiles need up to {}", name, *usable, words), sum);
      if (bits > storage(level).metadata_capacity_bits)
        refuse(SparseMisfit::Kind::kCapacity, level, -1,
               fmt::format("`{}` holds {} bits of metadata; tiles need up to {}", name,
                           storage(level).metadata_capacity_bits, bits));
      const double least =
          chip_.storages[static_cast<std::size_t>(level)].min_utilization * static_cast<double>(*usable);
      if (static_cast<double>(words) < least)
        refuse(SparseMisfit::Kind::kCapacity, level, -1,
               fmt::format("`{}` must hold at least {:g} words; tiles have {}", name, least, words), sum);
    }
  }

  Count most_bits(int level, int s, const TensorFormat& format) const {
    double bits = 0;
    const std::vector<FormatUnits>& units = content(level, s).most_units;
    for (std::size_t r = 0; r < units.size(); ++r)
      bits += units[r].metadata * format.ranks[r].metadata_bits + units[r].payload * format.ranks[r].payload_bits;
    return lower_bound_of(bits);
  }

  void represent(int s) {
    for (int level = 0; level < levels(); ++level) {
      const DataspaceCost& dense = dense_of(level, s);
      if (!dense.kept) continue;
      SparseUse& here = use(level, s);
      const TileContent& tile = content(level, s);
      here.kept = true;
      here.share = tile.share;
      here.density = tile.density();
      here.most_words = tile.most_words;
      here.dense_words = tile.mold.words;
      here.reads.actual = here.dense_reads = dense.reads;
      here.fills.actual = here.dense_fills = dense.fills;
      here.updates.actual = here.dense_updates = dense.updates;
      const TensorFormat* const format = storage(level).format(s);
      if (format == nullptr) continue;
      here.format = format->name();
      here.most_metadata_bits = most_bits(level, s, *format);
      const double zeros = std::max(0.0, 1 - here.density);
      for (Count* count : {&here.reads.actual, &here.fills.actual, &here.updates.actual})
        *count -= share_of(*count, zeros);
      const double words = static_cast<double>(tile.mold.words);
      const auto move = [&](Count count, SplitUnits& units) {
        const double times = static_cast<double>(count) / words;
        units.gated.assign(tile.units.size(), {});
        units.skipped.assign(tile.units.size(), {});
        for (const FormatUnits& rank : tile.units)
          units.actual.push_back({ceil_of(rank.metadata * times), ceil_of(rank.payload * times)});
      };
      move(dense.reads, here.metadata_reads);
      move(dense.fills, here.metadata_fills);
      move(dense.updates, here.metadata_updates);
      for (const FormatUnits& rank : tile.most_units)
        here.most_units.push_back({ceil_of(rank.metadata), ceil_of(rank.payload)});
    }
  }

  // From the outermost storage inwards.
  void save(int s) {
    double outside = 0;
    for (int level = levels() - 1; level >= 0; --level) {
      SparseUse& here = use(level, s);
      if (!here.kept) continue;
      for (Count* count : {&here.reads.actual, &here.fills.actual, &here.updates.actual})
        *count -= share_of(*count, outside);
      for (SplitUnits* units : {&here.metadata_reads, &here.metadata_fills, &here.metadata_updates})
        lose(units->actual, outside);
      const Saved& unit = saved(level, s);
      if (!unit.any) continue;
      save_here(level, s, std::max(0.0, 1 - (1 - unit.share) / (1 - outside)), unit.skips);
      outside = unit.share;
    }
  }

  void save_here(int level, int s, double share, bool skips) {
    SparseUse& here = use(level, s);
    // Reads of outputs are rounded the other way: one for the first update of a word is not there.
    const Count reads = read_write(s)
                            ? std::min(here.reads.actual, ceil_of(static_cast<double>(here.reads.actual) * share))
                            : share_of(here.reads.actual, share);
    const Count updates = share_of(here.updates.actual, share);
    (skips ? here.reads.skipped : here.reads.gated) += reads;
    here.reads.actual -= reads;
    (skips ? here.updates.skipped : here.updates.gated) += updates;
    here.updates.actual -= updates;
    // Of the metadata, only the ranks of the tile inside go there.
    const int child = nest_.child(level, s);
    const TensorFormat* const format = storage(child < 0 ? level : child).format(s);
    const std::size_t ranks = format == nullptr ? 0 : format->ranks.size();
    for (SplitUnits* units : {&here.metadata_reads, &here.metadata_updates})
      for (std::size_t r = 0; r < std::min(ranks, units->actual.size()); ++r) {
        RankCount& actual = units->actual[r];
        RankCount& spared = (skips ? units->skipped : units->gated)[r];
        const RankCount less{share_of(actual.metadata, share), share_of(actual.payload, share)};
        actual.metadata -= less.metadata, actual.payload -= less.payload;
        spared.metadata += less.metadata, spared.payload += less.payload;
      }
  }

  // Words that change between compressed and not, at the level that is not.
  void convert(int s) {
    for (int level = 0; level < levels(); ++level) {
      const int parent = use(level, s).kept ? nest_.parent(level, s) : -1;
      if (parent < 0 || storage(level).compressed(s) || !storage(parent).compressed(s)) continue;
      use(level, s).decompressions = use(level, s).fills.actual;
      if (!read_write(s)) continue;
      const double instances = static_cast<double>(instances_of(parent)) / static_cast<double>(instances_of(level));
      use(level, s).compressions = ceil_of(static_cast<double>(use(parent, s).updates.actual) * instances);
    }
  }

  struct Operand {
    double nonzero = 1, zero = 0, missing = 0;
  };

  // The states of an operand once the accesses that are saved have gone: `empty`, the share of operations that went
  // because another tensor's accesses followed this one.
  Operand operand(int s, double empty) const {
    int keeper = 0;
    while (keeper + 1 < levels() && !nest_.keeps(keeper, s)) ++keeper;
    Operand states;
    const double density = design_.densities[static_cast<std::size_t>(s)].expected(nest_.mold(s, nest_.scalar()));
    states.nonzero = density < 1 - empty ? density / (1 - empty) : 1;
    (storage(keeper).format(s) != nullptr ? states.missing : states.zero) = 1 - states.nonzero;
    return states;
  }

  void compute() {
    SparseCompute& result = out_.compute;
    const Count all = out_.evaluation.compute.operations;
    result.dense = static_cast<double>(all);
    std::vector<int> operands;
    std::vector<double> empty(static_cast<std::size_t>(spaces()), 0);
    Count left = all;
    for (int s = 0; s < spaces(); ++s) {
      if (read_write(s)) continue;
      operands.push_back(s);
      for (int level = 0; level < levels(); ++level) {
        if (!saved(level, s).any) continue;
        left -= share_of(left, saved(level, s).share);
        // Its leaders are the other operands: of two, the other one.
        for (int leader = 0; leader < spaces(); ++leader)
          if (leader != s && !read_write(leader))
            empty[static_cast<std::size_t>(leader)] =
                std::max(empty[static_cast<std::size_t>(leader)], saved(level, s).share);
        break;
      }
    }
    double missing_some = 0, zero_some = 0, none_there = 1, all_there = 1, nonzero = 1;
    for (const int s : operands) {
      const Operand states = operand(s, empty[static_cast<std::size_t>(s)]);
      none_there *= states.missing;
      all_there *= 1 - states.missing;
      nonzero *= states.nonzero;
    }
    if (operands.empty()) none_there = 0;
    missing_some = std::max(0.0, 1 - all_there - none_there);
    zero_some = std::max(0.0, all_there - nonzero);
    const double dense = static_cast<double>(left);
    const double skipped = design_.aligns_compute ? dense * missing_some : 0;
    const double gated = design_.gates_compute ? dense * (zero_some + (design_.aligns_compute ? 0 : missing_some)) : 0;
    result.operations.skipped = lower_bound_of(skipped);
    result.operations.gated = lower_bound_of(gated);
    result.operations.actual = std::max<Count>(
        0, left - result.operations.skipped - result.operations.gated - lower_bound_of(dense * none_there));
  }

  const DataspaceCost& dense_of(int level, int s) const {
    return out_.evaluation.storages[static_cast<std::size_t>(level)].dataspaces[static_cast<std::size_t>(s)];
  }
  Count instances_of(int level) const {
    return out_.evaluation.storages[static_cast<std::size_t>(level)].utilized_instances;
  }

  // Blocks that `words` of a tensor are paid as. Words of a block are paid for together; of compressed tiles the last
  // block of each, by how many words lie in it. Those blocks are an expectation and not rounded up again.
  double blocks_of(int level, int s, const PricedLevel& priced, Count words) const {
    const TileContent& tile = content(level, s);
    if (priced.block == 1 || !storage(level).compressed(s) || tile.density() >= 1)
      return priced.blocks(static_cast<double>(words));
    const Density& density = design_.densities[static_cast<std::size_t>(s)];
    const bool scaled = model_.options().scale_rounded_blocks;
    if (scaled &&
        is_large(tile.mold.words, density.expected(tile.mold) / static_cast<double>(tile.mold.words), priced.block))
      return priced.blocks(static_cast<double>(words));
    double blocks = 0;
    for (const auto& [nonzeros, probability] : density.occupancies(tile.mold))
      blocks += std::ceil(static_cast<double>(nonzeros) / priced.block) * probability;
    const double mean = tile.share * tile.words;
    return scaled ? priced.blocks(static_cast<double>(words)) * blocks / (mean / priced.block)
                  : static_cast<double>(words) * blocks / mean;
  }

  // A tile of which Timeloop takes the last block for full: more blocks than its table has for the block's words and
  // the tile's density, in tenths (include/model/buffer.hpp, `VectorWidthCoefficientTable`). Other blocks make it stop.
  static bool is_large(Count words, double density, double block) {
    struct Row {
      double block;
      int blocks[10];
    };
    static constexpr Row kRows[] = {{2, {251, 125, 84, 63, 51, 42, 36, 32, 28, 1}},
                                    {4, {375, 188, 125, 94, 75, 63, 54, 47, 42, 1}},
                                    {8, {438, 219, 146, 110, 88, 73, 63, 55, 49, 1}},
                                    {16, {469, 235, 157, 118, 94, 79, 67, 59, 52, 1}},
                                    {32, {485, 243, 162, 122, 97, 81, 70, 61, 52, 1}}};
    const int tenth = density >= 0.1 ? std::min(9, static_cast<int>(density / 0.1) - 1) : 0;
    for (const Row& row : kRows)
      if (row.block == block) return words / static_cast<Count>(block) >= row.blocks[tenth];
    return false;
  }

  void price(int level, int s) {
    SparseUse& here = use(level, s);
    const PricedLevel& priced = model_.levels()[static_cast<std::size_t>(level)];
    const SparseStorage& sparse = storage(level);
    const SparsePrices& at = sparse.prices;
    const double paying = priced.paying(static_cast<double>(instances_of(level))) * here.share;
    const double full_block = static_cast<double>(chip_.storages[static_cast<std::size_t>(level)].block_size);
    const double part = priced.block == 1 ? full_block : 1;  // an access of a word costs this part of a block's
    const auto blocks = [&](Count words) { return blocks_of(level, s, priced, words); };
    here.data_pj =
        paying * (blocks(here.reads.actual) * priced.read_pj + blocks(here.fills.actual) * priced.write_pj +
                  blocks(here.updates.actual) * priced.update_pj +
                  (blocks(here.reads.gated) * at.gated_read + blocks(here.reads.skipped) * at.skipped_read +
                   blocks(here.fills.gated) * at.gated_fill + blocks(here.fills.skipped) * at.skipped_fill +
                   blocks(here.updates.gated) * at.gated_update + blocks(here.updates.skipped) * at.skipped_update) /
                      part);
    here.data_pj += paying * (static_cast<double>(here.compressions) * at.compression +
                              static_cast<double>(here.decompressions) * at.decompression);
    const TensorFormat* const format = sparse.format(s);
    if (format == nullptr) return;
    const auto bits = [&](const std::vector<RankCount>& units) { return bits_of(units, *format); };
    const auto wide = [&](const std::vector<RankCount>& units) {
      if (sparse.metadata_width_bits == 0) return 0.0;
      return std::ceil(static_cast<double>(bits(units)) / static_cast<double>(sparse.metadata_width_bits));
    };
    here.metadata_pj = paying * (wide(here.metadata_reads.actual) * at.metadata_read +
                                 wide(here.metadata_fills.actual) * at.metadata_fill +
                                 wide(here.metadata_updates.actual) * at.metadata_update +
                                 wide(here.metadata_reads.gated) * at.gated_metadata_read +
                                 wide(here.metadata_fills.gated) * at.gated_metadata_fill +
                                 wide(here.metadata_updates.gated) * at.gated_metadata_update +
                                 wide(here.metadata_reads.skipped) * at.skipped_metadata_read +
                                 wide(here.metadata_fills.skipped) * at.skipped_metadata_fill +
                                 wide(here.metadata_updates.skipped) * at.skipped_metadata_update);
    if (sparse.metadata_width_bits == 0) return;
    here.metadata_read_bits = bits(here.metadata_reads.actual) + bits(here.metadata_reads.gated);
    here.metadata_write_bits = bits(here.metadata_fills.actual) + bits(here.metadata_fills.gated) +
                               bits(here.metadata_updates.actual) + bits(here.metadata_updates.gated);
  }

  void settle() {
    Evaluation& total = out_.evaluation;
    ComputeCost& compute = total.compute;
    const SplitCount& operations = out_.compute.operations;
    const Count timed = base::checked_add(operations.actual, operations.gated);
    const Count cycles = std::max<Count>(1, (timed + compute.utilized_instances - 1) / compute.utilized_instances);
    Count active = cycles;
    double beyond = 0;
    for (int level = 0; level < levels(); ++level) {
      StorageCost& cost = total.storages[static_cast<std::size_t>(level)];
      const Count word_bits = chip_.storages[static_cast<std::size_t>(level)].word_bits;
      std::vector<Count> reads, writes;
      cost.energy_pj = 0;
      for (int s = 0; s < spaces(); ++s) {
        SparseUse& here = use(level, s);
        if (!here.kept) continue;
        price(level, s);
        // All instances share the work: those that hold nothing now hold something later.
        const auto ported = [&](Count words, Count bits) {
          return ceil_of(static_cast<double>(base::checked_add(words, bits / word_bits)) * here.share);
        };
        reads.push_back(ported(here.reads.actual + here.reads.gated, here.metadata_read_bits));
        writes.push_back(
            ported(base::checked_add(here.fills.actual + here.fills.gated, here.updates.actual + here.updates.gated),
                   here.metadata_write_bits));
        DataspaceCost& dense = cost.dataspaces[static_cast<std::size_t>(s)];
        dense.tile_words = here.most_words;
        dense.reads = here.reads.actual, dense.fills = here.fills.actual, dense.updates = here.updates.actual;
        dense.energy_pj = here.data_pj + here.metadata_pj;
        cost.energy_pj += dense.energy_pj;
      }
      const BandwidthStall slowed =
          bandwidth_stall(model_.levels()[static_cast<std::size_t>(level)], cycles, std::span<const Count>(reads),
                          std::span<const Count>(writes), model_.options().throttle_in_doubles);
      cost.cycles = slowed.cycles;
      cost.throttle = slowed.factor;
      active = std::max(active, slowed.cycles);
      beyond = std::max(beyond, slowed.beyond);
    }
    const double active_cycles = beyond > 0 ? beyond : static_cast<double>(active);
    total.energy_pj = 0;
    for (int level = 0; level < levels(); ++level) {
      StorageCost& cost = total.storages[static_cast<std::size_t>(level)];
      cost.leakage_pj =
          model_.levels()[static_cast<std::size_t>(level)].leak_pj_per_cycle * active_cycles * leaking(level);
      cost.energy_pj += cost.leakage_pj;
      total.energy_pj += cost.energy_pj;
    }
    compute.cycles = cycles;
    compute.operations = operations.actual;
    compute.leakage_pj =
        model_.compute_leak_pj_per_cycle() * active_cycles * static_cast<double>(compute.utilized_instances);
    compute.energy_pj = static_cast<double>(operations.actual) * chip_.compute.compute_pj +
                        static_cast<double>(operations.gated) * design_.gated_compute_pj +
                        static_cast<double>(operations.skipped) * design_.skipped_compute_pj + compute.leakage_pj;
    total.energy_pj += compute.energy_pj;
    for (const NetworkCost& network : total.networks) total.energy_pj += network.energy_pj;
    total.active_cycles = active;
    const bool countable = !__builtin_add_overflow(active, model_.latency_cycles(), &total.cycles) && beyond == 0;
    if (!countable) total.cycles = base::kMostCount;
    total.beyond_cycles = countable ? 0 : active_cycles + static_cast<double>(model_.latency_cycles());
    total.utilization =
        static_cast<double>(operations.actual) / (static_cast<double>(chip_.compute.instances) * total.needed_cycles());
    total.edp_j_cycles = total.energy_pj * total.needed_cycles() / 1e12;
  }

  // Instances that hold something at a time; one that holds nothing is off.
  double leaking(int level) const {
    double share = 0;
    for (int s = 0; s < spaces(); ++s) share = std::max(share, nest_.keeps(level, s) ? content(level, s).share : 0.0);
    const double instances = static_cast<double>(instances_of(level));
    return share > 0 ? std::max(1.0, instances * share) : instances;
  }

  const Model& model_;
  const machine::Chip& chip_;
  const SparseDesign& design_;
  const SparseNest nest_;
  std::optional<SparseMisfit>& misfit_;
  std::vector<std::vector<TileContent>> contents_;  // [dataspace][level]
  std::vector<std::vector<Saved>> saved_;           // [level][dataspace]
  SparseEvaluation out_;
};

}  // namespace

std::optional<SparseEvaluation> evaluate_sparse(const Model& model, const SparseDesign& design, const Mapping& mapping,
                                                std::optional<SparseMisfit>& misfit) {
  ORRERY_CHECK(perfect(mapping), "the sparse model counts factors that divide");
  misfit.reset();
  return Account(model, design, mapping, misfit).run(mapping);
}

machine::Chip roomy(const machine::Chip& chip, const SparseDesign& design) {
  machine::Chip result = chip;
  for (std::size_t level = 0; level < result.storages.size(); ++level)
    for (const auto& format : design.storages[level].formats)
      if (format && format->compressed()) {
        result.storages[level].capacity_words.reset();
        result.storages[level].min_utilization = 0;
      }
  return result;
}

}  // namespace orrery::nest
