#include "orrery/verbs/map/padding_text.h"

#include <fmt/format.h>

#include "orrery/engines/nest/search/objective.h"

namespace orrery::verbs {

namespace {

const char* unit_of(nest::Metric metric) {
  return metric == nest::Metric::kEdp ? "EDP (J*cycle)" : metric == nest::Metric::kEnergy ? "energy (pJ)" : "cycles";
}

std::string compared(const MappedLayer& layer, const nest::Evaluation& other) {
  const double before = nest::key_of(layer.objective, other)[0];
  const double after = nest::key_of(layer.objective, layer.optimum.evaluation)[0];
  std::string text = fmt::format("; {} {:.4g} in place of {:.4g}", unit_of(layer.objective[0]), after, before);
  if (after > 0 && before > 0)
    text += after >= before * (1 - 5e-3) && after <= before * (1 + 5e-3) ? ", no better"
            : after <= before ? fmt::format(", {:.2f} times less", before / after)
                              : fmt::format(", {:.2f} times more", after / before);
  return text;
}

std::string line_of(const MappedLayer& layer) {
  std::string sizes;
  for (const nest::Rounding& one : layer.padding->rounded)
    sizes += fmt::format("{}{} {} as {}", sizes.empty() ? "" : ", ", layer.einsum.dimensions[one.dimension].name,
                         one.from, one.to);
  if (sizes.empty()) return fmt::format("{}: no size rounded up\n", layer.name);
  std::string line =
      fmt::format("{}: {}, {:.2f} % more operations", layer.name, sizes, 100 * (padded_work(*layer.padding) - 1));
  if (!layer.found()) return line + "\n";
  if (!layer.padding->unrounded) return line + "; no mapping without that\n";
  return line + compared(layer, *layer.padding->unrounded) + "\n";
}

std::string imperfect_line_of(const MappedLayer& layer) {
  if (!layer.found()) return {};
  std::string line = fmt::format("{}: factors may leave a rest", layer.name);
  if (!layer.imperfect->perfect) return line + "; without one there is no mapping\n";
  return line + compared(layer, *layer.imperfect->perfect) + "\n";
}

}  // namespace

double padded_work(const Padding& padding) {
  double work = 1;
  for (const nest::Rounding& one : padding.rounded) work *= static_cast<double>(one.to) / static_cast<double>(one.from);
  return work;
}

std::string padding_lines(const std::vector<MappedLayer>& layers) {
  std::string lines;
  for (const MappedLayer& layer : layers)
    if (layer.padding)
      lines += line_of(layer);
    else if (layer.imperfect)
      lines += imperfect_line_of(layer);
  return lines;
}

}  // namespace orrery::verbs
