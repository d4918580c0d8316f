// Fewer blocks by local search.
//
// With every entry in a block, the block with the fewest entries is taken away, and its entries are to be found places
// in the others. Two moves do that, at a temperature (Metropolis), so that the search leaves local optima:
//
//   a query anew   its PE rows are given back, and it takes, one after the other, the block that holds most of its
//                  uncovered entries (greedy set cover with a little noise); PE rows whose entries fit into others of
//                  the query are given back again. The cost is uncovered entries + PE rows.
//   a key changed  in a block, the key that most queries of the block lack comes for the one whose loss uncovers
//                  fewest entries. A query lacks a key, too, if its entry stands nearly alone in another PE row: by one
//                  over the entries of that row, which is free once they all have found other places.
//
// Once nothing is uncovered, the next block goes. It costs a round of (queries x (entries of a query + blocks x PE rows
// of a query)) operations; which entries of a query a block holds is counted for all blocks at once, by adding, for
// each entry, a row of a table of keys by blocks.
#include <algorithm>
#include <array>
#include <limits>

#include "orrery/engines/masks/packing/packing_orrery.h"
#include "orrery/engines/masks/packing/packing_random.h"

namespace orrery::masks {
namespace {

using Index = std::int32_t;
using Lane = std::uint16_t;
constexpr Index kNone = -1;
constexpr std::uint32_t kLeastMoves = 256;  // of each kind in a round, however small the matrix
constexpr Lane kOpen = 0xFFFF;
constexpr std::size_t kLanes = 8;  // blocks that are counted together
constexpr Index kFew = 64;
constexpr Index kWhole = 12;       // what an uncovered entry counts where keys are chosen
constexpr Index kNearlyEmpty = 4;  // entries of a PE row that is worth freeing
constexpr std::uint32_t kNoises = 1024;
constexpr double kTemperature = 0.16;
constexpr std::uint32_t kNoise = 24,
                        kEntryScore = 16;  // up to one and a half entries of noise in the choice of a block
constexpr std::size_t kLossesTried = 6;    // keys of a block whose loss is counted exactly

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

class Improver {
 public:
  Improver(const PackProblem& problem, const PackBlocks& start)
      : rows_(static_cast<Index>(problem.array.rows)),
        pes_(static_cast<Index>(problem.array.pes)),
        ports_(static_cast<std::size_t>(problem.array.ports)),
        columns_(problem.columns) {
    for (const auto& row : problem.rows) {
      first_.push_back(static_cast<Index>(key_.size()));
      key_.insert(key_.end(), row.begin(), row.end());
    }
    first_.push_back(static_cast<Index>(key_.size()));
    owner_.assign(key_.size(), kNone);
    cells_of_.resize(problem.rows.size());
    uncovered_.assign(problem.rows.size(), 0);
    lanes_ = (start.size() + kLanes - 1) / kLanes * kLanes;
    member_.assign(at(columns_) * lanes_, 0);
    copies_.assign(at(columns_), 0);
    gains_.assign(lanes_, 0);
    scores_.assign(lanes_, 0);
    open_blocks_.assign(lanes_, 0);
    tally_.assign(at(columns_), 0);
    const std::size_t cells = start.size() * at(rows_);
    cell_row_.assign(cells, kNone);
    cell_block_.assign(cells, kNone);
    cell_size_.assign(cells, 0);
    cell_entry_.assign(cells * at(pes_), kNone);
    for (std::size_t c = 0; c < cells; ++c) cell_block_[c] = static_cast<Index>(c) / rows_;
    for (Lane& noise : noise_) noise = static_cast<Lane>(random_.below(kNoise));
    take_over(start);
  }

  Index blocks() const { return static_cast<Index>(keys_.size()); }
  Index uncovered() const { return all_uncovered_; }

  // Takes away the block with the fewest entries.
  void drop_block() {
    Index least = 0, fewest = std::numeric_limits<Index>::max();
    for (Index b = 0; b < blocks(); ++b) {
      Index entries = 0;
      for (Index c = first_cell(b); c < end_cell(b); ++c) entries += cell_size_[at(c)];
      if (entries < fewest) fewest = entries, least = b;
    }
    std::vector<Index> hit;
    while (used_[at(least)] > 0) {
      hit.push_back(cell_row_[at(end_cell(least) - 1)]);
      free_cell(end_cell(least) - 1);
    }
    while (!keys_[at(least)].empty()) remove_key(least, keys_[at(least)].back());
    rename_last_block(least);
    for (const Index row : hit) fill_spare(row);
  }

  void round(const base::Budget& budget) {
    base::Ticker ticker(budget, 32);
    const auto queries = static_cast<std::uint32_t>(cells_of_.size());
    for (std::uint32_t i = 0; i < std::max(queries, kLeastMoves) && all_uncovered_ > 0 && !ticker.spent(); ++i)
      cover_anew(static_cast<Index>(random_.below(queries)));
    const auto count = static_cast<std::uint32_t>(blocks());
    for (std::uint32_t i = 0; i < std::max(4 * count, kLeastMoves) && all_uncovered_ > 0 && !ticker.spent(); ++i)
      change_key(static_cast<Index>(random_.below(count)));
  }

  PackBlocks result() const {
    PackBlocks out;
    std::vector<Index> port(at(columns_));
    for (Index b = 0; b < blocks(); ++b) {
      std::fill(port.begin(), port.end(), kNone);
      for_each_entry(b, [&](Index, Index e) { port[at(key_[at(e)])] = 0; });
      PackedBlock packed;
      for (Index k = 0; k < columns_; ++k)
        if (port[at(k)] != kNone) {
          port[at(k)] = static_cast<Index>(packed.keys.size());
          packed.keys.push_back(k);
        }
      for (Index c = first_cell(b); c < end_cell(b); ++c) packed.rows.push_back({cell_row_[at(c)], {}});
      for_each_entry(
          b, [&](Index c, Index e) { packed.rows[at(c - first_cell(b))].ports.push_back(port[at(key_[at(e)])]); });
      for (PackedRow& row : packed.rows) std::sort(row.ports.begin(), row.ports.end());
      if (!packed.rows.empty()) out.push_back(std::move(packed));
    }
    return out;
  }

 private:
  // A cell is a PE row of a block; those in use are numbered without gaps.
  Index first_cell(Index block) const { return block * rows_; }
  Index end_cell(Index block) const { return block * rows_ + used_[at(block)]; }
  const Index* entries(Index cell) const { return cell_entry_.data() + at(cell) * at(pes_); }
  Index* entries(Index cell) { return cell_entry_.data() + at(cell) * at(pes_); }
  // f(cell, entry)
  template <class Visit>
  void for_each_entry(Index block, const Visit& f) const {
    for (Index c = first_cell(block); c < end_cell(block); ++c)
      for (Index i = 0; i < cell_size_[at(c)]; ++i) f(c, entries(c)[i]);
  }
  bool has_key(Index block, Index key) const { return member_[at(key) * lanes_ + at(block)] != 0; }
  bool has_room(Index cell) const { return cell_size_[at(cell)] < pes_; }

  void take_over(const PackBlocks& start) {
    std::vector<Index> entry(at(columns_));
    all_uncovered_ = static_cast<Index>(key_.size());
    for (std::size_t row = 0; row < uncovered_.size(); ++row) uncovered_[row] = first_[row + 1] - first_[row];
    for (const PackedBlock& from : start) {
      const Index b = blocks();
      keys_.emplace_back();
      used_.push_back(0);
      open_blocks_[at(b)] = kOpen;
      for (const Index key : from.keys) add_key(b, key);
      for (const PackedRow& row : from.rows) {
        for (Index e = first_[at(row.query)]; e < first_[at(row.query) + 1]; ++e) entry[at(key_[at(e)])] = e;
        const Index cell = new_cell(b, row.query);
        for (const Index port : row.ports) put(entry[at(from.keys[at(port)])], cell);
      }
    }
  }

  void add_key(Index block, Index key) {
    keys_[at(block)].push_back(key);
    member_[at(key) * lanes_ + at(block)] = 1;
    ++copies_[at(key)];
  }
  void remove_key(Index block, Index key) {
    std::vector<Index>& keys = keys_[at(block)];
    *std::find(keys.begin(), keys.end(), key) = keys.back();
    keys.pop_back();
    member_[at(key) * lanes_ + at(block)] = 0;
    --copies_[at(key)];
  }

  Index new_cell(Index block, Index row) {
    const Index cell = end_cell(block);
    open_blocks_[at(block)] = ++used_[at(block)] < rows_ ? kOpen : 0;
    cell_row_[at(cell)] = row;
    cell_size_[at(cell)] = 0;
    cells_of_[at(row)].push_back(cell);
    return cell;
  }
  void free_cell(Index cell) {
    const Index row = cell_row_[at(cell)], block = cell_block_[at(cell)], last = end_cell(block) - 1;
    for (Index i = 0; i < cell_size_[at(cell)]; ++i) owner_[at(entries(cell)[i])] = kNone;
    uncovered_[at(row)] += cell_size_[at(cell)];
    all_uncovered_ += cell_size_[at(cell)];
    std::vector<Index>& cells = cells_of_[at(row)];
    cells.erase(std::find(cells.begin(), cells.end(), cell));
    if (cell != last) rename(last, cell);
    --used_[at(block)];
    open_blocks_[at(block)] = kOpen;
  }
  // Moves a cell to a number that is free.
  void rename(Index from, Index to) {
    cell_row_[at(to)] = cell_row_[at(from)];
    cell_size_[at(to)] = cell_size_[at(from)];
    for (Index i = 0; i < cell_size_[at(to)]; ++i) {
      entries(to)[i] = entries(from)[i];
      owner_[at(entries(to)[i])] = to;
    }
    std::vector<Index>& cells = cells_of_[at(cell_row_[at(to)])];
    *std::find(cells.begin(), cells.end(), from) = to;
  }
  // Moves the last block to the number of an empty one.
  void rename_last_block(Index to) {
    const Index last = blocks() - 1;
    if (to != last) {
      const std::vector<Index> keys = keys_[at(last)];
      for (const Index key : keys) remove_key(last, key);
      for (const Index key : keys) add_key(to, key);
      for (Index i = 0; i < used_[at(last)]; ++i) rename(first_cell(last) + i, first_cell(to) + i);
      used_[at(to)] = used_[at(last)];
      open_blocks_[at(to)] = open_blocks_[at(last)];
    }
    open_blocks_[at(last)] = 0;
    keys_.pop_back();
    used_.pop_back();
  }

  void put(Index entry, Index cell) {
    entries(cell)[cell_size_[at(cell)]++] = entry;
    owner_[at(entry)] = cell;
    --uncovered_[at(cell_row_[at(cell)])], --all_uncovered_;
  }
  void take_out(Index entry) {
    const Index cell = owner_[at(entry)];
    Index* const in = entries(cell);
    *std::find(in, in + cell_size_[at(cell)], entry) = in[cell_size_[at(cell)] - 1];
    --cell_size_[at(cell)];
    ++uncovered_[at(cell_row_[at(cell)])], ++all_uncovered_;
    owner_[at(entry)] = kNone;
  }

  // A cell of the query with room for an entry.
  Index room_for(Index row, Index entry, Index except) const {
    for (const Index cell : cells_of_[at(row)])
      if (cell != except && has_room(cell) && has_key(cell_block_[at(cell)], key_[at(entry)])) return cell;
    return kNone;
  }

  // Puts uncovered entries of a query into its cells that have room.
  void fill_spare(Index row) {
    for (Index e = first_[at(row)]; e < first_[at(row) + 1] && uncovered_[at(row)] > 0; ++e) {
      if (owner_[at(e)] != kNone) continue;
      if (const Index cell = room_for(row, e, kNone); cell != kNone) put(e, cell);
    }
  }

  template <int sign>
  void add_to_gains(Index key) {
    const Lane* const from = member_.data() + at(key) * lanes_;
    Lane* const to = gains_.data();
    for (std::size_t l = 0; l < lanes_; ++l) to[l] = static_cast<Lane>(to[l] + sign * from[l]);
  }

  // The open block that holds most of what is counted in gains_, with a little noise; kNone where all hold nothing.
  Index best_block() {
    const Lane* const noise = noise_.data() + random_.below(kNoises);
    const auto most = static_cast<Lane>(pes_);
    Lane best = 0;
    for (std::size_t from = 0; from < lanes_; from += kLanes)
      for (std::size_t l = from; l < from + kLanes; ++l) {
        const Lane gain = std::min(static_cast<Lane>(gains_[l] & open_blocks_[l]), most);
        scores_[l] = gain > 0 ? static_cast<Lane>(gain * kEntryScore + noise[l % kNoises]) : Lane{0};
        best = std::max(best, scores_[l]);
      }
    if (best == 0) return kNone;
    return static_cast<Index>(std::find(scores_.begin(), scores_.end(), best) - scores_.begin());
  }

  // Takes PE rows for a query's uncovered entries, as far as blocks have any.
  void cover(Index row) {
    std::fill(gains_.begin(), gains_.end(), Lane{0});
    open_.clear();
    for (Index e = first_[at(row)]; e < first_[at(row) + 1]; ++e)
      if (owner_[at(e)] == kNone) {
        open_.push_back(e);
        add_to_gains<1>(key_[at(e)]);
      }
    while (!open_.empty()) {
      const Index best = best_block();
      if (best == kNone) return;
      // Entries that this block can take stand first, those that few blocks hold before the others.
      const auto end = std::partition(open_.begin(), open_.end(), [&](Index e) { return has_key(best, key_[at(e)]); });
      if (end - open_.begin() > pes_)
        std::sort(open_.begin(), end, [&](Index a, Index b) {
          const Index copies_a = copies_[at(key_[at(a)])], copies_b = copies_[at(key_[at(b)])];
          return copies_a != copies_b ? copies_a < copies_b : a < b;
        });
      const auto taken = open_.begin() + std::min<std::ptrdiff_t>(end - open_.begin(), pes_);
      const Index cell = new_cell(best, row);
      for (auto e = open_.begin(); e != taken; ++e) {
        put(*e, cell);
        add_to_gains<-1>(key_[at(*e)]);
      }
      open_.erase(open_.begin(), taken);
    }
  }

  // Gives back PE rows of a query whose entries fit into its others.
  void dissolve(Index row) {
    for (std::size_t p = 0; p < cells_of_[at(row)].size() && cells_of_[at(row)].size() > 1;) {
      const Index cell = cells_of_[at(row)][p];
      moved_.clear();
      while (cell_size_[at(cell)] > 0) {
        const Index e = entries(cell)[cell_size_[at(cell)] - 1];
        const Index to = room_for(row, e, cell);
        if (to == kNone) break;
        take_out(e);
        put(e, to);
        moved_.push_back(e);
      }
      if (cell_size_[at(cell)] == 0) {
        free_cell(cell);
        continue;
      }
      for (const Index e : moved_) {
        take_out(e);
        put(e, cell);
      }
      ++p;
    }
  }

  void cover_anew(Index row) {
    const Index uncovered_before = uncovered_[at(row)];
    std::vector<Index>& cells = cells_of_[at(row)];
    const std::size_t cells_before = cells.size();
    saved_.clear();
    for (const Index cell : cells) {
      saved_.push_back(cell_block_[at(cell)]);
      saved_.push_back(cell_size_[at(cell)]);
      saved_.insert(saved_.end(), entries(cell), entries(cell) + cell_size_[at(cell)]);
    }
    while (!cells.empty()) free_cell(cells.back());
    cover(row);
    dissolve(row);
    const auto loss = static_cast<double>(uncovered_[at(row)] - uncovered_before) + static_cast<double>(cells.size()) -
                      static_cast<double>(cells_before);
    if (random_.accepts(loss, kTemperature)) return;
    while (!cells.empty()) free_cell(cells.back());
    for (std::size_t i = 0; i < saved_.size();) {
      const Index cell = new_cell(saved_[i], row), size = saved_[i + 1];
      i += 2;
      for (const std::size_t end = i + at(size); i < end; ++i) put(saved_[i], cell);
    }
  }

  void change_key(Index b) {
    const Index in = wanted_key(b);
    if (in == kNone) return;
    const double gain = static_cast<double>(wanted_by_) / kWhole;
    if (keys_[at(b)].size() >= ports_) {
      const auto [out, loss] = cheapest_key(b);
      if (!random_.accepts(static_cast<double>(loss) - gain, kTemperature)) return;
      for (Index c = end_cell(b) - 1; c >= first_cell(b); --c)
        for (Index i = 0; i < cell_size_[at(c)]; ++i)
          if (key_[at(entries(c)[i])] == out) {
            touched_.push_back(cell_row_[at(c)]);
            take_out(entries(c)[i]);
            if (cell_size_[at(c)] == 0) free_cell(c);
            break;
          }
      remove_key(b, out);
    }
    add_key(b, in);
    for (Index c = first_cell(b); c < end_cell(b); ++c) touched_.push_back(cell_row_[at(c)]);
    for (const Index row : touched_) {
      if (uncovered_[at(row)] > 0) fill_spare(row);
      gather(row, in, b);
    }
    touched_.clear();
    if (takes_others(b))
      for (Index row = 0; row < static_cast<Index>(uncovered_.size()); ++row)
        if (uncovered_[at(row)] > 0) cover(row);
  }

  // Moves the entry of a key that came from a nearly empty cell of the query into one of the block.
  void gather(Index row, Index key, Index b) {
    for (const Index cell : cells_of_[at(row)]) {
      if (cell_size_[at(cell)] > kNearlyEmpty || cell_block_[at(cell)] == b) continue;
      for (Index i = 0; i < cell_size_[at(cell)]; ++i) {
        const Index e = entries(cell)[i];
        if (key_[at(e)] != key) continue;
        for (const Index to : cells_of_[at(row)])
          if (cell_block_[at(to)] == b && has_room(to)) {
            take_out(e);
            put(e, to);
            if (cell_size_[at(cell)] == 0) free_cell(cell);
            return;
          }
        return;
      }
    }
  }

  // Whether queries that are not in a block yet can come: it has a PE row to give, or every lost entry frees one.
  // With much uncovered they come anyway, when they are covered anew.
  bool takes_others(Index b) const { return (open_blocks_[at(b)] != 0 && all_uncovered_ <= kFew) || pes_ == 1; }

  // The key that most queries lack, of those in the block with room or that can come; wanted_by_ counts them.
  Index wanted_key(Index b) {
    seen_.clear();
    const auto add = [&](Index e, Index weight) {
      Index& tally = tally_[at(key_[at(e)])];
      if (tally == 0) seen_.push_back(key_[at(e)]);
      tally += weight;
    };
    const auto count = [&](Index row) {
      for (Index e = first_[at(row)]; e < first_[at(row) + 1]; ++e)
        if (owner_[at(e)] == kNone) add(e, kWhole);
    };
    if (takes_others(b)) {
      for (Index row = 0; row < static_cast<Index>(uncovered_.size()); ++row)
        if (uncovered_[at(row)] > 0) count(row);
    } else {
      for (Index c = first_cell(b); c < end_cell(b); ++c) {
        if (!has_room(c)) continue;
        const Index row = cell_row_[at(c)];
        if (uncovered_[at(row)] > 0) count(row);
        for (const Index cell : cells_of_[at(row)])
          if (cell_size_[at(cell)] <= kNearlyEmpty && cell_block_[at(cell)] != b)
            for (Index i = 0; i < cell_size_[at(cell)]; ++i) add(entries(cell)[i], kWhole / cell_size_[at(cell)]);
      }
    }
    Index best = kNone;
    double best_score = -1;
    for (const Index key : seen_) {
      const double score = tally_[at(key)] + 2 * kWhole * kTemperature * random_.unit();
      if (score > best_score && !has_key(b, key)) best_score = score, best = key, wanted_by_ = tally_[at(key)];
    }
    for (const Index key : seen_) tally_[at(key)] = 0;
    return best;
  }

  // The key of a block without which fewest entries are uncovered, and how many.
  std::pair<Index, Index> cheapest_key(Index b) {
    for_each_entry(b, [&](Index, Index e) { ++tally_[at(key_[at(e)])]; });
    ranked_.clear();
    for (const Index key : keys_[at(b)]) {
      ranked_.emplace_back(tally_[at(key)] + 2 * kTemperature * random_.unit(), key);
      tally_[at(key)] = 0;
    }
    const std::size_t tried = std::min(kLossesTried, ranked_.size());
    std::partial_sort(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(tried), ranked_.end());
    std::array<Index, kLossesTried> losses{};
    for (std::size_t i = 0; i < tried; ++i) tally_[at(ranked_[i].second)] = static_cast<Index>(i) + 1;
    for_each_entry(b, [&](Index c, Index e) {
      const Index i = tally_[at(key_[at(e)])];
      if (i > 0) losses[at(i - 1)] += room_for(cell_row_[at(c)], e, c) == kNone;
    });
    std::pair<Index, Index> best{kNone, 0};
    for (std::size_t i = 0; i < tried; ++i) {
      tally_[at(ranked_[i].second)] = 0;
      if (best.first == kNone || losses[i] < best.second) best = {ranked_[i].second, losses[i]};
    }
    return best;
  }

  Index rows_, pes_;
  std::size_t ports_;
  Index columns_;
  std::size_t lanes_ = 0;                     // blocks, padded
  std::vector<Index> first_, key_;            // entries of a query, and their keys
  std::vector<Index> owner_;                  // cell of each entry
  std::vector<std::vector<Index>> cells_of_;  // of each query
  std::vector<Index> uncovered_;              // entries of each query
  Index all_uncovered_ = 0;
  std::vector<std::vector<Index>> keys_;  // of each block
  std::vector<Index> used_;               // cells of each block
  std::vector<Lane> open_blocks_;         // all bits set where a block has a cell to give
  std::vector<Index> cell_row_, cell_block_, cell_size_, cell_entry_;
  std::vector<Lane> member_;   // [key][block]: 1 or 0
  std::vector<Index> copies_;  // blocks that hold a key
  PackRandom random_{2};
  std::array<Lane, 2 * kNoises> noise_{};
  // Scratch.
  std::vector<Lane> gains_, scores_;
  std::vector<Index> tally_, seen_, open_, touched_, moved_, saved_;
  Index wanted_by_ = 0;
  std::vector<std::pair<double, Index>> ranked_;
};

}  // namespace

PackBlocks improved(const PackProblem& problem, PackBlocks start, Count rounds, Count bound,
                    const base::Budget& budget) {
  const auto blocks = static_cast<double>(start.size()), slots = blocks * static_cast<double>(problem.array.slots());
  const double bytes = blocks * static_cast<double>(problem.columns) * sizeof(Lane) + slots * sizeof(Index) +
                       static_cast<double>(problem.entries()) * 3 * sizeof(Index);
  if (start.empty() || !budget.has_room(bytes) || slots > std::numeric_limits<Index>::max()) return start;
  Improver search(problem, start);
  for (Count r = 0; r < rounds && !budget.spent(); ++r) {
    while (search.uncovered() == 0) {
      if (r > 0 || search.blocks() < static_cast<Index>(start.size())) start = search.result();
      if (search.blocks() <= bound) return start;
      search.drop_block();
    }
    search.round(budget);
  }
  if (search.uncovered() == 0) start = search.result();
  return start;
}

}  // namespace orrery::masks
