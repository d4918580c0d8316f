// The fast engine against the machine, a cycle at a time; closed forms; laws.
#include "orrery/engines/accelerator/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "orrery/engines/accelerator/machine_steps.h"
#include "orrery/engines/accelerator/random_run_test_util.h"
#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::accelerator {
namespace {

Simulation run_of(const RandomRun& random) {
  return simulate(random.instance, random.work);
}

TEST(Simulation, IsTheMachineToTheBitAndTheCycleOnRandomSizesMasksAndPredictions) {
  RandomRun random(1);
  Count compared = 0, blocks = 0;
  const char* const more = std::getenv("ORRERY_MACHINES");
  const int trials = more == nullptr ? 1500 : std::atoi(more);
  for (int trial = 0; trial < trials; ++trial) {
    random.draw();
    const base::Diagnostics found = faults(random.instance, sizes_of(random.work));
    ASSERT_FALSE(found.has_errors()) << found.all().front().message;
    const Simulation fast = run_of(random);
    const SteppedRun slow = stepped_run(random.instance, random.work);
    ASSERT_EQ(fast.cycles, slow.cycles) << trial;
    ASSERT_EQ(fast.blocks, slow.blocks) << trial;
    ASSERT_EQ(fast.outputs, slow.outputs) << trial;
    ASSERT_EQ(fast.busy, slow.busy) << trial;
    for (std::size_t m = 0; m < fast.memories.size(); ++m) {
      EXPECT_EQ(fast.memories[m].reads, slow.memories[m].reads) << name_of(static_cast<Memory>(m)) << ", " << trial;
      EXPECT_EQ(fast.memories[m].writes, slow.memories[m].writes) << name_of(static_cast<Memory>(m)) << ", " << trial;
    }
    EXPECT_EQ(fast.saturated.outputs, slow.saturated.outputs);
    if (random.work.prediction) {
      ASSERT_EQ(*fast.predicted, *slow.predicted) << trial;
      EXPECT_EQ(fast.saturated.codes, slow.saturated.codes);
      EXPECT_EQ(fast.saturated.scores, slow.saturated.scores);
    }
    ++compared, blocks += fast.blocks;
  }
  EXPECT_GT(blocks, 5 * compared);
}

// The document's closed form: one unit at a time, a request takes 1 cycle and the latency.
Count closed_form(const Instance& i, const Work& work, const masks::Mask& mask) {
  const Timing t = timing(i, work.depth);
  const Count request = 1 + i.latency, depth = work.depth;
  const bool predicts = work.prediction.has_value();
  const masks::Packing packing = masks::pack_as_sanger(masks::inside_valid(mask), i.array);
  Count cycles = 0;
  for (Count m = 0; m < work.shape.matrices(); ++m) {
    const Count batch = m / work.shape.heads;
    Count queries = work.shape.rows, keys = work.shape.columns;
    while (queries > 0 && !mask.row_valid(batch, queries - 1)) --queries;
    while (keys > 0 && !mask.column_valid(batch, keys - 1)) --keys;
    if (queries == 0) continue;
    const bool stays = keys <= i.key_tokens;
    cycles += ((predicts || stays ? 1 : 0) + (stays ? 1 : 0)) * request;
    if (predicts) cycles += keys * t.quantise_row + t.quantise_tail;
    for (Count first = 0; first < queries; first += i.array.rows) {
      const Count own = std::min(i.array.rows, queries - first);
      const Count seen =
          mask.causal ? std::clamp<Count>(first + own + work.shape.columns - work.shape.rows, 0, keys) : keys;
      Count blocks = 0;
      for (const masks::PackedBlock& block : packing.blocks)
        blocks += block.matrix == m && block.rows.front().query >= first && block.rows.front().query < first + own;
      cycles += request;  // queries
      if (predicts)
        cycles += own * t.quantise_row + t.quantise_tail +
                  (seen + i.prediction_width - 1) / i.prediction_width * t.predict_pass + t.predict_tail;
      else if (seen > 0)
        cycles += request;  // the mask
      cycles += seen + std::max<Count>(blocks, 1);
      const Count block = 2 * (depth + i.array.ports + i.array.rows - 1) + 3 + i.array.pes;
      cycles += blocks * ((stays ? 0 : 2 * request) + i.array.ports + block + t.merge);
      cycles += own * t.normalise_row + t.normalise_tail + request;
    }
  }
  return cycles;
}

TEST(Simulation, TakesTheClosedFormsCyclesWithoutOverlapAndWithInfiniteBandwidth) {
  RandomRun random(2);
  for (int trial = 0; trial < 400; ++trial) {
    random.draw();
    if (random.work.packing != nullptr) continue;
    random.instance.overlap = false;
    random.instance.bandwidth = std::numeric_limits<double>::infinity();
    const Simulation s = run_of(random);
    const masks::Mask& mask = random.work.prediction ? *s.predicted : *random.work.mask;
    ASSERT_EQ(s.cycles, closed_form(random.instance, random.work, mask)) << trial;
  }
}

TEST(Simulation, HasPhasesThatAddUpToItsCyclesAndStallsToTheWait) {
  RandomRun random(3);
  for (int trial = 0; trial < 400; ++trial) {
    random.draw();
    std::array<Count, kUnits> busy{};
    std::array<Count, kUnits> end{};
    SimulateOptions options;
    options.compare = false;
    options.trace = [&](const Interval& one) {
      const auto unit = static_cast<std::size_t>(one.unit);
      EXPECT_GE(one.begin, end[unit]) << "a unit does one thing at a time";
      busy[unit] += one.end - one.begin, end[unit] = one.end;
    };
    const Simulation s = simulate(random.instance, random.work, options);
    EXPECT_EQ(s.phases.all(), s.cycles);
    EXPECT_EQ(s.stalls.all(), s.phases.waiting);
    EXPECT_EQ(s.cycles - s.phases.waiting, s.busy[static_cast<std::size_t>(Unit::kArray)]);
    EXPECT_EQ(s.cycles - s.phases.waiting, s.blocks * timing(random.instance, random.work.depth).block());
    EXPECT_EQ(busy, s.busy);
  }
}

TEST(Simulation, UsesTheArrayAsThePackingCounts) {
  RandomRun random(4);
  for (int trial = 0; trial < 300; ++trial) {
    random.draw();
    const Simulation s = run_of(random);
    const masks::Mask mask = masks::inside_valid(s.predicted ? *s.predicted : *random.work.mask);
    const masks::Packing packing =
        random.work.packing ? *random.work.packing : masks::pack_as_sanger(mask, random.instance.array);
    const masks::PackedScheme counted = masks::counted("pack", mask, packing);
    EXPECT_EQ(s.blocks, counted.blocks);
    EXPECT_EQ(s.kept, counted.kept);
    EXPECT_EQ(s.utilization, counted.on_array.value_or(1));
    EXPECT_EQ(s.operations.score_products, counted.kept * random.work.depth);
    EXPECT_EQ(s.operations.score_products + s.operations.value_products + s.operations.idle_products,
              2 * counted.blocks * random.instance.array.slots() * random.work.depth);
  }
}

TEST(Simulation, IsNeverSlowerWithMoreBandwidthLessLatencyMoreRoomOrOverlapAndItsOutputsStay) {
  RandomRun random(5);
  for (int trial = 0; trial < 400; ++trial) {
    random.draw();
    const Simulation before = run_of(random);
    const auto better = [&](const char* what, const auto& change) {
      RandomRun other = random;
      change(other.instance);
      const Simulation after = simulate(other.instance, random.work);
      EXPECT_LE(after.cycles, before.cycles) << what << " in trial " << trial;
      EXPECT_EQ(after.outputs, before.outputs) << what;
    };
    better("bandwidth", [&](Instance& i) { i.bandwidth *= static_cast<double>(random.whole(2, 5)); });
    better("latency", [&](Instance& i) { i.latency /= 2; });
    better("slots", [&](Instance& i) { ++i.block_slots; });
    better("overlap", [&](Instance& i) { i.overlap = true; });
    better("lanes", [&](Instance& i) { i.quantiser_lanes += 3, i.merge_lanes += 3; });
  }
}

TEST(Simulation, DoesNotDependOnThreads) {
  RandomRun random(6);
  for (int trial = 0; trial < 60; ++trial) {
    random.draw();
    SimulateOptions four;
    four.threads = 4;
    const Simulation a = run_of(random), b = simulate(random.instance, random.work, four);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.cycles, b.cycles);
    EXPECT_EQ(a.max_relative_error, b.max_relative_error);
    EXPECT_EQ(a.mean_relative_error, b.mean_relative_error);
    EXPECT_EQ(a.predicted, b.predicted);
    EXPECT_EQ(a.saturated.codes, b.saturated.codes);
  }
}

// A head of the usual size, at the default instance.
struct Usual {
  Instance instance;
  Work work;
  std::vector<float> query, key, value;
  explicit Usual(unsigned seed, Count tokens = 192) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    work.shape = {1, 2, tokens, tokens}, work.depth = 64, work.scale = 0.125;
    for (auto* x : {&query, &key, &value}) {
      x->resize(static_cast<std::size_t>(work.shape.matrices() * tokens * 64));
      for (float& one : *x) one = normal(random);
    }
    for (float& one : query) one *= 2;
    work.query = query.data(), work.key = key.data(), work.value = value.data();
    work.prediction = Prediction{};
  }
};

TEST(Simulation, OfThePublishedShapeIsTheMachineToTheBitAndTheCycle) {
  Usual usual(9, 150);
  usual.work.causal = true;
  usual.work.valid_columns.assign(150, 1);
  std::fill(usual.work.valid_columns.begin() + 120, usual.work.valid_columns.end(), std::uint8_t{0});
  for (const bool overlap : {true, false}) {
    usual.instance.overlap = overlap;
    const Simulation fast = simulate(usual.instance, usual.work);
    const SteppedRun slow = stepped_run(usual.instance, usual.work);
    EXPECT_EQ(fast.cycles, slow.cycles);
    EXPECT_EQ(fast.busy, slow.busy);
    EXPECT_EQ(fast.outputs, slow.outputs);
    EXPECT_EQ(*fast.predicted, *slow.predicted);
    EXPECT_EQ(fast.tiles, 6);
  }
}

TEST(Simulation, MovesTheBytesOfItsTokensOnceWhereKeysStay) {
  RandomRun random(10);
  for (int trial = 0; trial < 200; ++trial) {
    random.draw();
    random.work.valid_rows.clear(), random.work.valid_columns.clear();
    if (!random.work.prediction) continue;
    random.instance.key_tokens = 1000;
    const Simulation s = run_of(random);
    const masks::MaskShape& shape = random.work.shape;
    const Numbers& n = random.instance.numbers;
    const auto bytes = [&](Count tokens, const FixedPoint& f) {
      return shape.matrices() * tokens * random.work.depth * ((f.bits + 7) / 8);
    };
    EXPECT_EQ(s.bytes.queries, bytes(shape.rows, n.query));
    EXPECT_EQ(s.bytes.keys, bytes(shape.columns, n.key));
    EXPECT_EQ(s.bytes.values, bytes(shape.columns, n.value));
    EXPECT_EQ(s.bytes.outputs, bytes(shape.rows, n.output));
    EXPECT_EQ(s.bytes.blocks, 0);
    EXPECT_EQ(s.operations.normalisations, shape.matrices() * shape.rows * random.work.depth);
    EXPECT_EQ(s.operations.roots, shape.matrices() * (shape.rows + shape.columns));
    if (!random.work.causal) {
      const Count pairs = shape.matrices() * shape.rows * shape.columns;
      EXPECT_EQ(s.operations.code_products, pairs * random.work.depth);
      EXPECT_EQ(s.operations.predicted_exponentials, pairs);
    }
  }
}

TEST(Simulation, IsWithinTwoThousandthsOfDoublePrecisionWithTheDefaultFormats) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    Usual usual(seed);
    for (const double threshold : {0.0, 0.002, 0.02}) {
      usual.work.prediction->threshold = threshold;
      const Simulation s = simulate(usual.instance, usual.work);
      EXPECT_LT(*s.max_relative_error, 2e-3) << "threshold " << threshold;
      EXPECT_GT(*s.max_relative_error, 1e-5);
      EXPECT_LT(*s.mean_relative_error, 3e-4);
      EXPECT_EQ(s.saturated.queries + s.saturated.keys + s.saturated.values + s.saturated.outputs, 0);
    }
    // With Sanger's slope of the exponential.
    usual.instance.exponential.long_log2 = false;
    EXPECT_LT(*simulate(usual.instance, usual.work).max_relative_error, 8e-3);
  }
}

TEST(Simulation, PredictsTheMaskOfTheSoftwareButForTheRoundingOfScores) {
  Usual usual(4);
  kernels::Context context(1);
  masks::AttentionInput input;
  input.shape = usual.work.shape, input.depth = 64, input.scale = 0.125F;
  input.query = usual.work.query, input.key = usual.work.key;
  for (const bool causal : {false, true})
    for (const int bits : {4, 8})
      for (const double threshold : {0.002, 0.01, 0.05}) {
        masks::PredictorOptions options;
        options.threshold = threshold, options.quantiser.bits = bits;
        masks::Prediction software;
        input.causal = usual.work.causal = causal;
        masks::make_predictor(options)->predict(context, input, {}, software);
        usual.work.prediction->threshold = threshold;
        usual.instance.code_bits = bits;
        const Simulation s = simulate(usual.instance, usual.work);
        Count different = 0;
        const Count words = usual.work.shape.matrices() * usual.work.shape.rows * usual.work.shape.words();
        const masks::Word *a = software.mask.row(0, 0, 0), *b = s.predicted->row(0, 0, 0);
        for (Count w = 0; w < words; ++w) different += masks::bits_in(a[w] ^ b[w]);
        EXPECT_LT(different, s.kept / 50) << threshold << ", " << bits << " bits";
        for (Count r = 0; r < usual.work.shape.rows; ++r) EXPECT_GT(s.predicted->kept_in_row(0, 0, r), 0);
      }
}

TEST(Simulation, OfBlocksPackedBeforehandComputesTheSameAttentionInFewerCycles) {
  Usual usual(5, 128);
  const Simulation predicted = simulate(usual.instance, usual.work);
  const masks::Mask mask = *predicted.predicted;
  Work given = usual.work;
  given.prediction.reset();
  given.mask = &mask;
  const Simulation loaded = simulate(usual.instance, given);
  EXPECT_EQ(loaded.outputs, predicted.outputs);
  EXPECT_LE(loaded.cycles, predicted.cycles);
  masks::Packing packing;
  masks::pack_by("orrery", mask, usual.instance.array, {}, {}, &packing);
  given.packing = &packing;
  const Instance wide = fitted(usual.instance, sizes_of(given));
  EXPECT_EQ(wide.query_rows, 128);
  const Simulation packed = simulate(wide, given);
  EXPECT_LT(packed.blocks, loaded.blocks);
  EXPECT_LT(packed.phases.scores, loaded.phases.scores);
  EXPECT_LT(*packed.max_relative_error, 2e-3);
}

TEST(Simulation, OfAnEmptyMaskStoresZeros) {
  Usual usual(6, 64);
  const masks::Mask none(usual.work.shape);
  usual.work.prediction.reset();
  usual.work.mask = &none;
  const Simulation s = simulate(usual.instance, usual.work);
  EXPECT_EQ(s.blocks, 0);
  EXPECT_EQ(s.utilization, 1);
  EXPECT_GT(s.cycles, 0);
  EXPECT_EQ(s.phases.waiting, s.cycles);
  EXPECT_EQ(s.stalls.all(), s.cycles);
  EXPECT_EQ(std::count(s.outputs.begin(), s.outputs.end(), 0), static_cast<std::ptrdiff_t>(s.outputs.size()));
}

TEST(Simulation, CountsCyclesOfAMaskWithoutNumbersAsWithThem) {
  RandomRun random(7);
  for (int trial = 0; trial < 100; ++trial) {
    random.draw();
    if (random.work.prediction) continue;
    Work bare = random.work;
    bare.query = bare.key = bare.value = nullptr;
    const Simulation with = run_of(random), without = simulate(random.instance, bare);
    EXPECT_EQ(with.cycles, without.cycles);
    EXPECT_EQ(with.bytes.all(), without.bytes.all());
    EXPECT_FALSE(without.max_relative_error.has_value());
  }
}

TEST(Simulation, EndsWhenItsBudgetIsSpent) {
  Usual usual(8, 128);
  const std::atomic<bool> stop = true;
  base::Limits limits;
  limits.stop = &stop;
  EXPECT_THROW(simulate(usual.instance, usual.work, {}, base::Budget(limits)), masks::Unfinished);
}

}  // namespace
}  // namespace orrery::accelerator
