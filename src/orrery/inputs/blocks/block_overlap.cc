#include "orrery/inputs/blocks/block_overlap.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace orrery::verbs {
namespace {

// What a part takes of a round: cycles alone, and of each resource.
struct Demand {
  double alone = 0;
  std::map<std::string, double> of;
};

std::vector<Demand> demands_of(const Chain& chain, const Group& group) {
  const auto turns = static_cast<double>(group.turns.all());
  std::vector<Demand> out;
  for (const GroupPart& part : group.parts) {
    Demand one{static_cast<double>(part.cost.cycles) / turns, busy_of(chain, part)};
    for (auto& [resource, cycles] : one.of) cycles /= turns;
    out.push_back(std::move(one));
  }
  return out;
}

// A thread that is at work: the parts it has left, how much of the first of them, and the cycles that they take alone.
struct AtWork {
  std::vector<std::size_t> parts;  // the next one last
  double left = 1, alone = 0;
};

double step(const std::vector<Demand>& demands, std::vector<AtWork> threads) {
  double cycles = 0;
  std::erase_if(threads, [](const AtWork& thread) { return thread.parts.empty(); });
  while (!threads.empty()) {
    double most = 0;
    std::map<std::string, double> load;
    for (const AtWork& thread : threads) {
      const Demand& now = demands[thread.parts.back()];
      most = std::max(most, thread.alone);
      for (const auto& [resource, busy] : now.of) load[resource] += thread.alone * busy / now.alone;
    }
    for (const auto& [resource, busy] : load) most = std::max(most, busy);
    double until = std::numeric_limits<double>::infinity();  // the first part ends
    for (const AtWork& thread : threads)
      until = std::min(until, thread.left * demands[thread.parts.back()].alone * most / thread.alone);
    cycles += until;
    for (AtWork& thread : threads) {
      const double done = until * thread.alone / most;
      thread.left -= done / demands[thread.parts.back()].alone;
      thread.alone -= done;
      if (thread.left > 1e-12) continue;
      thread.left = 1;
      thread.parts.pop_back();
    }
    std::erase_if(threads, [](const AtWork& thread) { return thread.parts.empty(); });
  }
  return cycles;
}

}  // namespace

std::map<std::string, double> busy_of(const Chain& chain, const GroupPart& part) {
  const LayerQuestion& question = chain[part.place].question;
  const machine::Chip& chip = *question.chip;
  std::map<std::string, double> out{
      {chip.name + "." + chip.compute.name, static_cast<double>(part.cost.compute.cycles)}};
  for (std::size_t l = 0; l < chip.storages.size(); ++l) {
    const machine::Storage& storage = chip.storages[l];
    const nest::StorageCost& cost = part.cost.storages[l];
    double read = 0, written = 0;
    for (std::size_t s = 0; s < cost.dataspaces.size(); ++s) {
      const nest::DataspaceCost& one = cost.dataspaces[s];
      const base::Count bits = question.einsum.dataspaces[s].bits;
      const double words = bits > 0 ? static_cast<double>(bits) / storage.word_bits : 1;
      read += words * static_cast<double>(one.reads);
      written += words * static_cast<double>(one.fills + one.updates);
    }
    std::map<std::string, double> ports;
    if (storage.read_words_per_cycle) ports[storage.name + " reads"] = read / *storage.read_words_per_cycle;
    if (storage.write_words_per_cycle) ports[storage.name + " writes"] = written / *storage.write_words_per_cycle;
    if (storage.shared_words_per_cycle) ports[storage.name] = (read + written) / *storage.shared_words_per_cycle;
    double most = 0;
    for (const auto& [port, cycles] : ports) most = std::max(most, cycles);
    // Where a port holds the operator up, its slowest instance does, which may have more to move than the mean one.
    const double slowest = cost.throttle < 1 && most > 0 ? static_cast<double>(cost.cycles) / most : 1;
    for (const auto& [port, cycles] : ports)
      out[port] = std::min(cycles * slowest, static_cast<double>(part.cost.cycles));
  }
  return out;
}

double staged_cycles(const Chain& chain, const Group& group) {
  const std::vector<Demand> demands = demands_of(chain, group);
  const auto depth = static_cast<base::Count>(group.stages.size());
  const base::Count rounds = chain[group.parts.front().place].question.instances * group.turns.all();
  double cycles = 0;
  for (base::Count k = 0; k < rounds + depth - 1; ++k) {
    const base::Count first = std::max<base::Count>(0, k - rounds + 1), behind = std::min(depth, k + 1);
    std::vector<AtWork> threads(group.threads);
    for (auto s = static_cast<std::size_t>(behind); s-- > static_cast<std::size_t>(first);) {
      AtWork& thread = threads[s % group.threads];
      for (std::size_t p = s + 1 < group.stages.size() ? group.stages[s + 1] : group.parts.size();
           p-- > group.stages[s];) {
        thread.parts.push_back(p);
        thread.alone += demands[p].alone;
      }
    }
    const base::Count alike = behind - first == depth ? rounds - depth + 1 : 1;
    cycles += static_cast<double>(alike) * step(demands, std::move(threads));
    k += alike - 1;
  }
  return cycles;
}

bool may_begin_stage(const Chain& chain, const Group& group, std::size_t part) {
  if (part == 0 || part >= group.parts.size() || !group.parts[part - 1].hands_on || !group.parts[part].takes)
    return false;
  const bool in_place = std::any_of(group.parts.begin(), group.parts.end(),
                                    [&](const GroupPart& one) { return chain[one.place].in_place != 0; });
  return part == 1 || !in_place;
}

void choose_stages(const Chain& chain, Group& group) {
  Group best = group;
  const std::size_t cuts = group.parts.size() - 1;
  for (std::size_t bits = 1; bits < std::size_t{1} << cuts; ++bits) {
    Group other = group;
    other.stages = {0};
    bool may = true;
    for (std::size_t p = 1; p <= cuts; ++p) {
      if ((bits >> (p - 1) & 1U) == 0) continue;
      may = may && may_begin_stage(chain, group, p);
      other.stages.push_back(p);
    }
    for (other.threads = 2; may && other.threads <= other.stages.size(); ++other.threads) {
      if (!fits(chain, other)) continue;
      add_up(chain, other);
      if (other.cycles < best.cycles * (1 - 1e-9)) best = other;
    }
  }
  group = std::move(best);
}

}  // namespace orrery::verbs
