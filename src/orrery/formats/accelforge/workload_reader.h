// AccelForge's workload: einsums, the sizes of ranks, how many bits values have, and names that architectures use.
//
//   einsums:
//   - "Q[b, m, h, e] = I[b, m, d] * WQ[h, e, d]"          a rank is its variable in capitals, or `M: p`
//   - {name: A, tensor_accesses: [{name: T0, projection: [m, k]}, ...], renames: {input: T0}}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/formats/accelforge/accelforge_documents.h"
#include "orrery/formats/accelforge/set_expression.h"

namespace orrery::formats::accelforge {

struct AccessSpec {
  std::string tensor;
  std::vector<std::pair<std::string, std::string>> projection;  // rank, variable
  bool output = false;
  bool persistent = false;
  std::optional<double> bits;
  base::Location where;
};

struct EinsumSpec {
  std::string name;
  std::vector<AccessSpec> accesses;  // the output is the last one
  std::vector<base::Count> sizes;    // by variable, as symbols.variables has them
  bool copy = false;
  double times = 1;
  base::Location where;
  // What names mean; with the bits of a word by tensor.
  Symbols symbols;
};

struct WorkloadSpec {
  std::vector<EinsumSpec> einsums;
};

// Throws InputError: O2103 to O2105, O2109.
WorkloadSpec read_workload(const Documents& documents, base::Diagnostics& found);

}  // namespace orrery::formats::accelforge
