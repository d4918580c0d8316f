// Each PE row by itself: the array passes keys and values down one row a cycle, so that a row sees what the first one
// saw, later. In a row, port m carries element t - m of its key in cycle t, and query register m element t - m of
// the query, which a PE multiplies if its two multiplexers say so; with other choices its sum would be wrong, as it
// would be in the array. The output chain is the registers acc and buf of each PE (section "SpMM" of
// docs/model/sparse.md).
//
// Costs (size + ports) x pes x rows a block. For small masks: tests, and the claim that a packing computes attention.
#include "orrery/engines/masks/packing/array_run.h"

#include <cmath>
#include <deque>

namespace orrery::masks {
namespace {

struct Row {
  const BlockWords& words;
  const PackArray& array;
  const ArrayOperands& operands;
  std::size_t index;

  const PeWords& pe(Count j) const {
    return words.pes[index * static_cast<std::size_t>(array.pes) + static_cast<std::size_t>(j)];
  }

  // Element `t - port` of a token's vector, 0 outside of it.
  double at(const double* tokens, Count tokens_of_matrix, std::int32_t token, Count t, Count port) const {
    const Count i = t - port;
    if (token < 0 || i < 0 || i >= operands.size) return 0;
    return tokens[((words.matrix * tokens_of_matrix) + token) * operands.size + i];
  }
  double column(const double* tokens, Count t, std::int32_t port) const {
    if (port >= static_cast<std::int32_t>(words.keys.size())) return 0;  // nothing on this port
    return at(tokens, operands.keys, words.keys[static_cast<std::size_t>(port)], t, port);
  }

  std::vector<double> scores() const {
    std::vector<double> acc(static_cast<std::size_t>(array.pes));
    for (Count t = 0; t < operands.size + array.ports; ++t)
      for (Count j = 0; j < array.pes; ++j) {
        const PeWords& word = pe(j);
        const double a = word.score_a < array.ports ? operands.scale * at(operands.query, operands.queries,
                                                                          words.queries[index], t, word.score_a)
                                                    : 0;
        acc[static_cast<std::size_t>(j)] += a * column(operands.key, t, word.score_b);
      }
    for (double& score : acc) score = std::exp(score);
    return acc;
  }

  // Adds the row's outputs to `out`.
  void values(const std::vector<double>& weights, double* out) const {
    // What a PE has in acc (front) and in its buf registers.
    std::vector<std::deque<double>> chain(static_cast<std::size_t>(array.pes),
                                          std::deque<double>(static_cast<std::size_t>(array.ports - array.pes) + 1));
    for (Count t = 0; t < operands.size + array.ports; ++t) {
      double from_left = 0;
      for (Count j = 0; j < array.pes; ++j) {
        const PeWords& word = pe(j);
        std::deque<double>& registers = chain[static_cast<std::size_t>(j)];
        const double leaves = registers[static_cast<std::size_t>(word.delay)];
        const double a = word.value_a == own_score(array) ? weights[static_cast<std::size_t>(j)] : 0;
        registers.pop_back();
        registers.push_front(from_left + a * column(operands.value, t, word.value_b));
        from_left = leaves;
      }
      if (t >= array.ports) out[t - array.ports] += from_left;
    }
  }
};

}  // namespace

ArrayOutputs run_on_array(const Packing& packing, Count matrices, const ArrayOperands& operands) {
  ArrayOutputs out;
  out.weighted.assign(static_cast<std::size_t>(matrices * operands.queries * operands.size), 0);
  out.sums.assign(static_cast<std::size_t>(matrices * operands.queries), 0);
  for (const PackedBlock& block : packing.blocks) {
    const BlockWords words = control_words(block, packing.array);
    for (std::size_t r = 0; r < words.queries.size(); ++r) {
      if (words.queries[r] < 0) continue;
      const Row row{words, packing.array, operands, r};
      const std::vector<double> weights = row.scores();
      const auto query = static_cast<std::size_t>(block.matrix * operands.queries + words.queries[r]);
      row.values(weights, out.weighted.data() + query * static_cast<std::size_t>(operands.size));
      double drained = 0;
      for (const double weight : weights) drained += weight;
      out.sums[query] += drained - words.idle[r];
    }
  }
  return out;
}

}  // namespace orrery::masks
