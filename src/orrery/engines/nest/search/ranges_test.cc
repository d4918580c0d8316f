// Chips with figures of any size: a right optimum, or an error that names the figure.
//
// Random problems with bandwidths and energies drawn log-uniformly, answered by the search and by pricing every
// mapping again in long doubles, which hold any number of cycles.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "orrery/describe/machine/ranges.h"
#include "orrery/engines/nest/search/brute_force_test_util.h"
#include "orrery/engines/nest/search/random_space_test_util.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Instance;
using Real = long double;

constexpr double kTolerance = 1e-9;
constexpr Real kCountable = 0x1p63L;

struct Priced {
  Real energy_pj = 0;
  Real cycles = 0;
  Real edp() const { return energy_pj * cycles / 1e12L; }
};

// From the words of an evaluation, which are counts, and the chip's figures.
Priced priced(const machine::Chip& chip, const Model& model, const Evaluation& evaluation) {
  Priced result;
  Real active = static_cast<Real>(evaluation.compute.cycles);
  Real leak_pj = model.options().omit_compute_leakage
                     ? 0
                     : static_cast<Real>(chip.compute.leak_pj_per_cycle) * evaluation.compute.utilized_instances;
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    const machine::Storage& storage = chip.storages[i];
    const StorageCost& cost = evaluation.storages[i];
    const auto blocks = [&](Count words) -> Real {
      const Real whole = static_cast<Real>(words) / storage.block_size;
      return model.options().fractional_blocks ? whole : std::ceil(whole);
    };
    Real reads = 0, writes = 0, energy_pj = 0;
    for (const DataspaceCost& use : cost.dataspaces) {
      reads += use.reads;
      writes += static_cast<Real>(use.fills) + use.updates;
      energy_pj += blocks(use.reads) * storage.energy.read_pj + blocks(use.fills) * storage.energy.write_pj +
                   blocks(use.updates) * storage.energy.update_pj;
    }
    result.energy_pj += energy_pj * storage.paying(cost.utilized_instances);
    if (!storage.pass_through || model.options().charge_pass_through)
      leak_pj += static_cast<Real>(storage.energy.leak_pj_per_cycle) * cost.utilized_instances;
    const auto port = [&](const std::optional<double>& words_per_cycle, Real words) {
      // The quotient of doubles: a bandwidth of 0.1 is a little less, and must not cost a cycle more for it.
      if (words_per_cycle) active = std::max<Real>(active, std::ceil(static_cast<double>(words) / *words_per_cycle));
    };
    port(storage.read_words_per_cycle, reads);
    port(storage.write_words_per_cycle, writes);
    port(storage.shared_words_per_cycle, reads + writes);
  }
  for (const NetworkCost& network : evaluation.networks) result.energy_pj += static_cast<Real>(network.energy_pj);
  result.energy_pj += static_cast<Real>(evaluation.compute.operations) * chip.compute.compute_pj + leak_pj * active;
  result.cycles = active + static_cast<Real>(model.latency_cycles());
  return result;
}

// 10^x with x uniform.
double drawn(Dice& dice, Count least_exponent, Count most_exponent) {
  return std::pow(10.0, static_cast<double>(dice(least_exponent * 1000, most_exponent * 1000)) / 1000);
}

Instance draw(Dice& dice) {
  Instance instance;
  instance.einsum = dice(0, 1) == 1 ? workload::matmul("product", dice.pick({2, 3, 4, 6}), dice.pick({2, 4, 8}),
                                                       dice.pick({1, 2, 4, 9}))
                                    : testing::random_einsum(dice, 8);
  instance.chip = testing::random_chip(dice, {2, 4});
  const bool matmul = instance.einsum.name == "product";
  if (!matmul || dice(0, 1) == 1) instance.space = testing::random_space(dice, instance.einsum, instance.chip);
  if (dice.once_in(4)) instance.options = ModelOptions::factorflow();
  const bool wild = dice.once_in(4);
  const auto energy = [&](double& figure_pj) {
    if (dice.once_in(3)) figure_pj = wild && dice.once_in(4) ? drawn(dice, -300, 300) : drawn(dice, -30, 30);
  };
  const auto bandwidth = [&](std::optional<double>& words_per_cycle) {
    if (words_per_cycle) *words_per_cycle = wild && dice.once_in(4) ? drawn(dice, -300, 300) : drawn(dice, -19, 4);
  };
  for (machine::Storage& storage : instance.chip.storages) {
    energy(storage.energy.read_pj);
    energy(storage.energy.write_pj);
    energy(storage.energy.update_pj);
    energy(storage.energy.leak_pj_per_cycle);
    bandwidth(storage.read_words_per_cycle);
    bandwidth(storage.write_words_per_cycle);
    bandwidth(storage.shared_words_per_cycle);
  }
  energy(instance.chip.compute.compute_pj);
  energy(instance.chip.compute.leak_pj_per_cycle);
  return instance;
}

bool in_range(const machine::Chip& chip) {
  base::Diagnostics found;
  machine::check_ranges(chip, found);
  return !found.has_errors();
}

bool same(Real a, Real b) {
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

struct Tally {
  int answered = 0, refused = 0, uncountable = 0, slowed = 0;
};

// "" or what is wrong.
std::string fault(const Instance& instance, const SearchRules& limits, Tally& tally) {
  if (!in_range(instance.chip)) {
    ++tally.refused;
    try {
      const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    } catch (const base::InputError& error) {
      const std::string& code = error.diagnostics.at(0).code;
      return code == "O0609" || code == "O0327" ? "" : "a figure out of range is " + code;
    }
    return "a figure out of range is taken";
  }
  const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
  const Space space(instance.einsum, instance.chip, instance.space, model.shape());
  if (space.size() > 30'000) return "";
  Real least_edp = std::numeric_limits<Real>::infinity(), least_delay = least_edp, least_energy = least_edp;
  Evaluation evaluation;
  std::string wrong;
  enumerate(instance.einsum, space, [&](const Mapping& mapping) {
    model.evaluate(mapping, evaluation);
    const Priced here = priced(instance.chip, model, evaluation);
    if (!same(here.energy_pj, evaluation.energy_pj) || !same(here.cycles, evaluation.needed_cycles()) ||
        !same(here.edp(), evaluation.edp_j_cycles) ||
        (evaluation.beyond_cycles > 0) != (here.cycles >= kCountable && !same(here.cycles, kCountable)))
      if (!same(here.cycles, kCountable))
        wrong = fmt::format("evaluated {} pJ in {} cycles, needs {} pJ in {} cycles", evaluation.energy_pj,
                            evaluation.needed_cycles(), static_cast<double>(here.energy_pj),
                            static_cast<double>(here.cycles));
    if (evaluation.cycles < evaluation.compute.cycles) wrong = "less cycles than the compute units need";
    least_edp = std::min(least_edp, here.edp());
    least_delay = std::min(least_delay, here.cycles);
    least_energy = std::min(least_energy, here.energy_pj);
    return wrong.empty();
  });
  if (!wrong.empty()) return wrong;
  for (const Metric metric : {Metric::kEdp, Metric::kDelay, Metric::kEnergy}) {
    const Real least = metric == Metric::kEdp ? least_edp : metric == Metric::kDelay ? least_delay : least_energy;
    const std::string name = metric == Metric::kEdp ? "edp" : metric == Metric::kDelay ? "delay" : "energy";
    try {
      const Optimum found = optimize(model, instance.space, {metric}, limits);
      if (!found.mapping) {
        if (found.infeasible != std::isinf(static_cast<double>(least))) return name + ": found nothing";
        continue;
      }
      const Real value = key_of({metric}, found.evaluation)[0];
      if (!same(value, least))
        return fmt::format("{}: found {:.17g}, the best is {:.17g}", name, static_cast<double>(value),
                           static_cast<double>(least));
      if (found.evaluation.beyond_cycles > 0) return name + ": an answer beyond counting";
      if (found.evaluation.cycles < 1) return name + ": no cycles";
      ++tally.answered;
      tally.slowed += found.evaluation.cycles > 1000 * found.evaluation.compute.cycles;
    } catch (const base::InputError& error) {
      if (error.diagnostics.at(0).code != "O1005") return name + ": " + error.diagnostics.at(0).message;
      if (least_delay < kCountable && metric == Metric::kDelay && !same(least_delay, kCountable))
        return name + ": refused what can be counted";
      ++tally.uncountable;
    }
  }
  return "";
}

int problems_of_ranges() {
  const char* wanted = std::getenv("ORRERY_PROBLEMS");
  return wanted ? std::atoi(wanted) : 1500;
}

TEST(Ranges, AChipWithFiguresOfAnySizeHasTheRightOptimumOrAnErrorThatNamesTheFigure) {
  Tally tally;
  for (int seed = 0; seed < problems_of_ranges(); ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed) + 40'000'000);
    const Instance instance = draw(dice);
    SearchRules limits;
    limits.lattice = seed % 8 != 1;
    limits.dominance = seed % 8 != 2;
    ASSERT_EQ(fault(instance, limits, tally), "") << "seed " << seed << "\n" << describe(instance);
  }
  EXPECT_GT(tally.answered, problems_of_ranges() / 3);
  EXPECT_GT(tally.slowed, problems_of_ranges() / 20);
  EXPECT_GT(tally.uncountable, 0);
  EXPECT_GT(tally.refused, problems_of_ranges() / 20);
}

TEST(Ranges, ALowerBandwidthNeverGivesALowerProduct) {
  int compared = 0;
  for (int seed = 0; seed < problems_of_ranges() / 4; ++seed) {
    Dice dice = Dice::from_seed(static_cast<std::uint64_t>(seed) + 50'000'000);
    Instance instance = draw(dice);
    if (!in_range(instance.chip)) continue;
    double before = 0;
    for (int step = 0; step < 6; ++step) {
      try {
        const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
        if (Space(instance.einsum, instance.chip, instance.space, model.shape()).size() > 30'000) break;
        const Optimum found = optimize(model, instance.space);
        if (!found.mapping) break;
        EXPECT_GE(found.evaluation.edp_j_cycles, before * (1 - kTolerance)) << "seed " << seed << ", step " << step;
        before = found.evaluation.edp_j_cycles;
        ++compared;
      } catch (const base::InputError&) {
        break;  // beyond counting, and so are lower bandwidths
      }
      for (machine::Storage& storage : instance.chip.storages)
        for (std::optional<double>* limit :
             {&storage.read_words_per_cycle, &storage.write_words_per_cycle, &storage.shared_words_per_cycle})
          if (*limit) **limit /= 50;
    }
  }
  EXPECT_GT(compared, problems_of_ranges() / 8);
}

machine::Chip small_chip() {
  machine::Chip chip;
  chip.name = "chip";
  chip.storages.resize(2);
  chip.storages[0].name = "Buffer";
  chip.storages[1].name = "DRAM";
  for (machine::Storage& storage : chip.storages) storage.energy = {1, 1, 1, 0};
  chip.compute.name = "MAC";
  chip.compute.compute_pj = 1;
  return chip;
}

std::string refusal(const workload::Einsum& einsum, const machine::Chip& chip) {
  try {
    const Model model(einsum, chip);
    const Optimum found = optimize(model, {});
    return found.mapping ? fmt::format("{} cycles", found.evaluation.cycles) : "nothing";
  } catch (const base::InputError& error) {
    const base::Diagnostic& first = error.diagnostics.at(0);
    return fmt::format("{}: {}; {}", first.code, first.message, fmt::join(first.notes, "; "));
  }
}

// With a buffer of nothing, each operation reads two words, and all but the first of each output a third.
TEST(Ranges, ANarrowPortSlowsTheRunDown) {
  machine::Chip chip = small_chip();
  chip.storages[0].capacity_words = 0;
  chip.storages[1].read_words_per_cycle = 0x1p-40;
  EXPECT_EQ(refusal(workload::matmul("layer", 2, 2, 2), chip),
            fmt::format("{} cycles", (8 + 8 + 4) * (Count{1} << 40)));
}

TEST(Ranges, CyclesBeyondCountingNameThePort) {
  machine::Chip chip = small_chip();
  chip.storages[0].capacity_words = 0;
  chip.storages[1].read_words_per_cycle = 1e-18;
  EXPECT_EQ(
      refusal(workload::matmul("layer", 4, 4, 4), chip),
      "O1005: the best mapping of `layer` needs 1.76e+20 cycles, more than 64 bits can count; each `DRAM` reads 176 "
      "words / 1e-18 words per cycle = 1.76e+20 cycles, more than 9223372036854775807, the largest count of 64 "
      "bits");
}

TEST(Ranges, LatenciesBeyondCountingNameTheStorage) {
  machine::Chip chip = small_chip();
  chip.storages[0].network_fill_latency_cycles = std::numeric_limits<Count>::max();
  chip.storages[1].network_drain_latency_cycles = 1;
  EXPECT_EQ(refusal(workload::matmul("layer", 2, 2, 2), chip),
            "O1005: with those of `DRAM`, the latencies of the networks exceed 64 bits; 9223372036854775807 cycles "
            "+ 1 cycles is more than 9223372036854775807, the largest count of 64 bits");
  chip.storages[1].network_drain_latency_cycles = 0;
  EXPECT_EQ(refusal(workload::matmul("layer", 2, 2, 2), chip),
            "O1005: the best mapping of `layer` needs 9.223e+18 cycles, more than 64 bits can count; the compute units "
            "need 8 cycles; with 9223372036854775807 cycles of network latencies this is more than "
            "9223372036854775807, the largest count of 64 bits");
}

TEST(Ranges, ACapacityOfAllThatCanBeCountedHoldsEverything) {
  machine::Chip chip = small_chip();
  chip.storages[0].capacity_words = std::numeric_limits<Count>::max();
  EXPECT_EQ(chip.usable_words(0), std::numeric_limits<Count>::max());
  chip.storages[0].multiple_buffering = 1.0000000001;
  EXPECT_GT(chip.usable_words(0), 0);
  EXPECT_EQ(refusal(workload::matmul("layer", 2, 2, 2), chip), "8 cycles");
}

TEST(Ranges, SumsOfWordsBeyond64BitsOverflowNowhere) {
  // Three dataspaces of 2^61 words each: what all tiles take, and all writes of a storage, are beyond 2^63.
  workload::Einsum einsum;
  einsum.name = "sum";
  einsum.dimensions = {{"A", Count{1} << 31}, {"B", Count{1} << 31}};
  for (const char* name : {"X", "Y", "Z"})
    einsum.dataspaces.push_back({name, {{{{0, 1}}}, {{{1, 1}}}}, name[0] == 'Z'});
  EXPECT_THROW(Model(einsum, small_chip()), base::OverflowError);
}

}  // namespace
}  // namespace orrery::nest
