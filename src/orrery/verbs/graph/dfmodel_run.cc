#include "orrery/verbs/graph/dfmodel_run.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/formats/dfmodel/setup_text.h"

namespace orrery::verbs {

std::string title_of(const GeneratedGraph& generated) {
  const std::size_t kernels = generated.graph.kernels.size(), edges = generated.graph.edges.size();
  return fmt::format("{}{}: {} kernel{}, {} connection{}", generated.kind,
                     generated.model.empty() ? "" : " of " + generated.model, kernels, base::plural(kernels), edges,
                     base::plural(edges));
}

std::string graph_text(const GeneratedGraph& generated) {
  std::string out = "# " + title_of(generated) + "\n#";
  for (const auto& [name, value] : generated.parameters) out += fmt::format(" {}={}", name, value);
  out += "\n";
  for (const std::string& note : generated.notes) out += "# " + note + "\n";
  out += "# for `orrery place`, add `system { ... }` and `execution { ... }`: examples/dataflow/hyena.txt has both\n";
  return out + formats::dfmodel::write_graph(generated.graph);
}

}  // namespace orrery::verbs
