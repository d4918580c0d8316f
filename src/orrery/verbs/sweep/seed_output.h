// A study of hardware configurations as Timeloop-Experiments' scripts write it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {

// Energies, cycles and energy-delay products summed over layers, times their heads unless `ignore_heads`; utilization
// in percent, averaged over layers and heads.
struct SeedMetrics {
  std::size_t at = 0;  // in the answer's points
  double energy_pj = 0, cycles = 0, utilization = 0, edp = 0;
};
std::vector<SeedMetrics> seed_metrics(const SweepPrinted& printed, bool ignore_heads);

// `hw_config.json` of a configuration: its keys, and `metrics`.
std::string seed_config_json(const sweep::SweepAnswer& answer, const SeedMetrics& metrics);
// All configurations, the best by each metric, and with `table` a table by rising EDP.
std::string seed_summary(const sweep::SweepAnswer& answer, const std::vector<SeedMetrics>& metrics, bool table);

}  // namespace orrery::verbs
