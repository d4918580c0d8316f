#include "orrery/verbs/map/fuse/group_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace orrery::verbs {
namespace {

double words_of(const LayerQuestion& question, int s) {
  std::vector<base::Count> bounds;
  for (const workload::Dimension& d : question.einsum.dimensions) bounds.push_back(d.bound);
  return static_cast<double>(question.einsum.volume(s, bounds));
}

double words_of(const LayerQuestion& question, const char* name) {
  return words_of(question, question.einsum.dataspace_index(name));
}

// Cycles that words take through the ports of a storage, one port after the other: at least what they take.
double most_cycles(const machine::Storage& storage, double words) {
  double sum = 0;
  for (const auto& rate : {storage.read_words_per_cycle, storage.write_words_per_cycle, storage.shared_words_per_cycle})
    if (rate) sum += words / *rate;
  return sum;
}

// What moving a matrix once between the exchange level and the outside takes at most, leakage included.
double moving(const LayerQuestion& question, double words, bool in) {
  const machine::Chip& chip = *question.chip;
  const int exchange = exchange_level(chip);
  double energy = 0, cycles = 0, leakage = chip.compute.leak_pj_per_cycle * static_cast<double>(chip.compute.instances);
  for (std::size_t l = 0; l < chip.storages.size(); ++l) {
    const machine::Storage& storage = chip.storages[l];
    leakage += storage.energy.leak_pj_per_cycle * static_cast<double>(storage.instances);
    if (static_cast<int>(l) < exchange || storage.pass_through) continue;
    const double blocks = std::ceil(words / static_cast<double>(storage.block_size));
    const bool outside = static_cast<int>(l) > exchange;
    if (in) energy += blocks * ((outside ? storage.energy.read_pj : 0) + storage.energy.write_pj);
    if (!in) energy += blocks * ((outside ? storage.energy.update_pj : 0) + storage.energy.read_pj);
    cycles += most_cycles(storage, words);
  }
  return energy + leakage * cycles;
}

// Cycles that an operator takes at least: its work, and the words that do move outside.
double least_cycles(const LayerQuestion& question, bool takes, bool keeps) {
  const machine::Chip& chip = *question.chip;
  const machine::Storage& outside = chip.storages.back();
  double read = 0, written = 0, work = 1;
  for (const workload::Dimension& d : question.einsum.dimensions) work *= static_cast<double>(d.bound);
  for (int s = 0; s < static_cast<int>(question.einsum.dataspaces.size()); ++s) {
    const workload::Dataspace& one = question.einsum.dataspaces[static_cast<std::size_t>(s)];
    if ((takes && one.name == "Inputs") || (keeps && one.name == "Outputs") || one.bits > 0) continue;
    (one.read_write ? written : read) += words_of(question, s);
  }
  double least = work / static_cast<double>(chip.compute.instances);
  if (outside.read_words_per_cycle) least = std::max(least, read / *outside.read_words_per_cycle);
  if (outside.write_words_per_cycle) least = std::max(least, written / *outside.write_words_per_cycle);
  if (outside.shared_words_per_cycle) least = std::max(least, (read + written) / *outside.shared_words_per_cycle);
  return least;
}

bool stays_out(const LayerQuestion& question, const char* name) {
  const int exchange = exchange_level(*question.chip);
  const int s = question.einsum.dataspace_index(name);
  return std::any_of(
      question.space.constraints.begin(), question.space.constraints.end(), [&](const nest::Constraint& one) {
        return one.kind == nest::Constraint::Kind::kKeep && one.level == exchange && one.dataspace == s && !one.keep;
      });
}

// Least sums over all ways to make groups, of what `of(place, takes, keeps)` says.
template <typename Of>
double least_sum(const std::vector<ChainLink>& chain, bool fuse, const Of& of) {
  std::vector<double> least(chain.size() + 1, std::numeric_limits<double>::infinity());
  least[0] = 0;
  for (std::size_t first = 0; first < chain.size(); ++first) {
    double sum = least[first];  // of a group from `first` on that goes on
    for (std::size_t i = first; i < chain.size(); ++i) {
      const auto instances = static_cast<double>(chain[i].question.instances);
      least[i + 1] = std::min(least[i + 1], sum + instances * of(i, i > first, false));
      if (!fuse || i + 1 == chain.size() || !may_group(chain, first, i + 1)) break;
      sum += instances * of(i, i > first, !chain[i].also_out);
    }
  }
  return least.back();
}

}  // namespace

bool may_group(const std::vector<ChainLink>& chain, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    const machine::Chip& chip = *chain[i].question.chip;
    const machine::Chip& other = *chain[first].question.chip;
    const int level = exchange_level(chip), same = exchange_level(other);
    if (level < 0 || same < 0 ||
        chip.storages[static_cast<std::size_t>(level)].name != other.storages[static_cast<std::size_t>(same)].name)
      return false;
    if (i > first && stays_out(chain[i].question, "Inputs")) return false;
    if (i < last && (!chain[i].hands_on || stays_out(chain[i].question, "Outputs"))) return false;
  }
  return true;
}

double chain_bound(const std::vector<ChainLink>& chain, const std::vector<MappedLayer>& mapped,
                   const GroupOptions& how) {
  const double energy = least_sum(chain, how.fuse, [&](std::size_t i, bool takes, bool keeps) {
    const LayerQuestion& question = chain[i].question;
    double least = mapped[chain.size() + i].optimum.certificate.lower_bound;
    if (takes) least -= moving(question, words_of(question, "Inputs"), true);
    if (keeps) least -= moving(question, words_of(question, "Outputs"), false);
    return std::max(0.0, least);
  });
  const double cycles = least_sum(chain, how.fuse, [&](std::size_t i, bool takes, bool keeps) {
    return least_cycles(chain[i].question, takes, keeps);
  });
  double alone = 0;  // of operators by themselves: each for the goal
  for (std::size_t i = 0; i < chain.size() && !how.fuse; ++i) {
    const double least = mapped[i].optimum.certificate.lower_bound;
    alone +=
        static_cast<double>(chain[i].question.instances) * (how.goal == fused::Goal::kEdp ? std::sqrt(least) : least);
  }
  if (how.goal == fused::Goal::kEdp) return std::max(energy * cycles / 1e12, alone * alone);
  return std::max(how.goal == fused::Goal::kEnergy ? energy : cycles, alone);
}

}  // namespace orrery::verbs
