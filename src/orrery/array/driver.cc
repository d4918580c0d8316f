#include "orrery/array/driver.h"

#include <algorithm>

#include "orrery/array/tile_arithmetic.h"
#include "orrery/base/check.h"

namespace orrery::array {
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

std::uint32_t low(std::int64_t value, int bits) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1));
}

void lay_masks(const Instance& instance, const Work& work, const TilePlan& tile, Writer& to) {
  const sparse::Mask inside = sparse::inside_valid(*work.mask);
  const Count rows = base::ceil_divide(instance.array.rows, 8) * 8;
  for (Count key = 0; key < tile.keys; ++key)
    to.bits(rows, [&](Count r) { return r < tile.queries && inside.kept(0, 0, tile.first_query + r, key); });
  to.fill();
}

}  // namespace

const std::vector<Register>& register_map() {
  static const std::vector<Register> kMap = {
      {0x000, "ID", 32, false, 0x4f525259, "the letters ORRY"},
      {0x004, "ROWS", 11, false, 0, "rows of the array, as built"},
      {0x008, "PES", 7, false, 0, "PEs of a row, as built"},
      {0x00c, "PORTS", 10, false, 0, "column ports, as built"},
      {0x010, "DEPTH_MOST", 13, false, 0, "head size, as built"},
      {0x014, "KEYS_MOST", 25, false, 0, "keys that there is room for, as built"},
      {0x020, "CONTROL", 7, true, 0,
       "0 START, reads 0; 1 interrupt enabled; 2 masks are predicted; 3 rows are normalised; 4 causal"},
      {0x024, "STATUS", 3, true, 0, "0 BUSY, read only; 1 DONE; 2 ERROR; bits written as 1 become 0"},
      {0x030, "SEQUENCES", 16, true, 0, "must be 1"},
      {0x034, "HEADS", 16, true, 0, "must be 1"},
      {0x038, "QUERIES", 16, true, 0, "queries of the matrix"},
      {0x03c, "KEYS", 16, true, 0, "keys of the matrix"},
      {0x040, "DEPTH", 13, true, 0, "head size; must be DEPTH_MOST"},
      {0x044, "QUERY_MULTIPLIER", 17, true, 0x8000, "what queries are multiplied by, 15 bits behind the point"},
      {0x048, "QUERY_POINT", 5, true, 10, "bits behind the point of scaled queries"},
      {0x050, "QUERY_RECIPROCAL", 16, true, 0, "the quantiser's, of queries"},
      {0x054, "QUERY_SHIFT", 6, true, 0, "the quantiser's, of queries"},
      {0x058, "QUERY_FACTOR", 16, true, 0, "the quantiser's, of queries"},
      {0x05c, "QUERY_FACTOR_SHIFT", 6, true, 0, "the quantiser's, of queries"},
      {0x060, "KEY_RECIPROCAL", 16, true, 0, "the quantiser's, of keys"},
      {0x064, "KEY_SHIFT", 6, true, 0, "the quantiser's, of keys"},
      {0x068, "KEY_FACTOR", 16, true, 0, "the quantiser's, of keys"},
      {0x06c, "KEY_FACTOR_SHIFT", 6, true, 0, "the quantiser's, of keys"},
      {0x070, "SCORE_SHIFT", 6, true, 1, "by which predicted scores are rescaled"},
      {0x074, "THRESHOLD", 24, true, 0, "log2 of the threshold, signed, 16 bits behind the point"},
      {0x080, "QUERY_BASE", 32, true, 0, "address of queries in the memory"},
      {0x088, "KEY_BASE", 32, true, 0, "of keys"},
      {0x090, "VALUE_BASE", 32, true, 0, "of values"},
      {0x098, "MASK_BASE", 32, true, 0, "of masks"},
      {0x0a0, "OUTPUT_BASE", 32, true, 0, "of outputs"},
      {0x0c0, "CYCLES_LOW", 32, false, 0, "cycles of the last run, low half"},
      {0x0c4, "CYCLES_HIGH", 32, false, 0, "high half"},
      {0x0d0, "BLOCKS", 32, false, 0, "blocks that it ran"},
      {0x0dc, "SATURATED", 32, false, 0, "outputs that did not fit their format"},
      {0x400, "LENGTH", 32, true, 0, "queries up to the last valid one in the low half, keys in the high one"}};
  return kMap;
}

DriverRun driver_run(const Instance& instance, const Work& work, const FixedInputs& inputs,
                     const PredictionConstants& constants, const Simulation& simulation, Count word_bytes,
                     std::uint32_t apart) {
  ORRERY_CHECK(work.shape.matrices() == 1 && work.packing == nullptr && word_bytes > 0,
               "one matrix whose blocks are packed in the machine");
  const RunPlan plan = planned_tiles(instance, work);
  ORRERY_CHECK(plan.matrices.size() == 1, "a matrix with a valid query");
  const MatrixPlan& matrix = plan.matrices.front();
  DriverRun run;
  run.cycles = simulation.cycles, run.blocks = simulation.blocks;
  for (std::uint32_t i = 0; i < kRegions; ++i) run.bases[i] = i * apart;
  const auto to = [&](Region region) { return Writer(run.memory[static_cast<std::size_t>(region)], word_bytes); };
  const auto base = [&](Region region) { return run.bases[static_cast<std::size_t>(region)]; };
  Writer keys = to(Region::kKeys), queries = to(Region::kQueries), masks = to(Region::kMasks);
  keys.tokens(inputs.key, 0, matrix.keys, work.depth);
  if (plan.predicts) keys.validity(work.valid_columns, 0, matrix.keys);
  to(Region::kValues).tokens(inputs.value, 0, matrix.keys, work.depth);
  for (const TilePlan& tile : plan.tiles) {
    queries.tokens(inputs.query, tile.first_query, tile.queries, work.depth);
    if (plan.predicts) queries.validity(work.valid_rows, tile.first_query, tile.queries);
    if (!plan.predicts) lay_masks(instance, work, tile, masks);
  }
  to(Region::kOutputs).tokens(simulation.outputs, 0, matrix.queries, work.depth);

  const bool causal = work.mask != nullptr ? work.mask->causal : work.causal;
  const std::uint32_t control =
      2U | (plan.predicts ? 4U : 0U) | (plan.predicts && work.prediction->normalise ? 8U : 0U) | (causal ? 16U : 0U);
  const auto word = [&](std::uint32_t address, std::int64_t value) { run.words.push_back({address, low(value, 32)}); };
  word(0x030, 1), word(0x034, 1);
  word(0x038, work.shape.rows), word(0x03c, work.shape.columns), word(0x040, work.depth);
  word(0x044, query_multiplier(instance, work.scale)), word(0x048, scaled_point(instance, work.scale));
  if (plan.predicts) {
    std::uint32_t address = 0x050;
    for (const QuantiserConstants* c : {&constants.query, &constants.key}) {
      word(address, static_cast<std::int64_t>(c->reciprocal)), word(address + 4, c->shift);
      word(address + 8, static_cast<std::int64_t>(c->factor)), word(address + 12, c->factor_shift);
      address += 16;
    }
    word(0x070, constants.score_shift), word(0x074, low(constants.threshold, 24));
  }
  word(0x080, base(Region::kQueries)), word(0x088, base(Region::kKeys)), word(0x090, base(Region::kValues));
  word(0x098, base(Region::kMasks)), word(0x0a0, base(Region::kOutputs));
  word(0x400, matrix.queries | matrix.keys << 16);
  word(0x020, control | 1);
  return run;
}

}  // namespace orrery::array
