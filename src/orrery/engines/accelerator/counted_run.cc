#include "orrery/engines/accelerator/counted_run.h"

#include "orrery/engines/accelerator/timeline.h"

namespace orrery::accelerator {
namespace {

struct Counter {
  const Instance& instance;
  const RunPlan& plan;
  Count depth;
  CountedRun out{{}, memories(instance)};

  void access(Memory memory, Count reads, Count writes) {
    MemoryUse& use = out.memories[static_cast<std::size_t>(memory)];
    use.reads += reads, use.writes += writes;
  }

  // Tokens that are quantised: rows are read twice, codes written once.
  void quantise(Memory memory, Count tokens) {
    if (!plan.predicts) return;
    Operations& o = out.operations;
    o.squares += tokens * depth, o.codes += tokens * depth;
    o.roots += tokens, o.quantiser_divisions += tokens;
    access(memory, 2 * tokens, 0);
    access(Memory::kCodes, 0, tokens);
  }

  void matrix(const MatrixPlan& m) {
    const bool stays = resident(instance, m);
    if (plan.predicts || stays) access(Memory::kKeys, 0, m.keys);
    if (stays) access(Memory::kValues, 0, m.keys);
    quantise(Memory::kKeys, m.keys);
  }

  void tile(const TilePlan& t) {
    Operations& o = out.operations;
    o.scaled_queries += t.queries * depth;
    o.reciprocals += t.queries, o.normalisations += t.queries * depth;
    access(Memory::kQueries, 0, t.queries);
    access(Memory::kAccumulators, t.queries, t.queries);
    quantise(Memory::kQueries, t.queries);
    if (plan.predicts) {
      const Count pairs = t.queries * t.keys;
      o.code_products += pairs * depth, o.rescalings += pairs, o.compares += pairs;
      o.logarithms += t.queries;
      access(Memory::kCodes, t.keys + t.queries * base::ceil_divide(t.keys, instance.prediction_width), 0);
      // A column comes again when it has closed a block.
      access(Memory::kScores, t.keys + std::max<Count>(t.blocks - 1, 0), t.keys);
    } else if (!plan.packed) {
      // A word holds as many columns of a given mask as a score has bits.
      const Count words = base::ceil_divide(t.keys, instance.numbers.score.bits);
      access(Memory::kScores, words, words);
    }
  }

  void block(const BlockPlan& b, bool stays) {
    const masks::PackArray& array = instance.array;
    Operations& o = out.operations;
    o.score_products += b.entries * depth, o.value_products += b.entries * depth;
    o.idle_products += 2 * (array.slots() - b.entries) * depth;
    o.exponentials += b.entries;
    o.merge_exponentials += 2 * b.rows, o.merges += b.rows * (depth + 1);
    o.decoded_ports += array.ports;
    if (stays) access(Memory::kKeys, b.keys, 0), access(Memory::kValues, b.keys, 0);
    access(Memory::kBlocks, b.keys, b.keys);
    access(Memory::kPortKeys, b.keys, b.keys);
    access(Memory::kPortValues, b.keys, b.keys);
    access(Memory::kQueries, b.rows, 0);
    access(Memory::kOutputs, b.rows, b.rows);
    access(Memory::kAccumulators, b.rows, b.rows);
  }
};

}  // namespace

CountedRun counted_run(const Instance& instance, const RunPlan& plan, Count depth, Count seen) {
  Counter counter{instance, plan, depth};
  for (const MatrixPlan& m : plan.matrices) counter.matrix(m);
  for (const TilePlan& t : plan.tiles) {
    counter.tile(t);
    const bool stays = resident(instance, plan.matrices[static_cast<std::size_t>(t.matrix)]);
    for (Count b = t.first_block; b < t.first_block + t.blocks; ++b)
      counter.block(plan.blocks[static_cast<std::size_t>(b)], stays);
  }
  counter.out.operations.predicted_exponentials = counter.out.operations.statistics = seen;
  return counter.out;
}

}  // namespace orrery::accelerator
