#include "orrery/engines/nest/model/accounting.h"

#include <algorithm>

namespace orrery::nest {

std::vector<PricedLevel> priced_levels(const workload::Einsum& einsum, const machine::Chip& chip,
                                       const ModelOptions& options, const std::vector<ReuseRules>& reuse) {
  std::vector<PricedLevel> levels;
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    const machine::Storage& storage = chip.storages[i];
    PricedLevel level;
    level.units = units_of(einsum, storage.word_bits);
    const double word = static_cast<double>(level.units.word);
    level.read_pj = storage.energy.read_pj;
    level.write_pj = storage.energy.write_pj;
    level.update_pj = storage.energy.update_pj;
    level.block = static_cast<double>(storage.block_size) * word;
    if (options.fractional_blocks) {
      for (double* pj : {&level.read_pj, &level.write_pj, &level.update_pj}) *pj /= level.block;
      level.block = 1;
    }
    if (!storage.pass_through || options.charge_pass_through)
      level.leak_pj_per_cycle = storage.energy.leak_pj_per_cycle;
    level.read_limit = storage.read_words_per_cycle.value_or(0) * word;
    level.write_limit = storage.write_words_per_cycle.value_or(0) * word;
    level.shared_limit = storage.shared_words_per_cycle.value_or(0) * word;
    if (storage.cluster_size > 1) level.clusters = std::max<base::Count>(1, storage.instances / storage.cluster_size);
    if (!reuse.empty()) level.rules = reuse[i];
    level.drains = options.count_drain_reads;
    levels.push_back(level);
  }
  return levels;
}

}  // namespace orrery::nest
