// evaluate(einsum, chip, mapping): the only implementation of the `nest` engine's physics.
//
// See model.cc for the formulas and docs/model/nest.md for worked numbers.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/accounting.h"
#include "orrery/engines/nest/model/evaluation.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/model_options.h"
#include "orrery/engines/nest/model/traffic.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

// Cost of `mapping`, which must be legal (see engines/nest/model/legality.h): factors multiply to the bounds, tiles
// fit, fan-outs suffice. Pure and thread-safe. Throws base::OverflowError when a count exceeds 64 bits, and
// InputError when the cycles do (O1005) or a figure of the chip is out of range (describe/machine/ranges.h).
Evaluation evaluate(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                    const ModelOptions& options = {}, const std::vector<ReuseRules>& reuse = {});

// The same for many mappings of one einsum on one chip: what does not depend on the mapping is computed once. Keeps no
// reference to its arguments. Thread-safe.
class Model {
 public:
  Model(const workload::Einsum& einsum, const machine::Chip& chip, const ModelOptions& options = {},
        std::vector<ReuseRules> reuse = {});

  // The cycles may exceed a Count (Evaluation::beyond_cycles).
  Evaluation evaluate(const Mapping& mapping) const;
  // As above into `out`, whose storage is used again.
  void evaluate(const Mapping& mapping, Evaluation& out) const;

  // Whether instances could take words from neighbours in any mapping, were that modelled.
  bool may_link() const;

  const workload::Einsum& einsum() const { return einsum_; }
  const machine::Chip& chip() const { return chip_; }
  const ModelOptions& options() const { return options_; }
  const std::vector<ReuseRules>& reuse() const { return reuse_; }
  const Shape& shape() const { return shape_; }
  // Every storage with its prices, and what the compute units cost: the account that searches share (accounting.h).
  const std::vector<PricedLevel>& levels() const { return levels_; }
  double compute_pj() const { return static_cast<double>(operations_) * chip_.compute.compute_pj; }
  double compute_leak_pj_per_cycle() const {
    return options_.omit_compute_leakage ? 0 : chip_.compute.leak_pj_per_cycle;
  }
  // What the networks add to the cycles of every mapping.
  base::Count latency_cycles() const { return latency_cycles_; }

  // An explicit network between storage `level` and what is inside it.
  struct NetworkUse {
    int network = 0;  // index into Chip::networks
    int level = 0;
    std::vector<std::map<base::Count, double>> tables;  // per dataspace: destinations -> pJ per transfer
  };
  const std::vector<NetworkUse>& network_uses() const { return network_uses_; }
  double network_transfer_pj(const NetworkUse& use, int dataspace, base::Count destinations) const;

 private:
  bool may_link(const Mapping& mapping) const;
  template <typename Number>
  struct Account;
  template <typename Number>
  void settle(const Mapping& mapping, const Account<Number>& account, Evaluation& out) const;
  void settle_totals(base::Count compute_cycles, base::Count compute_instances, base::Count active, double beyond,
                     Evaluation& out) const;
  template <typename Number>
  void settle_networks(const Account<Number>& account, const std::array<int, kMaxDataspaces>& outermost,
                       Evaluation& out) const;
  void evaluate_imperfect(const Mapping& mapping, Evaluation& out) const;
  void add_latencies();

  workload::Einsum einsum_;
  machine::Chip chip_;
  ModelOptions options_;
  std::vector<ReuseRules> reuse_;
  Shape shape_;
  std::vector<PricedLevel> levels_;
  base::Count operations_ = 0;
  base::Count latency_cycles_ = 0;
  std::vector<NetworkUse> network_uses_;
};

}  // namespace orrery::nest
