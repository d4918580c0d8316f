// What it runs on: a chip as the `nest` engine sees it.
//
// A chip is a chain of storages, outermost (DRAM) to innermost, ending in compute units. `instances`
// of a level grow inwards; the ratio of the meshes of two neighbouring levels is the fan-out between
// them. A level may be a pure fan-out: a storage that a reader creates for a container with a mesh (`pass_through`). It
// keeps nothing and has no loops over time.
//
// All figures are per instance. A word is the level's own `word_bits`.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::machine {

// Energy in pJ of one action on one *block* (`block_size` words) of one instance; leak per cycle.
struct ActionEnergies {
  double read_pj = 0;
  double write_pj = 0;   // a fill from above
  double update_pj = 0;  // a partial sum written from below
  double leak_pj_per_cycle = 0;
};

struct Storage {
  std::string name;
  std::string class_name;  // as the user wrote it; "DRAM" inside makes `is_dram`
  bool is_dram = false;
  bool pass_through = false;  // a fan-out without a store of its own

  int word_bits = 16;
  base::Count block_size = 1;                  // words moved together; one action's energy buys a block
  base::Count cluster_size = 1;                // instances that share each access, and its energy
  std::optional<base::Count> capacity_words;   // as described; nothing: unlimited
  double multiple_buffering = 1;               // usable words = floor(capacity_words / multiple_buffering)
  double min_utilization = 0;                  // least share of the usable words that must be used
  std::optional<double> read_words_per_cycle;  // nothing: unlimited
  std::optional<double> write_words_per_cycle;
  std::optional<double> shared_words_per_cycle;  // reads and writes together

  base::Count instances = 1;
  base::Count mesh_x = 1;  // instances = mesh_x * mesh_y
  base::Count mesh_y = 1;

  base::Count network_fill_latency_cycles = 0;
  base::Count network_drain_latency_cycles = 0;
  // Names of explicit networks (Chip::networks) that carry this level's traffic; empty: implied, free.
  std::string network_read, network_update, network_fill, network_drain;

  ActionEnergies energy;
  bool energy_from_user = false;  // attribute `vector_access_energy`: the energy of every access; leakage is 0
  std::optional<double> area_um2;

  base::Location where;           // the node that describes it
  base::Location capacity_where;  // the attribute that gives the capacity
  base::Location read_bandwidth_where, write_bandwidth_where, shared_bandwidth_where;  // those that give bandwidths

  // How many times an access is paid for when `used` instances make it at once: the clusters in use, among which the
  // instances in use are spread evenly.
  base::Count paying(base::Count used) const {
    return cluster_size <= 1 ? used : std::min(used, std::max<base::Count>(1, instances / cluster_size));
  }
};

struct Compute {
  std::string name;
  std::string class_name;
  int word_bits = 16;
  base::Count instances = 1;
  base::Count mesh_x = 1;
  base::Count mesh_y = 1;
  double compute_pj = 0;
  double leak_pj_per_cycle = 0;
  std::optional<double> area_um2;
  base::Location where;
};

// An explicit multicast network. `energy_pj[action][destinations]` is one transfer's energy; `action`
// is `action_name`, or `action_name_<dataspace>` where `per_dataspace`.
struct Network {
  std::string name;
  std::string class_name;
  int word_bits = 16;
  std::string action_name = "transfer";
  bool per_dataspace = false;
  base::Count fill_latency_cycles = 0;
  base::Count drain_latency_cycles = 0;
  std::map<std::string, std::map<base::Count, double>> energy_pj;
  std::optional<double> area_um2;
  base::Location where;
};

struct Chip {
  std::string name;
  std::vector<Storage> storages;  // innermost first: the index is the level of docs/model/nest.md
  Compute compute;
  std::vector<Network> networks;
  double cycle_seconds = 1e-9;

  int storage_index(std::string_view name) const;       // or -1
  const Network* network(std::string_view name) const;  // or null

  // Words that storage `level` can hold at once, after multiple buffering; nothing: unlimited.
  std::optional<base::Count> usable_words(int level) const;

  // Fan-out between storage `level` and the level inside it (level 0: the compute units).
  base::Count fanout_x(int level) const;
  base::Count fanout_y(int level) const;
};

// Finds meshes that do not divide, instances != mesh_x * mesh_y, widths that are not a whole number of
// blocks, missing compute. Codes O0310 to O0319.
void check(const Chip& chip, base::Diagnostics& found);

}  // namespace orrery::machine
