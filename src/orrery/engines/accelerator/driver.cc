#include "orrery/engines/accelerator/driver.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::accelerator {
namespace {

class Writer {
 public:
  Writer(std::vector<std::uint8_t>& into, Count word) : into_(into), word_(static_cast<std::size_t>(word)) {}

  void tokens(const std::vector<std::int32_t>& x, Count first, Count count, Count depth) {
    for (Count i = first * depth; i < (first + count) * depth; ++i) {
      const auto value = static_cast<std::uint32_t>(x[static_cast<std::size_t>(i)]);
      byte(value & 0xff), byte(value >> 8U & 0xff);
    }
  }
  // `valid` empty: all of them.
  void validity(const std::vector<std::uint8_t>& valid, Count first, Count count) {
    bits(count, [&](Count i) { return valid.empty() || valid[static_cast<std::size_t>(first + i)] != 0; });
    fill();
  }
  template <class Bit>
  void bits(Count count, const Bit& bit) {
    for (Count i = 0; i < count; i += 8) {
      std::uint32_t all = 0;
      for (Count j = i; j < std::min(i + 8, count); ++j) all |= bit(j) ? 1U << (j - i) : 0U;
      byte(all);
    }
  }
  void fill() {
    while (into_.size() % word_ != 0) byte(0);
  }

 private:
  void byte(std::uint32_t value) { into_.push_back(static_cast<std::uint8_t>(value)); }

  std::vector<std::uint8_t>& into_;
  std::size_t word_;
};

void lay_masks(const Instance& instance, const masks::Mask& inside, const MatrixPlan& matrix, const TilePlan& tile,
               Writer& to) {
  const Count rows = base::ceil_divide(instance.array.rows, 8) * 8, heads = inside.shape().heads;
  for (Count key = 0; key < tile.keys; ++key)
    to.bits(rows, [&](Count r) {
      return r < tile.queries && inside.kept(matrix.matrix / heads, matrix.matrix % heads, tile.first_query + r, key);
    });
  to.fill();
}

}  // namespace

DriverRun driver_run(const Instance& instance, const Work& work, const FixedInputs& inputs,
                     const PredictionConstants& constants, const Simulation& simulation, Count word_bytes,
                     std::uint32_t apart) {
  ORRERY_CHECK(work.packing == nullptr && word_bytes > 0, "blocks that are packed in the machine");
  const RunPlan plan = planned_tiles(instance, work);
  const masks::Mask inside = work.mask != nullptr ? masks::inside_valid(*work.mask) : masks::Mask();
  const Count heads = work.shape.heads, rows = work.shape.rows, columns = work.shape.columns;
  DriverRun run;
  run.cycles = simulation.cycles, run.blocks = simulation.blocks;
  for (std::uint32_t i = 0; i < kRegions; ++i) run.bases[i] = i * apart;
  const auto to = [&](Region region) { return Writer(run.memory[static_cast<std::size_t>(region)], word_bytes); };
  Writer keys = to(Region::kKeys), values = to(Region::kValues), queries = to(Region::kQueries),
         masks = to(Region::kMasks), outputs = to(Region::kOutputs);
  for (const MatrixPlan& matrix : plan.matrices) {
    const Count m = matrix.matrix, batch = m / heads;
    keys.tokens(inputs.key, m * columns, matrix.keys, work.depth);
    if (plan.predicts) keys.validity(work.valid_columns, batch * columns, matrix.keys);
    values.tokens(inputs.value, m * columns, matrix.keys, work.depth);
    outputs.tokens(simulation.outputs, m * rows, matrix.queries, work.depth);
    for (Count g = matrix.first_tile; g < matrix.first_tile + matrix.tiles; ++g) {
      const TilePlan& tile = plan.tiles[static_cast<std::size_t>(g)];
      queries.tokens(inputs.query, m * rows + tile.first_query, tile.queries, work.depth);
      if (plan.predicts) queries.validity(work.valid_rows, batch * rows + tile.first_query, tile.queries);
      if (!plan.predicts) lay_masks(instance, inside, matrix, tile, masks);
    }
  }

  // As a driver leaves the registers; START comes last.
  RegisterFile file(instance);
  program(file, instance, work, constants);
  const char* const kBases[kRegions] = {"QUERY_BASE_LOW", "KEY_BASE_LOW", "VALUE_BASE_LOW", "MASK_BASE_LOW",
                                        "OUTPUT_BASE_LOW"};
  for (const RegisterInfo& one : registers())
    if (one.access == Access::kWrite && one.address != register_named("CONTROL").address)
      run.words.push_back({one.address, file.read(one.address)});
  for (std::size_t i = 0; i < kRegions; ++i)
    for (RegisterWord& word : run.words)
      if (word.address == register_named(kBases[i]).address) word.value = run.bases[i];
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(work.shape.batch); ++i)
    run.words.push_back({kLengths + 4 * i, file.read(kLengths + 4 * i)});
  run.words.push_back({register_named("CONTROL").address, file.at("CONTROL") | kInterrupts | kStart});
  return run;
}

}  // namespace orrery::accelerator
