// What a mapping costs. Plain data, filled by engines/nest/model/model.h.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::nest {

// Traffic of one dataspace at one storage, in words per instance of the level.
struct DataspaceCost {
  bool kept = false;
  base::Count tile_words = 0;       // what one instance holds at a time
  base::Count partition_words = 0;  // what one instance sees over the whole run
  base::Count reads = 0;
  base::Count fills = 0;
  base::Count updates = 0;
  double energy_pj = 0;  // all instances, without leakage
};

struct StorageCost {
  std::vector<DataspaceCost> dataspaces;  // as Einsum::dataspaces
  base::Count utilized_instances = 1;
  base::Count cycles = 0;  // what this level alone needs, its bandwidth considered
  double throttle = 1;     // compute cycles it allows per cycle, at most 1
  double leakage_pj = 0;   // all instances
  double energy_pj = 0;    // all instances, leakage included
};

struct ComputeCost {
  base::Count operations = 0;
  base::Count utilized_instances = 1;
  base::Count cycles = 0;
  double leakage_pj = 0;
  double energy_pj = 0;  // leakage included
};

// Traffic on one explicit network: words entering it and the destinations each reaches.
struct NetworkCost {
  std::vector<base::Count> transfers;       // per dataspace, all instances
  std::vector<base::Count> destinations;    // per dataspace
  std::vector<double> dataspace_energy_pj;  // per dataspace, all instances
  double energy_pj = 0;
};

// Energies sum: energy_pj = compute + storages + networks.
struct Evaluation {
  std::vector<StorageCost> storages;  // innermost first, as Chip::storages
  ComputeCost compute;
  std::vector<NetworkCost> networks;  // as Chip::networks
  double energy_pj = 0;
  base::Count cycles = 0;         // with network latencies
  base::Count active_cycles = 0;  // without them; leakage lasts so long
  double utilization = 0;         // operations / (compute units * cycles), 0 to 1
  double edp_j_cycles = 0;        // energy_pj * cycles / 1e12

  // The cycles where narrow ports need more than a Count holds; else 0. Counts of cycles then saturate, while energies
  // and the product use the cycles needed, so that searches compare correctly. Such an evaluation is never an answer
  // (countable.h).
  double beyond_cycles = 0;
  double needed_cycles() const { return beyond_cycles > 0 ? beyond_cycles : static_cast<double>(cycles); }
};

}  // namespace orrery::nest
