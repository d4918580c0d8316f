// `constraints` documents, and the constraints inside v4 nodes, into nest::Mapspace.
#pragma once

#include <span>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// `lists`: values of top-level keys such as `constraints`, `architecture_constraints`, `mapspace`: a map with
// `targets`, or the list itself. The result holds for `einsum` only: macros and `=0` read its bounds. Beside what the
// documents say it contains what Timeloop takes for granted: fan-outs keep nothing and do not iterate in time, the
// outermost level keeps what nobody told it to bypass, and a dataspace of one `!Parallel` branch passes the others.
// `remainders`: factors may leave a rest, so the template `ruby` asks for no more. Errors: O0500 to O0520, O0200 to
// O0212 in values, collected in `found`; the result is then unusable.
nest::Mapspace read_constraints(std::span<const yaml::Node* const> lists, const Architecture& architecture,
                                const workload::Einsum& einsum, const Scope& variables, base::Diagnostics& found,
                                bool remainders = false);

}  // namespace orrery::formats::timeloop
