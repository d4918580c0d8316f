// `densities` of a problem into nest::Density.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/sparse/density.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// One per dataspace of `einsum`, which was read from `problem`; dense where nothing is said. Each is a number (the
// share of nonzeros) or a map with `distribution`:
//
//   fixed_structured, fixed    density
//   hypergeometric             density, workload_tensor_size (else the tensor's own)
//   banded, diagonal           band_width; of a tensor with two ranks
//   table                      nonzeros: [[i, j, ...], ...], the places that are not zero, or file: a file of them
//                              (nonzero_file.h), beside the document or in one of `folders`
//
// `commonDensity` says the same for all. Files that were read are added to `read`. Errors: O0407, and of files those of
// TemplatePaths and base::read_file.
std::vector<nest::Density> read_densities(const yaml::Node& problem, const workload::Einsum& einsum,
                                          const Scope& variables, const std::vector<std::string>& folders,
                                          std::vector<base::Input>& read, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
