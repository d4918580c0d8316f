#include "orrery/scenario/evaluate_layer.h"

#include "orrery/nest/legality.h"
#include "orrery/nest/model.h"

namespace orrery::scenario {

void demand_legal(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping,
                  const nest::MappingPlaces& places) {
  base::Diagnostics illegal;
  nest::check_legal(einsum, chip, mapping, places, illegal);
  if (illegal.has_errors()) throw IllegalMapping(illegal.all());
}

MappedLayer evaluate_layer(const LayerQuestion& question, const nest::Mapping& mapping,
                           const nest::MappingPlaces& places, const nest::ModelOptions& options, bool strict) {
  MappedLayer layer;
  layer.name = question.name;
  layer.instances = question.instances;
  layer.einsum = question.einsum;
  layer.chip = *question.chip;
  layer.estimates = question.estimates;
  layer.reuse = question.space.reuse;
  layer.searched = false;

  demand_legal(layer.einsum, layer.chip, mapping, places);
  if (strict) {
    base::Diagnostics forbidden;
    nest::check_allowed(layer.einsum, layer.chip, mapping, question.space, forbidden);
    if (forbidden.has_errors()) throw IllegalMapping(forbidden.all());
  }
  layer.optimum.mapping = mapping;
  try {
    layer.optimum.evaluation = nest::evaluate(layer.einsum, layer.chip, mapping, options, layer.reuse);
  } catch (const base::OverflowError&) {
    throw uncountable(layer.name, layer.einsum, layer.chip);
  }
  layer.optimum.certificate.evaluated = 1;
  return layer;
}

}  // namespace orrery::scenario
