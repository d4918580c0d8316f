// What is asked about one layer: an einsum, the chip it runs on, the mappings that are allowed. Plain values, whoever
// made them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/energy/estimate.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {
struct SparseDesign;  // engines/nest/sparse/sparse_design.h
}

namespace orrery::verbs {

// The origin of a chip's energies and areas; null: they were given.
using Estimates = std::shared_ptr<const std::vector<energy::EstimatedComponent>>;

struct LayerQuestion {
  std::string name;
  base::Count instances = 1;  // equal copies that run one after the other
  workload::Einsum einsum;
  std::shared_ptr<const machine::Chip> chip;  // shared by all layers on it
  nest::Mapspace space;
  std::vector<nest::Metric> objective;  // empty: edp
  Estimates estimates;
  std::shared_ptr<const nest::SparseDesign> sparse;  // what the hardware does about zeros; null: nothing
};

// Whether two layers have the same answer: the same einsum, its name apart, on one chip, in equal map spaces.
bool same_search(const LayerQuestion& a, const LayerQuestion& b);

// O1004, of a layer whose words, operations or cycles overflow: the numbers they are products of.
base::InputError uncountable(const std::string& name, const workload::Einsum& einsum, const machine::Chip& chip);

}  // namespace orrery::verbs
