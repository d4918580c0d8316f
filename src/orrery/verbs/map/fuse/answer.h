// What `map --fuse` answers: a block of einsums on a chip, as one loop tree.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// A part of a loop tree, outside in: what stands in a list stands in that order; a sequence runs its parts one after
// the other, others run side by side, each of them a round of the loops around them behind the one before.
struct TreeNode {
  enum class Kind { kHold, kLoop, kSpread, kCompute, kSequence, kBeside };

  Kind kind = Kind::kHold;
  std::string name;       // a tensor; a rank variable; an einsum
  std::string where;      // a storage (of a model's block, of loops too); a fan-out; a unit
  std::string axis;       // of a spread of a model's block: x or y
  bool shared = false;    // of a hold: einsums hand the tensor on here; of a loop: several einsums run in it
  base::Count count = 1;  // of a loop; of what runs side by side: how many at once, list i in turns with i + count
  base::Count tile = 1;   // of a loop: what of the variable is left inside of it
  double bits = 0;        // of a hold: of an instance of the storage
  // Of AccelForge's files: of a tile above a sequence that one einsum keeps for itself, that einsum; of a loop that
  // einsums share, its variable in each of them, if they differ.
  std::string of;
  std::vector<std::string> variables;
  std::vector<std::vector<TreeNode>> inside;  // of a loop one list, of others one for each part
  base::Location from;                        // in the file that it was read from
};

struct BlockPoint {
  double energy = 0, latency = 0;
  std::vector<TreeNode> tree;
};

// What one einsum takes.
struct BlockEinsum {
  std::string name, unit, bound_by;
  double energy = 0, latency = 0, unfused_energy = 0, unfused_latency = 0;
};

// What is moved, and what that takes: of a storage, and of a tensor in a storage.
struct BlockTraffic {
  std::string storage, tensor;  // tensor: empty for all of a storage
  double read_bits = 0, written_bits = 0, energy = 0;
};

// How full a storage gets, and whose run that is.
struct BlockUse {
  std::string storage, first, last;
  double bits = 0;
  std::optional<double> capacity_bits;  // nothing: unlimited
};

// Where a tensor is handed on from einsum to einsum.
struct BlockExchange {
  std::string tensor, storage;
  std::vector<std::string> loops;  // rank variables of the loops above its tile, outside in
  double tile_bits = 0, bits = 0;
  std::optional<std::pair<double, double>> outside;  // of the best block that hands it on in the outermost storage
};

// The best block with a tensor handed on in a storage of the user's choice; none: nothing is allowed.
struct BlockWhy {
  std::string tensor, storage;
  std::optional<std::pair<double, double>> best;  // energy, latency
};

// Bytes through the ports of the outermost storage, and operations for each of them.
struct BlockRoofline {
  std::string storage;
  double bytes = 0, intensity = 0;
  std::optional<double> unfused_bytes, unfused_intensity;
  std::optional<double> ridge;  // below it the ports take longer than the units; nothing: they have no limit
};

// Weights that stay on the chip from run to run, and what the block takes without.
struct BlockResident {
  std::string storage;
  std::vector<std::string> operators;  // whose weights stay; empty: none has room, or nothing is gained
  double bits = 0;                     // of all of them, in all blocks
  double energy = 0, latency = 0;      // of the best whose weights are read in every run
};

struct BlockAnswer {
  bool native = false;             // a model's block on a chip: energies in pJ, latencies in cycles
  std::string title;               // of a native one
  double seconds = 0;              // of a native one's best; each operator at its chip's clock
  std::optional<double> area_um2;  // of a native one: the largest of its chips, where all have one
  std::vector<std::string> notes;
  std::string objective;
  std::optional<BlockPoint> best;
  std::vector<BlockPoint> front;                     // with --pareto
  std::optional<std::pair<double, double>> unfused;  // energy, latency of the best without fusion
  std::vector<BlockEinsum> einsums;
  std::vector<BlockTraffic> storages, traffic;
  double compute_energy = 0, leakage_energy = 0;
  std::vector<BlockUse> use;
  std::optional<BlockRoofline> roofline;  // of a native one
  std::vector<BlockExchange> exchanges;
  std::optional<BlockWhy> why;
  std::optional<BlockResident> resident;  // with --weights-stay
  bool searched = true;                   // false: the tree was given
  std::string infeasible;                 // why there is nothing
  std::vector<std::string> capacities;    // then: what storages hold
  std::vector<MappedLayer> unmapped;      // then: operators of a native one that have no mapping alone
  base::Certificate certificate;
  bool ended_early = false;

  std::vector<std::string> compat;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
