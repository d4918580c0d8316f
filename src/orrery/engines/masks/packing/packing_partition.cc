// Keys dealt to sets, the same sets for all queries of a matrix.
//
// A query with n entries in a set takes ceil(n / pes) PE rows of the set's blocks. Keys are first dealt by how many
// queries attend to them, which puts the popular ones together; then pairs of keys of different sets are swapped
// where that saves PE rows, by simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983). It gains where entries come
// together: an entry that is alone in its set costs a PE row of its own. What a swap saves is counted 64 queries at a
// time: bits say whose next entry in a set takes a row more, and whose last one has a row of its own.
#include <algorithm>
#include <bit>
#include <numeric>

#include "orrery/engines/masks/packing/packing_orrery.h"
#include "orrery/engines/masks/packing/packing_random.h"

namespace orrery::masks {
namespace {

constexpr double kFirstTemperature = 1;
constexpr Count kBlocksOfGroup = 2;  // a group has as many queries as so many blocks have PE rows

std::size_t at(Count i) {
  return static_cast<std::size_t>(i);
}

class Partition {
 public:
  explicit Partition(const PackProblem& problem)
      : problem_(problem),
        ports_(at(problem.array.ports)),
        words_(at(base::ceil_divide(static_cast<Count>(problem.rows.size()), kWordBits))),
        keep_(at(problem.columns + 1) * words_) {
    std::vector<std::int32_t> count(static_cast<std::size_t>(problem.columns));
    for (std::size_t r = 0; r < problem.rows.size(); ++r)
      for (const std::int32_t c : problem.rows[r]) {
        keep_[at(c) * words_ + r / 64] |= Word{1} << r % 64;
        ++count[static_cast<std::size_t>(c)];
      }
    for (std::int32_t c = 0; c < problem.columns; ++c)
      if (count[static_cast<std::size_t>(c)] > 0) slots_.push_back(c);
    std::stable_sort(slots_.begin(), slots_.end(), [&](std::int32_t a, std::int32_t b) {
      return count[static_cast<std::size_t>(a)] > count[static_cast<std::size_t>(b)];
    });
    sets_ = (slots_.size() + ports_ - 1) / ports_;
    slots_.resize(sets_ * ports_, problem.columns);  // a key that nobody attends to
    in_set_.assign(sets_ * problem.rows.size(), 0);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      for (std::size_t r = 0; r < problem.rows.size(); ++r) in_set(slot / ports_, r) += key(slot)[r / 64] >> r % 64 & 1;
    full_.assign(sets_ * words_, 0);
    alone_.assign(sets_ * words_, 0);
    for (std::size_t set = 0; set < sets_; ++set)
      for (std::size_t r = 0; r < problem.rows.size(); ++r) look_at(set, r);
  }

  // For so many swaps; with none, until the time is up.
  void anneal(std::optional<Count> swaps, const base::Budget& budget) {
    if (sets_ < 2 || problem_.array.pes == 1) return;  // every partition is as good
    PackRandom random(1);
    const double seconds = budget.seconds_left();
    double done = 0;
    for (Count i = 0; done < 1; ++i) {
      if (i % 64 == 0) {
        if (budget.spent()) return;
        done = swaps ? static_cast<double>(i) / static_cast<double>(*swaps) : 1 - budget.seconds_left() / seconds;
      }
      const std::size_t a = random.below(static_cast<std::uint32_t>(slots_.size()));
      const std::size_t b = random.below(static_cast<std::uint32_t>(slots_.size()));
      if (a / ports_ == b / ports_ || slots_[a] == slots_[b]) continue;
      const double temperature = std::max(kFirstTemperature * (1 - done), 1e-9);
      if (random.accepts(static_cast<double>(added_by_swap(a, b)), temperature)) swap(a, b);
    }
  }

  PackBlocks blocks() const {
    PackBlocks blocks;
    std::vector<std::int32_t> port(static_cast<std::size_t>(problem_.columns), -1);
    for (std::size_t set = 0; set < sets_; ++set) {
      PackedBlock block;
      std::fill(port.begin(), port.end(), -1);
      for (std::size_t slot = set * ports_; slot < (set + 1) * ports_; ++slot)
        if (slots_[slot] < problem_.columns) block.keys.push_back(slots_[slot]);
      std::sort(block.keys.begin(), block.keys.end());
      for (std::size_t p = 0; p < block.keys.size(); ++p)
        port[static_cast<std::size_t>(block.keys[p])] = static_cast<std::int32_t>(p);
      const auto put = [&](PackedRow& row) {
        if (static_cast<Count>(block.rows.size()) == problem_.array.rows) {
          blocks.push_back(block);
          block.rows.clear();
        }
        block.rows.push_back(row);
        row.ports.clear();
      };
      for (std::size_t r = 0; r < problem_.rows.size(); ++r) {
        PackedRow row{static_cast<std::int32_t>(r), {}};
        for (const std::int32_t c : problem_.rows[r])
          if (port[static_cast<std::size_t>(c)] >= 0) {
            row.ports.push_back(port[static_cast<std::size_t>(c)]);
            if (static_cast<Count>(row.ports.size()) == problem_.array.pes) put(row);
          }
        if (!row.ports.empty()) put(row);
      }
      if (!block.rows.empty()) blocks.push_back(std::move(block));
    }
    return blocks;
  }

 private:
  const Word* key(std::size_t slot) const { return keep_.data() + at(slots_[slot]) * words_; }
  std::int32_t& in_set(std::size_t set, std::size_t r) { return in_set_[set * problem_.rows.size() + r]; }

  // Whether a query's next entry in a set takes a PE row more, and its last one a row of its own.
  void look_at(std::size_t set, std::size_t r) {
    const std::int32_t rest = in_set(set, r) % static_cast<std::int32_t>(problem_.array.pes);
    const std::size_t word = set * words_ + r / 64;
    const Word bit = Word{1} << r % 64;
    full_[word] = rest == 0 ? full_[word] | bit : full_[word] & ~bit;
    alone_[word] = rest == 1 ? alone_[word] | bit : alone_[word] & ~bit;
  }

  // PE rows more if the keys of two slots change places. A query with both keys, or neither, does not care.
  Count added_by_swap(std::size_t a, std::size_t b) const {
    const Word *of_a = key(a), *of_b = key(b);
    const std::size_t first = a / ports_ * words_, second = b / ports_ * words_;
    Count added = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      const Word out = of_a[w] & ~of_b[w], in = of_b[w] & ~of_a[w];
      added += bits_in(out & full_[second + w]) - bits_in(out & alone_[first + w]) + bits_in(in & full_[first + w]) -
               bits_in(in & alone_[second + w]);
    }
    return added;
  }

  void swap(std::size_t a, std::size_t b) {
    const Word *of_a = key(a), *of_b = key(b);
    const auto move = [&](Word queries, std::size_t w, std::size_t from, std::size_t to) {
      for (; queries != 0; queries &= queries - 1) {
        const std::size_t r = w * 64 + static_cast<std::size_t>(std::countr_zero(queries));
        --in_set(from, r);
        ++in_set(to, r);
        look_at(from, r);
        look_at(to, r);
      }
    };
    for (std::size_t w = 0; w < words_; ++w) {
      move(of_a[w] & ~of_b[w], w, a / ports_, b / ports_);
      move(of_b[w] & ~of_a[w], w, b / ports_, a / ports_);
    }
    std::swap(slots_[a], slots_[b]);
  }

  const PackProblem& problem_;
  std::size_t ports_, words_, sets_ = 0;
  std::vector<Word> keep_;            // [key][queries]; the last key is empty
  std::vector<std::int32_t> slots_;   // key of each port of each set
  std::vector<std::int32_t> in_set_;  // [set][query]: entries
  std::vector<Word> full_, alone_;    // [set][queries]: their number is a multiple of the PEs; one more than that
};

}  // namespace

PackBlocks partitioned(const PackProblem& problem, std::optional<Count> swaps, const base::Budget& budget) {
  // Queries with many entries are better off with other sets than those with few; with groups of too few queries, many
  // blocks would be partly empty at first.
  const Count groups =
      std::max<Count>(1, static_cast<Count>(problem.rows.size()) / (kBlocksOfGroup * problem.array.rows));
  // Queries with many entries first: those of a group have about as many.
  std::vector<std::int32_t> order(problem.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return problem.rows[static_cast<std::size_t>(a)].size() > problem.rows[static_cast<std::size_t>(b)].size();
  });
  // Of a group: bits of keys by queries, entries of queries by sets.
  const double rows = static_cast<double>(problem.rows.size()) / static_cast<double>(groups) + kWordBits;
  const double bytes = static_cast<double>(problem.columns + problem.array.ports) * rows *
                       (0.125 + static_cast<double>(sizeof(std::int32_t)) / static_cast<double>(problem.array.ports));
  if (!budget.has_room(bytes)) return {};
  PackBlocks blocks;
  for (Count g = 0; g < groups; ++g) {
    const auto count = static_cast<Count>(order.size());
    PackProblem group{problem.array, problem.columns, {}};
    std::vector<std::int32_t> queries(order.begin() + count * g / groups, order.begin() + count * (g + 1) / groups);
    std::sort(queries.begin(), queries.end());
    for (const std::int32_t query : queries) group.rows.push_back(problem.rows[static_cast<std::size_t>(query)]);
    Partition partition(group);
    if (swaps)
      partition.anneal(swaps, budget);
    else
      partition.anneal({}, base::Budget(budget, budget.seconds_left() / static_cast<double>(groups - g)));
    for (PackedBlock& block : partition.blocks()) {
      for (PackedRow& row : block.rows) row.query = queries[static_cast<std::size_t>(row.query)];
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

}  // namespace orrery::masks
