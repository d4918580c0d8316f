#include "orrery/report/infeasible.h"

#include <fmt/format.h>

namespace orrery::report {

base::Diagnostic explain_no_mapping(const scenario::MappedLayer& layer) {
  base::Diagnostics found;
  const nest::Optimum& optimum = layer.optimum;
  if (!optimum.infeasible) {
    base::Diagnostic& diagnostic =
        found.error("O1002", fmt::format("the search for `{}` ended before it found a mapping", layer.name));
    diagnostic.hint(optimum.interrupted ? "let it run longer" : "raise --time-limit");
    return diagnostic;
  }
  base::Diagnostic& diagnostic =
      found.error("O1001", fmt::format("no mapping of `{}` satisfies the constraints", layer.name));
  bool primary = false;
  for (const nest::Conflict& conflict : optimum.conflicts) {
    if (!conflict.where.known()) {
      diagnostic.note("conflicts: " + conflict.text);
    } else if (!primary) {
      diagnostic.primary = {conflict.where, conflict.text};
      primary = true;
    } else {
      diagnostic.also(conflict.where, conflict.text);
    }
  }
  for (const std::string& sum : optimum.arithmetic) diagnostic.note(sum);
  if (optimum.conflicts.size() > 1) diagnostic.hint("relax any one of the lines shown: they cannot hold together");
  if (optimum.conflicts.size() == 1) diagnostic.hint("relax the line shown");
  return diagnostic;
}

}  // namespace orrery::report
