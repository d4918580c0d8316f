// Keys dealt to sets, the same sets for all queries of a matrix.
//
// A query with n entries in a set takes ceil(n / pes) PE rows of the set's blocks. Keys are first dealt by how many
// queries attend to them, which puts the popular ones together; then pairs of keys of different sets are swapped
// where that saves PE rows, by simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983). It gains where entries come
// together: an entry that is alone in its set costs a PE row of its own. A swap costs two passes over the queries.
#include <algorithm>
#include <array>
#include <numeric>

#include "orrery/sparse/packing_orrery.h"
#include "orrery/sparse/packing_random.h"

namespace orrery::sparse {
namespace {

using Lane = std::uint16_t;
constexpr std::size_t kLanes = 16;  // queries counted together; vectors of any width divide it
constexpr double kFirstTemperature = 1;
constexpr Count kBlocksOfGroup = 2;  // a group has as many queries as so many blocks have PE rows

// ceil(n / pes) by a multiplication: exact as far as (n + pes) * pes < 2^16, which the largest array obeys.
struct CeilDivide {
  Lane add, factor;
  explicit CeilDivide(Count pes) : add(static_cast<Lane>(pes - 1)), factor(static_cast<Lane>((0xFFFF + pes) / pes)) {}
  Lane operator()(Lane n) const { return static_cast<Lane>((static_cast<std::uint32_t>(n + add) * factor) >> 16); }
};

class Partition {
 public:
  explicit Partition(const PackProblem& problem)
      : problem_(problem),
        divide_(problem.array.pes),
        ports_(static_cast<std::size_t>(problem.array.ports)),
        padded_((problem.rows.size() + kLanes - 1) / kLanes * kLanes),
        keep_(static_cast<std::size_t>(problem.columns) + 1, std::vector<Lane>(padded_)) {
    std::vector<std::int32_t> count(static_cast<std::size_t>(problem.columns));
    for (std::size_t r = 0; r < problem.rows.size(); ++r)
      for (const std::int32_t c : problem.rows[r]) {
        keep_[static_cast<std::size_t>(c)][r] = 1;
        ++count[static_cast<std::size_t>(c)];
      }
    for (std::int32_t c = 0; c < problem.columns; ++c)
      if (count[static_cast<std::size_t>(c)] > 0) slots_.push_back(c);
    std::stable_sort(slots_.begin(), slots_.end(), [&](std::int32_t a, std::int32_t b) {
      return count[static_cast<std::size_t>(a)] > count[static_cast<std::size_t>(b)];
    });
    sets_ = (slots_.size() + ports_ - 1) / ports_;
    slots_.resize(sets_ * ports_, problem.columns);  // a key that nobody attends to
    in_set_.assign(sets_, std::vector<Lane>(padded_));
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      for (std::size_t r = 0; r < padded_; ++r) in_set_[slot / ports_][r] += key(slot)[r];
  }

  // For so many swaps; with none, until the time is up.
  void anneal(std::optional<Count> swaps, const cost::Budget& budget) {
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
  const Lane* key(std::size_t slot) const { return keep_[static_cast<std::size_t>(slots_[slot])].data(); }

  // PE rows more if the keys of two slots change places.
  std::int64_t added_by_swap(std::size_t a, std::size_t b) const {
    const Lane* out = key(a);
    const Lane* in = key(b);
    const Lane* first = in_set_[a / ports_].data();
    const Lane* second = in_set_[b / ports_].data();
    std::array<std::int16_t, kLanes> added{};  // at most 2 a query, either way
    for (std::size_t from = 0; from < padded_; from += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) {
        const std::size_t r = from + l;
        const auto change = static_cast<Lane>(in[r] - out[r]);
        const Lane x = first[r], y = second[r];
        added[l] = static_cast<std::int16_t>(added[l] + divide_(static_cast<Lane>(x + change)) +
                                             divide_(static_cast<Lane>(y - change)) - divide_(x) - divide_(y));
      }
    return std::accumulate(added.begin(), added.end(), std::int64_t{0});
  }

  void swap(std::size_t a, std::size_t b) {
    const Lane* out = key(a);
    const Lane* in = key(b);
    std::vector<Lane>&first = in_set_[a / ports_], &second = in_set_[b / ports_];
    for (std::size_t r = 0; r < padded_; ++r) {
      first[r] = static_cast<Lane>(first[r] - out[r] + in[r]);
      second[r] = static_cast<Lane>(second[r] - in[r] + out[r]);
    }
    std::swap(slots_[a], slots_[b]);
  }

  const PackProblem& problem_;
  CeilDivide divide_;
  std::size_t ports_, padded_, sets_ = 0;
  std::vector<std::vector<Lane>> keep_;    // [key][query]: 1 or 0; the last key is empty
  std::vector<std::int32_t> slots_;        // key of each port of each set
  std::vector<std::vector<Lane>> in_set_;  // [set][query]: entries
};

}  // namespace

PackBlocks partitioned(const PackProblem& problem, std::optional<Count> swaps, const cost::Budget& budget) {
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
  // A group's table of keys by queries, and that of sets.
  const double bytes = 2.0 * sizeof(Lane) * static_cast<double>(problem.columns + 1) *
                       (static_cast<double>(problem.rows.size()) / static_cast<double>(groups) + kLanes);
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
      partition.anneal({}, cost::Budget(budget, budget.seconds_left() / static_cast<double>(groups - g)));
    for (PackedBlock& block : partition.blocks()) {
      for (PackedRow& row : block.rows) row.query = queries[static_cast<std::size_t>(row.query)];
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

}  // namespace orrery::sparse
