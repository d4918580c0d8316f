// `sparse_optimizations`, inside nodes of the architecture or as a document of its own with `targets`, into
// nest::SparseDesign.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/architecture/prices.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Without prices. `document`: the top-level `sparse_optimizations`, or null. Errors: O2028; warnings: O2028, O2036.
nest::SparseDesign read_sparse_design(const yaml::Node* document, const Architecture& architecture,
                                      const workload::Einsum& einsum, std::vector<nest::Density> densities,
                                      const Scope& scope, base::Diagnostics& found);

// Prices of gated, skipped and metadata accesses, from the table that has the chip's. `prices` of a component: nothing
// where the table has no entry. Actions that a table lacks cost what Timeloop charges: gated and skipped accesses and
// metadata nothing (O2036 says so of metadata), gated and skipped operations as much as one that happens.
using PricesOf = std::function<std::optional<Prices>(const std::string& component)>;
void price_sparse_design(const PricesOf& prices, const machine::Chip& chip, nest::SparseDesign& design,
                         base::Diagnostics& found);

// Notes that sparse optimisations are left aside (`--ignore-density`).
void note_ignored_sparse_design(const yaml::Node* document, const Architecture& architecture, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
