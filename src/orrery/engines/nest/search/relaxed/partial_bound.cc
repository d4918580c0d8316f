// What crosses a boundary depends on the loops outside of it, and on what is left of the bounds for those inside, but
// not on how they share it: so the model's account of a crossing whose two keepers are known is that of every
// completion. Where the inner keeper is open, each word that operations touch has to cross once.
//
// That holds with links, too, of words whose ranks move with one dimension each: neighbours have what stays, and their
// steps in space are all shorter than those in time. Of windows no crossing is sure, since a slide that is seen through
// its second step only (sliding.cc) may be found at a neighbour.
#include "orrery/engines/nest/search/relaxed/partial_bound.h"

#include <algorithm>
#include <cmath>

#include "orrery/engines/nest/model/touched.h"
#include "orrery/engines/nest/search/lower_bound.h"

namespace orrery::nest {

namespace {

// Ports are worked out in doubles.
double whole(double cycles) {
  return std::ceil(cycles * (1 - 1e-9));
}

}  // namespace

PartialBound::PartialBound(const Model& model, const Space& space) : model_(model), space_(space) {
  double units = 1;
  for (int i = 0; i < space.levels(); ++i) units_.push_back(units *= widest_fanout(model, space, i));
  for (std::size_t s = 0; s < model.einsum().dataspaces.size(); ++s)
    touched_.push_back(model.shape().overlapping[s] ? 0 : touched_words(model.einsum(), static_cast<int>(s)));
}

Key PartialBound::least(const Mapping& mapping, int level, const std::vector<Metric>& objective) {
  model_.evaluate(mapping, scratch_);
  double left = 1;
  for (const base::Count iterations : mapping.levels[level].temporal) left *= static_cast<double>(iterations);
  double cycles = static_cast<double>(scratch_.compute.cycles) / left * whole(left / units_[level]);
  double energy_pj = model_.compute_pj();
  std::uint32_t kept_inside = 0;
  for (int i = level; i < space_.levels(); ++i) {
    const PricedLevel& priced = model_.levels()[i];
    const double instances = static_cast<double>(scratch_.storages[i].utilized_instances);
    double reads = 0, writes = 0;
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      const DataspaceCost& use = scratch_.storages[i].dataspaces[s];
      if (!use.kept) continue;
      const double units = static_cast<double>(priced.units.value[s]);
      if (kept_inside >> s & 1) {
        energy_pj += use.energy_pj;
        reads += units * static_cast<double>(use.reads);
        writes += units * (static_cast<double>(use.fills) + static_cast<double>(use.updates));
        continue;
      }
      const bool read_write = model_.einsum().dataspaces[s].read_write;
      const double fills = units * static_cast<double>(use.fills);
      energy_pj += priced.paying(instances) * priced.blocks(fills) * priced.write_pj;
      energy_pj += units * touched_[s] / priced.widest_block(model_.chip().storages[i]) *
                   (read_write ? priced.update_pj : priced.read_pj);
      (read_write ? writes : reads) += units * touched_[s] / instances;
      writes += fills;
    }
    cycles = std::max(cycles, whole(priced.port_cycles(reads, writes)));
    kept_inside |= mapping.levels[i].keep;
  }
  for (int i = 0; i < space_.levels(); ++i)
    energy_pj +=
        model_.levels()[i].leak_pj_per_cycle * cycles * static_cast<double>(scratch_.storages[i].utilized_instances);
  energy_pj += model_.compute_leak_pj_per_cycle() * cycles * static_cast<double>(scratch_.compute.utilized_instances);
  return key_of(objective, energy_pj, cycles + static_cast<double>(model_.latency_cycles()));
}

Key PartialBound::least(const std::vector<Metric>& objective) {
  const std::size_t dimensions = model_.einsum().dimensions.size();
  const std::vector<base::Count> ones(dimensions, 1);
  Mapping mapping;
  for (int i = 0; i < space_.levels(); ++i) {
    const std::vector<int> order = space_.full_temporal_order(i, {});
    mapping.levels.push_back({ones, order, ones, order, 0, 0, {}, {}});
  }
  LevelMapping& outermost = mapping.levels.back();
  for (std::size_t d = 0; d < dimensions; ++d) outermost.temporal[d] = model_.einsum().dimensions[d].bound;
  outermost.keep = (1u << touched_.size()) - 1;
  for (const std::uint32_t keep : space_.keeps(space_.levels() - 1)) outermost.keep &= keep;
  return least(mapping, space_.levels() - 1, objective);
}

}  // namespace orrery::nest
