// Small random problems, chips and mappings for property tests. Test-only.
//
// Everything is drawn from `Dice`: from rapidcheck (counterexamples shrink) or from a seed (fast, for
// tests that need many cases). All draws prefer small and plain values, where mistakes show.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "orrery/base/numbers/count.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/traffic.h"

namespace orrery::nest::testing {

class Dice {
 public:
  static Dice from_rapidcheck() {
    return Dice([](base::Count low, base::Count high) { return *rc::gen::inRange<base::Count>(low, high + 1); });
  }
  static Dice from_seed(std::uint64_t seed) {
    return Dice([engine = std::mt19937_64(seed)](base::Count low, base::Count high) mutable {
      return low + static_cast<base::Count>(engine() % static_cast<std::uint64_t>(high - low + 1));
    });
  }

  // A number from low to high, both included.
  base::Count operator()(base::Count low, base::Count high) { return low == high ? low : draw_(low, high); }
  bool once_in(base::Count n) { return (*this)(1, n) == n; }
  base::Count pick(std::initializer_list<base::Count> choices) {
    return choices.begin()[(*this)(0, static_cast<base::Count>(choices.size()) - 1)];
  }
  double hundredths(base::Count low, base::Count high) { return static_cast<double>((*this)(low, high)) / 100; }

  // 0 to n-1 in any order.
  std::vector<int> order(int n) {
    std::vector<int> loops(n);
    std::iota(loops.begin(), loops.end(), 0);
    for (int at = n - 1; at > 0; --at) std::swap(loops[at], loops[static_cast<int>((*this)(0, at))]);
    return loops;
  }

 private:
  using Draw = std::function<base::Count(base::Count, base::Count)>;
  explicit Dice(Draw draw) : draw_(std::move(draw)) {}
  Draw draw_;
};

// Two to four dimensions; two or three dataspaces, the last one read-write; every rank is one dimension,
// every dataspace has at least one.
inline workload::Einsum random_einsum(Dice& dice, base::Count largest_bound = 12) {
  static constexpr const char* kNames[] = {"A", "B", "C", "D"};
  workload::Einsum einsum;
  einsum.name = "random";
  const int dimensions = static_cast<int>(dice(2, 4));
  for (int d = 0; d < dimensions; ++d) {
    base::Count bound = dice.pick({1, 2, 3, 4, 6, 8, 12});
    if (bound > largest_bound) bound = largest_bound;
    einsum.dimensions.push_back({kNames[d], bound});
  }
  const int dataspaces = static_cast<int>(dice(2, 3));
  for (int s = 0; s < dataspaces; ++s) {
    workload::Dataspace dataspace;
    dataspace.name = s + 1 == dataspaces ? "Output" : s == 0 ? "Left" : "Right";
    dataspace.read_write = s + 1 == dataspaces;
    const base::Count chosen = dice(1, (1 << dimensions) - 1);
    for (int d = 0; d < dimensions; ++d)
      if (chosen >> d & 1) dataspace.ranks.push_back({{{d, 1}}});
    einsum.dataspaces.push_back(std::move(dataspace));
  }
  return einsum;
}

// A convolution in one or two window dimensions, with strides and dilations: dimensions R, L [, S, Q],
// K (output channels), C (input channels).
inline workload::Einsum random_convolution(Dice& dice) {
  workload::Einsum einsum;
  einsum.name = "convolution";
  const bool square = dice(0, 1) == 1;
  const auto window = [&] { return dice.pick({1, 2, 3, 4}); };
  const auto image = [&] { return dice.pick({2, 3, 4, 6}); };
  einsum.dimensions = {{"R", window()}, {"L", image()}, {"K", dice.pick({1, 2, 3})}, {"C", dice.pick({1, 2})}};
  if (square) einsum.dimensions.insert(einsum.dimensions.end(), {{"S", window()}, {"Q", image()}});
  const workload::Rank x{{{0, dice(1, 3)}, {1, dice(1, 3)}}};
  workload::Dataspace weights{"Weights", {{{{0, 1}}}, {{{2, 1}}}, {{{3, 1}}}}, false};
  workload::Dataspace inputs{"Inputs", {x, {{{3, 1}}}}, false};
  workload::Dataspace outputs{"Outputs", {{{{1, 1}}}, {{{2, 1}}}}, true};
  if (square) {
    weights.ranks.push_back({{{4, 1}}});
    inputs.ranks.push_back({{{4, dice(1, 2)}, {5, dice(1, 2)}}});
    outputs.ranks.push_back({{{5, 1}}});
  }
  einsum.dataspaces = {weights, inputs, outputs};
  return einsum;
}

// A convolution of one to three axes, strided and dilated: plain, grouped, depthwise or transposed (its outputs
// overlap).
inline workload::Einsum random_window(Dice& dice) {
  workload::Einsum einsum;
  einsum.name = "window";
  workload::Dataspace weights{"Weights", {}, false}, inputs{"Inputs", {}, false}, outputs{"Outputs", {}, true};
  const auto dimension = [&](std::string name, base::Count bound) {
    einsum.dimensions.push_back({std::move(name), bound});
    return static_cast<int>(einsum.dimensions.size()) - 1;
  };
  const auto along = [](workload::Dataspace& dataspace, int d) { dataspace.ranks.push_back({{{d, 1}}}); };
  const bool transposed = dice.once_in(4);
  const int axes = static_cast<int>(dice(1, 3));
  for (int axis = 0; axis < axes; ++axis) {
    const int window = dimension("R" + std::to_string(axis), dice(1, 3));
    const int image = dimension("P" + std::to_string(axis), dice.pick({1, 2, 4, 6}));
    (transposed ? outputs : inputs).ranks.push_back({{{window, dice(1, 2)}, {image, dice(1, 3)}}});
    along(transposed ? inputs : outputs, image);
    along(weights, window);
  }
  const base::Count kind = dice(0, 2);
  if (kind != 0) {  // groups, or channels of a depthwise convolution
    const int group = dimension("G", dice(1, 3));
    for (workload::Dataspace* dataspace : {&weights, &inputs, &outputs}) along(*dataspace, group);
  }
  if (kind != 1) {
    const int from = dimension("C", dice(1, 3)), to = dimension("K", dice(1, 2));
    along(weights, from), along(inputs, from);
    along(weights, to), along(outputs, to);
  }
  einsum.dataspaces = {weights, inputs, outputs};
  return einsum;
}

// Any split of the bounds over `storages` levels, any orders; every fan-out at most `largest_fanout`.
// Everything is kept where `keep_all`; otherwise anywhere, and always at the outermost storage.
inline Mapping random_mapping(Dice& dice, const workload::Einsum& einsum, int storages, bool keep_all = true,
                              base::Count largest_fanout = 8) {
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const auto all = static_cast<std::uint32_t>((1u << einsum.dataspaces.size()) - 1);
  Mapping mapping;
  std::vector<base::Count> fanout(storages, 1);
  for (int i = 0; i < storages; ++i) {
    LevelMapping level;
    level.temporal.assign(dimensions, 1);
    level.spatial.assign(dimensions, 1);
    level.temporal_order = dice.order(dimensions);
    level.spatial_order = dice.order(dimensions);
    level.split = static_cast<int>(dice(0, dimensions));
    level.keep = keep_all || i + 1 == storages ? all : static_cast<std::uint32_t>(dice(0, all));
    mapping.levels.push_back(std::move(level));
  }
  for (int d = 0; d < dimensions; ++d)
    for (const auto& [prime, exponent] : base::prime_factors(einsum.dimensions[d].bound))
      for (int e = 0; e < exponent; ++e) {
        const int i = static_cast<int>(dice(0, storages - 1));
        const bool spatial = dice(0, 1) == 1 && fanout[i] * prime <= largest_fanout;
        if (spatial) fanout[i] *= prime;
        (spatial ? mapping.levels[i].spatial : mapping.levels[i].temporal)[d] *= prime;
      }
  return mapping;
}

struct ChipChoices {
  int fewest_storages = 2;
  int most_storages = 4;
  base::Count largest_fanout_side = 4;
  bool bandwidths = true;
  bool networks = true;
};

// Capacities from a few words to unlimited (the outermost always is), fan-outs X and Y, energies in
// hundredths of a pJ, blocks of 1 to 8 words, bandwidths, leakage, latencies, explicit networks.
inline machine::Chip random_chip(Dice& dice, const ChipChoices& choices = {}) {
  static constexpr const char* kNames[] = {"Inner", "Middle", "Outer", "Last"};
  machine::Chip chip;
  chip.name = "random";
  const int storages = static_cast<int>(dice(choices.fewest_storages, choices.most_storages));
  chip.storages.resize(storages);
  base::Count x = 1, y = 1;
  for (int i = storages - 1; i >= 0; --i) {
    machine::Storage& storage = chip.storages[i];
    const bool outermost = i + 1 == storages;
    storage.name = outermost ? "DRAM" : kNames[i];
    storage.class_name = outermost ? "DRAM" : "SRAM";
    storage.is_dram = outermost;
    storage.mesh_x = x;
    storage.mesh_y = y;
    storage.instances = x * y;
    storage.block_size = dice.pick({1, 1, 2, 4, 8});
    if (storage.instances > 1 && dice.once_in(4))
      storage.cluster_size = storage.instances % 2 == 0 ? 2 : storage.instances;
    if (!outermost && !dice.once_in(4)) storage.capacity_words = dice.pick({1, 2, 4, 8, 16, 24, 48, 96});
    if (storage.capacity_words && dice.once_in(6)) storage.multiple_buffering = 2;
    const auto bandwidth = [&]() -> std::optional<double> {
      if (!choices.bandwidths || dice(0, 1) == 0) return std::nullopt;
      return static_cast<double>(dice.pick({1, 2, 3, 4, 8, 16})) / 2;
    };
    storage.read_words_per_cycle = bandwidth();
    storage.write_words_per_cycle = bandwidth();
    storage.shared_words_per_cycle = dice.once_in(4) ? bandwidth() : std::nullopt;
    storage.energy.read_pj = dice.hundredths(0, 900);
    storage.energy.write_pj = dice.hundredths(0, 900);
    storage.energy.update_pj = dice.hundredths(0, 900);
    storage.energy.leak_pj_per_cycle = dice.once_in(2) ? dice.hundredths(0, 50) : 0;
    if (dice.once_in(3)) storage.network_fill_latency_cycles = dice(0, 3);
    if (dice.once_in(3)) storage.network_drain_latency_cycles = dice(0, 3);
    if (choices.networks && dice.once_in(4)) {
      machine::Network network;
      network.name = storage.name + "_network";
      for (base::Count destinations = 1, widest = dice.pick({1, 2, 4, 16}); destinations <= widest; ++destinations)
        network.energy_pj[network.action_name][destinations] = dice.hundredths(1, 300);
      storage.network_read = network.name;
      if (dice(0, 1) == 1) storage.network_update = network.name;
      chip.networks.push_back(std::move(network));
    }
    x *= dice.once_in(2) ? dice(1, choices.largest_fanout_side) : 1;
    y *= dice.once_in(2) ? dice(1, choices.largest_fanout_side) : 1;
  }
  chip.compute.name = "MAC";
  chip.compute.class_name = "intmac";
  chip.compute.mesh_x = x;
  chip.compute.mesh_y = y;
  chip.compute.instances = x * y;
  chip.compute.compute_pj = dice.hundredths(0, 200);
  chip.compute.leak_pj_per_cycle = dice.hundredths(0, 20);
  return chip;
}

// The one mapping that every chip above can run: all loops at the outermost storage, which keeps all.
inline Mapping everything_outermost(const workload::Einsum& einsum, const machine::Chip& chip) {
  const std::size_t dimensions = einsum.dimensions.size();
  LevelMapping level;
  level.temporal.assign(dimensions, 1);
  level.spatial.assign(dimensions, 1);
  level.temporal_order.resize(dimensions);
  std::iota(level.temporal_order.begin(), level.temporal_order.end(), 0);
  level.spatial_order = level.temporal_order;
  Mapping mapping;
  mapping.levels.assign(chip.storages.size(), level);
  mapping.levels.back().keep = static_cast<std::uint32_t>((1u << einsum.dataspaces.size()) - 1);
  for (std::size_t d = 0; d < dimensions; ++d) mapping.levels.back().temporal[d] = einsum.dimensions[d].bound;
  return mapping;
}

// A mapping that fits: random factors, spatial only where the mesh has room, and dataspaces dropped from
// storages that their tiles overfill.
inline Mapping random_legal_mapping(Dice& dice, const workload::Einsum& einsum, const machine::Chip& chip) {
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const int storages = static_cast<int>(chip.storages.size());
  Mapping mapping = everything_outermost(einsum, chip);
  const std::uint32_t all = mapping.levels.back().keep;
  for (LevelMapping& level : mapping.levels) {
    level.temporal.assign(dimensions, 1);
    level.temporal_order = dice.order(dimensions);
  }
  std::vector<std::uint32_t> along_x(storages);
  std::vector<base::Count> used_x(storages, 1), used_y(storages, 1);
  for (std::uint32_t& side : along_x) side = static_cast<std::uint32_t>(dice(0, (1 << dimensions) - 1));
  for (int d = 0; d < dimensions; ++d)
    for (const auto& [prime, exponent] : base::prime_factors(einsum.dimensions[d].bound))
      for (int e = 0; e < exponent; ++e) {
        const int i = static_cast<int>(dice(0, storages - 1));
        const bool x = along_x[i] >> d & 1;
        base::Count& used = x ? used_x[i] : used_y[i];
        const bool spatial = dice(0, 2) > 0 && used * prime <= (x ? chip.fanout_x(i) : chip.fanout_y(i));
        if (spatial) used *= prime;
        (spatial ? mapping.levels[i].spatial : mapping.levels[i].temporal)[d] *= prime;
      }
  std::vector<base::Count> extents(dimensions, 1);
  for (int i = 0; i < storages; ++i) {
    LevelMapping& level = mapping.levels[i];
    const std::vector<int> order = dice.order(dimensions);
    level.spatial_order.clear();
    for (const bool x : {true, false})
      for (const int d : order)
        if ((along_x[i] >> d & 1) == x) level.spatial_order.push_back(d);
    level.split = __builtin_popcount(along_x[i]);
    for (int d = 0; d < dimensions; ++d) extents[d] *= level.spatial[d] * level.temporal[d];
    if (i + 1 == storages) break;
    level.keep = static_cast<std::uint32_t>(dice(0, all));
    const auto words = [&] {
      base::Count sum = 0;
      for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s)
        if (level.keep >> s & 1) sum += einsum.volume(static_cast<int>(s), extents);
      return sum;
    };
    const std::optional<base::Count> usable = chip.usable_words(i);
    while (usable && words() > *usable) level.keep &= level.keep - 1;
  }
  return is_legal(einsum, chip, mapping) ? mapping : everything_outermost(einsum, chip);
}

}  // namespace orrery::nest::testing
