#include "orrery/verbs/map/infeasible_text.h"

#include <fmt/format.h>

namespace orrery::verbs {

namespace {

base::Diagnostic explain(const std::string& what, const nest::Optimum& optimum) {
  base::Diagnostics found;
  if (!optimum.infeasible) {
    base::Diagnostic& diagnostic =
        found.error("O1002", fmt::format("the search for {} ended before it found a mapping", what));
    diagnostic.hint(optimum.interrupted     ? "let it run longer"
                    : optimum.out_of_memory ? "raise --memory"
                                            : "raise --time-limit");
    return diagnostic;
  }
  base::Diagnostic& diagnostic = found.error("O1001", fmt::format("no mapping of {} satisfies the constraints", what));
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
  if (optimum.conflicts.size() > 1) diagnostic.hint("relax any one of the lines shown: they contradict each other");
  if (optimum.conflicts.size() == 1) diagnostic.hint("relax the line shown");
  for (const std::string& way : optimum.ways_out) diagnostic.hint(way);
  return diagnostic;
}

}  // namespace

base::Diagnostic explain_no_mapping(const MappedLayer& layer) {
  return explain(fmt::format("`{}`", layer.name), layer.optimum);
}

base::Diagnostic explain_no_forced_mapping(const MappedLayer& layer) {
  return explain(fmt::format("`{}` with `{}`", layer.name, layer.forced->choice), layer.forced->optimum);
}

}  // namespace orrery::verbs
