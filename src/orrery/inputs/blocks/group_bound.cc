#include "orrery/inputs/blocks/group_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace orrery::verbs {
namespace {

double words_of(const LayerQuestion& question, const char* name) {
  return static_cast<double>(words_of(question, question.einsum.dataspace_index(name)));
}

// Cycles that words take through the ports of a storage, one port after the other: at least what they take.
double most_cycles(const machine::Storage& storage, double words) {
  double sum = 0;
  for (const auto& rate : {storage.read_words_per_cycle, storage.write_words_per_cycle, storage.shared_words_per_cycle})
    if (rate) sum += std::ceil(words / *rate);
  return sum;
}

// The most that a word on its way from the outermost storage to one inside takes on explicit networks. One that is
// named for one direction may carry the other, too.
double network_pj(const machine::Chip& chip, std::size_t level) {
  double sum = 0;
  for (std::size_t l = chip.storages.size() - 1; l > level; --l) {
    const machine::Storage &outer = chip.storages[l], &inner = chip.storages[l - 1];
    double most = 0;
    for (const std::string* name :
         {&outer.network_read, &outer.network_update, &inner.network_fill, &inner.network_drain})
      if (const machine::Network* network = name->empty() ? nullptr : chip.network(*name))
        for (const auto& action : network->energy_pj)
          for (const auto& by_destinations : action.second) most = std::max(most, by_destinations.second);
    sum += most;
  }
  return sum;
}

// Least sums over all ways to make groups of the operators from `from` to before `to`, of what
// `of(place, takes, hands on)` says.
template <typename Of>
double least_sum(const Chain& chain, std::size_t from, std::size_t to, bool fuse, const Of& of) {
  std::vector<double> least(to + 1, std::numeric_limits<double>::infinity());
  least[from] = 0;
  for (std::size_t first = from; first < to; ++first) {
    double sum = least[first];  // of a group from `first` on that goes on
    for (std::size_t i = first; i < to; ++i) {
      const auto instances = static_cast<double>(chain[i].question.instances);
      least[i + 1] = std::min(least[i + 1], sum + instances * of(i, i > first, false));
      if (!fuse || i + 1 == to || !may_group(chain, first, i + 1)) break;
      sum += instances * of(i, i > first, true);
    }
  }
  return least.back();
}

// The least cycles. Side by side a stretch of operators that may be joined takes as long as each resource is busy: the
// units of each chip, and the way outside.
double cycles_bound(const Chain& chain, const std::vector<LeastOf>& least, const GroupOptions& how) {
  const auto of = [&](std::size_t i, bool takes, bool hands_on) {
    const bool once = takes && hands_on && least[i].one_sweep > 0;
    return least_cycles(chain[i], takes, hands_on && !chain[i].also_out, once);
  };
  const auto longer = [](const LeastCycles& one) { return std::max({one.work, one.outside, one.inside}); };
  double cycles = 0;
  for (std::size_t from = 0, to = 1; from < chain.length; from = to++) {
    while (to < chain.length && how.fuse && may_group(chain, to - 1, to)) ++to;
    const auto sum = [&](const auto& figure) { return least_sum(chain, from, to, how.fuse, figure); };
    if (!how.overlap || to == from + 1) {
      cycles += sum([&](std::size_t i, bool takes, bool hands_on) { return longer(of(i, takes, hands_on)); });
      continue;
    }
    double busiest = sum([&](std::size_t i, bool takes, bool hands_on) { return of(i, takes, hands_on).outside; });
    for (std::size_t unit = from; unit < to; ++unit)
      busiest = std::max(busiest, sum([&](std::size_t i, bool takes, bool hands_on) {
                           const bool same = chain[i].question.chip->name == chain[unit].question.chip->name;
                           return same ? of(i, takes, hands_on).work : 0.0;
                         }));
    cycles += busiest;
  }
  return cycles;
}

}  // namespace

bool weighs_inside(const LayerQuestion& question, std::size_t level, const char* name) {
  const machine::Chip& chip = *question.chip;
  const double moved = words_of(question, name) * chip.storages[level].energy.write_pj;
  return moved > static_cast<double>(question.einsum.operations()) * chip.compute.compute_pj;
}

double moving_pj(const LayerQuestion& question, std::size_t level, int dataspace) {
  const machine::Chip& chip = *question.chip;
  const auto words = static_cast<double>(words_of(question, dataspace));
  const bool in = !question.einsum.dataspaces[static_cast<std::size_t>(dataspace)].read_write;
  double leakage = chip.compute.leak_pj_per_cycle * static_cast<double>(chip.compute.instances);
  for (const machine::Storage& storage : chip.storages)
    leakage += storage.energy.leak_pj_per_cycle * static_cast<double>(storage.instances);
  // Each instance may have a block of its own that is not full.
  const auto blocks = [&](const machine::Storage& storage) {
    return std::ceil(words / static_cast<double>(storage.block_size)) + static_cast<double>(storage.instances - 1);
  };
  const machine::Storage &inside = chip.storages[level], &outside = chip.storages.back();
  const double energy = in ? blocks(outside) * outside.energy.read_pj + blocks(inside) * inside.energy.write_pj
                           : blocks(outside) * outside.energy.update_pj;
  const double cycles = most_cycles(outside, words) + most_cycles(inside, words);
  return energy + words * network_pj(chip, level) + leakage * cycles;
}

LeastCycles least_cycles(const ChainLink& link, bool takes, bool keeps, bool once) {
  const LayerQuestion& question = link.question;
  const machine::Chip& chip = *question.chip;
  const machine::Storage& outside = chip.storages.back();
  double read = 0, written = 0, work = 1;
  for (const workload::Dimension& d : question.einsum.dimensions)
    if (!once || d.name != "D") work *= static_cast<double>(d.bound);
  for (int s = 0; s < static_cast<int>(question.einsum.dataspaces.size()); ++s) {
    const workload::Dataspace& one = question.einsum.dataspaces[static_cast<std::size_t>(s)];
    if ((takes && one.name == "Inputs") || (keeps && one.name == "Outputs") ||
        (link.weights_stay && one.name == "Weights") || one.bits > 0)
      continue;
    (one.read_write ? written : read) += static_cast<double>(words_of(question, s));
  }
  LeastCycles least{work / static_cast<double>(chip.compute.instances)};
  if (link.weights_stay)
    if (const auto& rate = chip.storages[*link.stay_in].read_words_per_cycle)
      least.inside = words_of(question, "Weights") / *rate;
  if (outside.read_words_per_cycle) least.outside = std::max(least.outside, read / *outside.read_words_per_cycle);
  if (outside.write_words_per_cycle) least.outside = std::max(least.outside, written / *outside.write_words_per_cycle);
  if (outside.shared_words_per_cycle)
    least.outside = std::max(least.outside, (read + written) / *outside.shared_words_per_cycle);
  return least;
}

double chain_bound(const Chain& chain, const std::vector<LeastOf>& least, const GroupOptions& how) {
  const double energy = least_sum(chain, 0, chain.length, how.fuse, [&](std::size_t i, bool takes, bool hands_on) {
    const double sum = least[i].energy[takes][hands_on];
    return takes && hands_on && least[i].one_sweep > 0 ? std::min(sum, least[i].one_sweep) : sum;
  });
  const double cycles = cycles_bound(chain, least, how);
  double alone = 0;  // of operators by themselves: each for the goal
  for (std::size_t i = 0; i < chain.length && !how.fuse; ++i)
    alone += static_cast<double>(chain[i].question.instances) *
             (how.goal == fused::Goal::kEdp ? std::sqrt(least[i].figure) : least[i].figure);
  if (how.goal == fused::Goal::kEdp) return std::max(energy * cycles / 1e12, alone * alone);
  return std::max(how.goal == fused::Goal::kEnergy ? energy : cycles, alone);
}

}  // namespace orrery::verbs
