// The small languages inside constraints and mappings: factors, permutations, lists of dataspaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

struct Factor {
  int dimension = 0;
  nest::Comparison comparison = nest::Comparison::kEqual;
  base::Count value = 1;  // >= 0; 0 with kEqual: the whole dimension, or what is left of it
  std::string text;       // "D=16"
  base::Location where;
  std::optional<base::Count> last = std::nullopt;  // iterations of the last round, where the text says so
};

// `E=1,L=1,D=16`, `E1 D16`, `[E=1, 'D>=32']` or `{E: 1}`; values may be expressions. What cannot be read is
// reported (O0505 unknown dimension, O0507 malformed, O0518 negative) and left out. With `rests`, as mappings write
// them, `D=16,5` has 5 iterations in its last round.
std::vector<Factor> read_factors(const yaml::Node& node, const workload::Einsum& einsum, const Scope& variables,
                                 base::Diagnostics& found, bool rests = false);

struct Permutation {
  std::vector<int> inner;  // innermost first
  std::vector<int> outer;  // what stands after `_`: fixed outermost, innermost of them first
  std::string text;
  base::Location where;
};

// `EDL`, `E D L`, `E, D, L` or `[E, D, L]`, innermost first. Nothing when empty or unreadable (O0505, O0507, O0519).
std::optional<Permutation> read_permutation(const yaml::Node& node, const workload::Einsum& einsum,
                                            base::Diagnostics& found);

struct DataspaceName {
  int dataspace = 0;
  base::Location where;
};

// `[Inputs, Weights]`, one name, or `*` for all. Unknown names are O0506.
std::vector<DataspaceName> read_dataspaces(const yaml::Node& node, const workload::Einsum& einsum,
                                           base::Diagnostics& found);
std::uint32_t mask_of(const std::vector<DataspaceName>& names);

// The mask of `rules` that a key of a temporal or spatial directive adds to; null where the key is of something else.
std::uint32_t* reuse_mask(nest::ReuseRules& rules, const std::string& plain_key, bool spatial);

// The place of `length` characters at `offset` of a scalar that is written on one line; else of all of it.
base::Location within(const yaml::Node& scalar, std::size_t offset, std::size_t length);

std::vector<std::string> dimension_names(const workload::Einsum& einsum);
std::vector<std::string> dataspace_names(const workload::Einsum& einsum);

}  // namespace orrery::formats::timeloop
