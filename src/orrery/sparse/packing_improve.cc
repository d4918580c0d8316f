// Fewer blocks by local search.
//
// With every entry in a block, the block with the fewest entries is taken away, and its entries are to be found places
// in the others. Two moves do that, at a temperature (Metropolis), so that the search leaves local optima:
//
//   a query anew   its PE rows are given back, and it takes, one after the other, the block that holds most of its
//                  uncovered entries (greedy set cover with a little noise); PE rows whose entries fit into others of
//                  the query are given back again. The cost is uncovered entries + PE rows.
//   a key changed  in a block, the key that most queries of the block lack comes for the one whose loss uncovers
//                  fewest entries.
//
// Once nothing is uncovered, the next block goes. It costs a round of (queries x (entries of a query + blocks x PE rows
// of a query)) operations; which entries of a query a block holds is counted for all blocks at once, by adding, for
// each entry, a row of a table of keys by blocks.
#include <algorithm>

#include "orrery/sparse/packing_orrery.h"
#include "orrery/sparse/packing_random.h"

namespace orrery::sparse {
namespace {

using Index = std::int32_t;
using Lane = std::uint16_t;
constexpr Index kNone = -1;
constexpr std::size_t kLanes = 8;
constexpr double kTemperature = 0.3;
constexpr std::uint32_t kNoise = 24,
                        kEntryScore = 16;  // up to one and a half entries of noise in the choice of a block
constexpr std::size_t kLossesTried = 6;    // keys of a block whose loss is counted exactly

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

// A PE row of a block and the entries it computes.
struct Cell {
  Index row = kNone;
  std::vector<Index> entries;
};

struct Block {
  std::vector<Index> keys;
  std::vector<Cell> cells;
};

class Improver {
 public:
  Improver(const PackProblem& problem, const PackBlocks& start)
      : rows_(problem.array.rows),
        pes_(at(static_cast<Index>(problem.array.pes))),
        ports_(static_cast<std::size_t>(problem.array.ports)),
        columns_(problem.columns) {
    for (const auto& row : problem.rows) {
      first_.push_back(static_cast<Index>(column_.size()));
      column_.insert(column_.end(), row.begin(), row.end());
    }
    first_.push_back(static_cast<Index>(column_.size()));
    owner_.assign(column_.size(), {});
    places_.resize(problem.rows.size());
    uncovered_.assign(problem.rows.size(), 0);
    lanes_ = (start.size() + kLanes - 1) / kLanes * kLanes;
    member_.assign(static_cast<std::size_t>(columns_) * lanes_, 0);
    copies_.assign(static_cast<std::size_t>(columns_), 0);
    gains_.assign(lanes_, 0);
    tally_.assign(static_cast<std::size_t>(columns_), 0);
    take_over(start);
  }

  Index blocks() const { return static_cast<Index>(blocks_.size()); }
  Index uncovered() const { return all_uncovered_; }

  // Takes away the block with the fewest entries.
  void drop_block() {
    Index least = 0;
    std::size_t entries = column_.size() + 1;
    for (Index b = 0; b < blocks(); ++b) {
      std::size_t in = 0;
      for (const Cell& cell : blocks_[at(b)].cells) in += cell.entries.size();
      if (in < entries) entries = in, least = b;
    }
    std::vector<Index> hit;
    while (!blocks_[at(least)].cells.empty()) {
      hit.push_back(blocks_[at(least)].cells.back().row);
      free_cell({least, static_cast<Index>(blocks_[at(least)].cells.size()) - 1});
    }
    while (!blocks_[at(least)].keys.empty()) remove_key(least, blocks_[at(least)].keys.back());
    rename_last_block(least);
    for (const Index row : hit) fill_spare(row);
  }

  void round(const cost::Budget& budget) {
    cost::Ticker ticker(budget, 32);
    const auto count = static_cast<std::uint32_t>(places_.size());
    for (std::uint32_t i = 0; i < count && all_uncovered_ > 0 && !ticker.spent(); ++i)
      cover_anew(static_cast<Index>(random_.below(count)));
    for (Index i = 0; i < 4 * blocks() && all_uncovered_ > 0 && !ticker.spent(); ++i)
      change_key(static_cast<Index>(random_.below(static_cast<std::uint32_t>(blocks()))));
  }

  PackBlocks result() const {
    PackBlocks out;
    for (const Block& block : blocks_) {
      std::vector<Index> port(static_cast<std::size_t>(columns_), kNone);
      for (const Cell& cell : block.cells)
        for (const Index e : cell.entries) port[at(column_[at(e)])] = 0;
      PackedBlock packed;
      for (Index c = 0; c < columns_; ++c)
        if (port[at(c)] != kNone) {
          port[at(c)] = static_cast<Index>(packed.keys.size());
          packed.keys.push_back(c);
        }
      for (const Cell& cell : block.cells) {
        PackedRow row{cell.row, {}};
        for (const Index e : cell.entries) row.ports.push_back(port[at(column_[at(e)])]);
        std::sort(row.ports.begin(), row.ports.end());
        packed.rows.push_back(std::move(row));
      }
      if (!packed.rows.empty()) out.push_back(std::move(packed));
    }
    return out;
  }

 private:
  // Where a cell is: cells of a block are numbered without gaps.
  struct Place {
    Index block = kNone, cell = kNone;
    bool operator==(const Place&) const = default;
  };

  Cell& cell(Place place) { return blocks_[at(place.block)].cells[at(place.cell)]; }
  bool has_key(Index block, Index column) const { return member_[at(column) * lanes_ + at(block)] != 0; }
  bool has_spare(Place place) { return cell(place).entries.size() < pes_; }

  void take_over(const PackBlocks& start) {
    std::vector<Index> entry(static_cast<std::size_t>(columns_));
    for (const PackedBlock& from : start) {
      const Index b = blocks();
      blocks_.emplace_back();
      for (const Index key : from.keys) add_key(b, key);
      for (const PackedRow& row : from.rows) {
        for (Index e = first_[at(row.query)]; e < first_[at(row.query) + 1]; ++e) entry[at(column_[at(e)])] = e;
        const Place place = new_cell(b, row.query);
        for (const Index port : row.ports) {
          ++uncovered_[at(row.query)], ++all_uncovered_;
          put(entry[at(from.keys[at(port)])], place);
        }
      }
    }
  }

  void add_key(Index block, Index column) {
    blocks_[at(block)].keys.push_back(column);
    member_[at(column) * lanes_ + at(block)] = 1;
    ++copies_[at(column)];
  }
  void remove_key(Index block, Index column) {
    std::vector<Index>& keys = blocks_[at(block)].keys;
    *std::find(keys.begin(), keys.end(), column) = keys.back();
    keys.pop_back();
    member_[at(column) * lanes_ + at(block)] = 0;
    --copies_[at(column)];
  }

  Place new_cell(Index block, Index row) {
    std::vector<Cell>& cells = blocks_[at(block)].cells;
    cells.emplace_back();
    cells.back().row = row;
    cells.back().entries.reserve(pes_);
    const Place place{block, static_cast<Index>(cells.size()) - 1};
    places_[at(row)].push_back(place);
    return place;
  }
  void free_cell(Place place) {
    const Index row = cell(place).row;
    for (const Index e : cell(place).entries) owner_[at(e)] = {};
    uncovered_[at(row)] += static_cast<Index>(cell(place).entries.size());
    all_uncovered_ += static_cast<Index>(cell(place).entries.size());
    std::vector<Place>& places = places_[at(row)];
    places.erase(std::find(places.begin(), places.end(), place));
    std::vector<Cell>& cells = blocks_[at(place.block)].cells;
    const Place last{place.block, static_cast<Index>(cells.size()) - 1};
    if (place != last) {  // the last cell gets the number that became free
      cells[at(place.cell)] = std::move(cells.back());
      renamed(last, place);
    }
    cells.pop_back();
  }
  void renamed(Place from, Place to) {
    const Cell& moved = cell(to);
    for (const Index e : moved.entries) owner_[at(e)] = to;
    std::vector<Place>& places = places_[at(moved.row)];
    *std::find(places.begin(), places.end(), from) = to;
  }
  // The last block, moved to the number of an empty one.
  void rename_last_block(Index to) {
    const Index last = blocks() - 1;
    if (to != last) {
      const std::vector<Index> keys = blocks_[at(last)].keys;
      for (const Index key : keys) remove_key(last, key);
      for (const Index key : keys) add_key(to, key);
      blocks_[at(to)].cells = std::move(blocks_[at(last)].cells);
      for (Index c = 0; c < static_cast<Index>(blocks_[at(to)].cells.size()); ++c) renamed({last, c}, {to, c});
    }
    blocks_.pop_back();
  }

  void put(Index entry, Place place) {
    Cell& to = cell(place);
    to.entries.push_back(entry);
    owner_[at(entry)] = place;
    --uncovered_[at(to.row)], --all_uncovered_;
  }
  void take_out(Index entry) {
    Cell& from = cell(owner_[at(entry)]);
    *std::find(from.entries.begin(), from.entries.end(), entry) = from.entries.back();
    from.entries.pop_back();
    ++uncovered_[at(from.row)], ++all_uncovered_;
    owner_[at(entry)] = {};
  }

  // Puts uncovered entries of a query into its cells that have room.
  void fill_spare(Index row) {
    for (Index e = first_[at(row)]; e < first_[at(row) + 1] && uncovered_[at(row)] > 0; ++e) {
      if (owner_[at(e)].block != kNone) continue;
      for (const Place place : places_[at(row)])
        if (has_key(place.block, column_[at(e)]) && has_spare(place)) {
          put(e, place);
          break;
        }
    }
  }

  // Another cell of the query that has room for an entry.
  Place alternative(Index row, Index entry, Place except) {
    for (const Place place : places_[at(row)])
      if (place != except && has_key(place.block, column_[at(entry)]) && has_spare(place)) return place;
    return {};
  }

  void add_to_gains(Index column, bool add) {
    const Lane* from = member_.data() + at(column) * lanes_;
    Lane* to = gains_.data();
    if (add) {
      for (std::size_t l = 0; l < lanes_; ++l) to[l] = static_cast<Lane>(to[l] + from[l]);
    } else {
      for (std::size_t l = 0; l < lanes_; ++l) to[l] = static_cast<Lane>(to[l] - from[l]);
    }
  }

  // Takes PE rows for a query's uncovered entries, as far as blocks have any.
  void cover(Index row) {
    std::fill(gains_.begin(), gains_.end(), Lane{0});
    open_.clear();
    for (Index e = first_[at(row)]; e < first_[at(row) + 1]; ++e)
      if (owner_[at(e)].block == kNone) {
        open_.push_back(e);
        add_to_gains(column_[at(e)], true);
      }
    while (!open_.empty()) {
      Index best = kNone;
      std::uint32_t best_score = 0;
      std::uint64_t noise = random_.next() | 1;
      for (Index b = 0; b < blocks(); ++b) {
        if (gains_[at(b)] == 0 || static_cast<Count>(blocks_[at(b)].cells.size()) >= rows_) continue;
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        const auto score = static_cast<std::uint32_t>(std::min<std::size_t>(gains_[at(b)], pes_)) * kEntryScore +
                           static_cast<std::uint32_t>(((noise >> 40) * kNoise) >> 24);
        if (score > best_score) best_score = score, best = b;
      }
      if (best == kNone) return;
      // Entries that this block can take stand first, those that few blocks hold before the others.
      const auto end =
          std::partition(open_.begin(), open_.end(), [&](Index e) { return has_key(best, column_[at(e)]); });
      if (static_cast<std::size_t>(end - open_.begin()) > pes_)
        std::sort(open_.begin(), end, [&](Index a, Index b) {
          const Index copies_a = copies_[at(column_[at(a)])], copies_b = copies_[at(column_[at(b)])];
          return copies_a != copies_b ? copies_a < copies_b : a < b;
        });
      const auto taken =
          open_.begin() + std::min<std::ptrdiff_t>(end - open_.begin(), static_cast<std::ptrdiff_t>(pes_));
      const Place place = new_cell(best, row);
      for (auto e = open_.begin(); e != taken; ++e) {
        put(*e, place);
        add_to_gains(column_[at(*e)], false);
      }
      open_.erase(open_.begin(), taken);
    }
  }

  // Gives back PE rows of a query whose entries fit into its others.
  void dissolve(Index row) {
    if (places_[at(row)].size() < 2) return;
    std::vector<std::pair<Index, Place>> moves;
    for (std::size_t p = 0; p < places_[at(row)].size();) {
      const Place place = places_[at(row)][p];
      const std::vector<Index> entries = cell(place).entries;
      moves.clear();
      for (const Index e : entries) {
        const Place to = alternative(row, e, place);
        if (to.block == kNone) break;
        take_out(e);
        put(e, to);
        moves.emplace_back(e, to);
      }
      if (moves.size() == entries.size()) {
        free_cell(place);  // empty
        continue;
      }
      for (const auto& [e, to] : moves) {
        take_out(e);
        put(e, place);
      }
      ++p;
    }
  }

  void cover_anew(Index row) {
    const Index uncovered_before = uncovered_[at(row)];
    const std::size_t cells_before = places_[at(row)].size();
    saved_.clear();
    while (!places_[at(row)].empty()) {
      const Place place = places_[at(row)].back();
      saved_.emplace_back(place.block, cell(place).entries);
      free_cell(place);
    }
    cover(row);
    dissolve(row);
    const auto loss = static_cast<double>(uncovered_[at(row)] - uncovered_before) +
                      static_cast<double>(places_[at(row)].size()) - static_cast<double>(cells_before);
    if (random_.accepts(loss, kTemperature)) return;
    while (!places_[at(row)].empty()) free_cell(places_[at(row)].back());
    for (const auto& [block, entries] : saved_) {
      const Place place = new_cell(block, row);
      for (const Index e : entries) put(e, place);
    }
  }

  void change_key(Index b) {
    const Index in = wanted_key(b);
    if (in == kNone) return;
    const Index gain = tally_of_wanted_;
    if (blocks_[at(b)].keys.size() >= ports_) {
      const auto [out, loss] = cheapest_key(b);
      if (!random_.accepts(static_cast<double>(loss - gain), kTemperature)) return;
      for (std::size_t c = blocks_[at(b)].cells.size(); c-- > 0;) {
        const Place place{b, static_cast<Index>(c)};
        const Index row = cell(place).row;
        for (const Index e : cell(place).entries)
          if (column_[at(e)] == out) {
            take_out(e);
            break;
          }
        if (cell(place).entries.empty()) free_cell(place);
        touched_.push_back(row);
      }
      remove_key(b, out);
    }
    add_key(b, in);
    for (const Cell& cell : blocks_[at(b)].cells) touched_.push_back(cell.row);
    for (const Index row : touched_)
      if (uncovered_[at(row)] > 0) fill_spare(row);
    touched_.clear();
  }

  // The key that most PE rows of a block with room lack; tally_of_wanted_ counts them.
  Index wanted_key(Index b) {
    seen_.clear();
    for (const Cell& cell : blocks_[at(b)].cells) {
      if (uncovered_[at(cell.row)] == 0 || cell.entries.size() >= pes_) continue;
      for (Index e = first_[at(cell.row)]; e < first_[at(cell.row) + 1]; ++e)
        if (owner_[at(e)].block == kNone && tally_[at(column_[at(e)])]++ == 0) seen_.push_back(column_[at(e)]);
    }
    Index best = kNone;
    double best_score = -1;
    for (const Index column : seen_) {
      const double score = tally_[at(column)] + 2 * kTemperature * random_.unit();
      if (score > best_score && !has_key(b, column))
        best_score = score, best = column, tally_of_wanted_ = tally_[at(column)];
    }
    for (const Index column : seen_) tally_[at(column)] = 0;
    return best;
  }

  // The key of a block without which fewest entries are uncovered, and how many.
  std::pair<Index, Index> cheapest_key(Index b) {
    for (const Cell& cell : blocks_[at(b)].cells)
      for (const Index e : cell.entries) ++tally_[at(column_[at(e)])];
    ranked_.clear();
    for (const Index key : blocks_[at(b)].keys) {
      ranked_.emplace_back(tally_[at(key)] + 2 * kTemperature * random_.unit(), key);
      tally_[at(key)] = 0;
    }
    const std::size_t tried = std::min(kLossesTried, ranked_.size());
    std::partial_sort(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(tried), ranked_.end());
    std::pair<Index, Index> best{kNone, 0};
    for (std::size_t i = 0; i < tried; ++i) {
      Index loss = 0;
      for (std::size_t c = 0; c < blocks_[at(b)].cells.size(); ++c) {
        const Place place{b, static_cast<Index>(c)};
        for (const Index e : cell(place).entries)
          if (column_[at(e)] == ranked_[i].second) loss += alternative(cell(place).row, e, place).block == kNone;
      }
      if (best.first == kNone || loss < best.second) best = {ranked_[i].second, loss};
    }
    return best;
  }

  Count rows_;
  std::size_t pes_, ports_;
  Index columns_;
  std::size_t lanes_ = 0;                   // blocks, padded
  std::vector<Index> first_, column_;       // entries of a query, and their keys
  std::vector<Place> owner_;                // cell of each entry
  std::vector<std::vector<Place>> places_;  // cells of each query
  std::vector<Index> uncovered_;
  Index all_uncovered_ = 0, tally_of_wanted_ = 0;
  std::vector<Block> blocks_;
  std::vector<Lane> member_;   // [key][block]: 1 or 0
  std::vector<Index> copies_;  // blocks that hold a key
  PackRandom random_{2};
  // Scratch.
  std::vector<Lane> gains_;
  std::vector<Index> tally_, seen_, open_, touched_;
  std::vector<std::pair<double, Index>> ranked_;
  std::vector<std::pair<Index, std::vector<Index>>> saved_;
};

}  // namespace

PackBlocks improved(const PackProblem& problem, PackBlocks start, Count rounds, Count bound,
                    const cost::Budget& budget) {
  const double table = static_cast<double>(start.size()) * static_cast<double>(problem.columns) * sizeof(Lane);
  if (start.empty() || !budget.has_room(table)) return start;
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

}  // namespace orrery::sparse
