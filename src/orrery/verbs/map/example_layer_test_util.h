// A small layer with an answer, for the tests of report/.
#pragma once

#include <string>
#include <utility>

#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/inputs/layers/layer_question_test_util.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// Outputs[4][6] += Weights[8][4] * Inputs[8][6] on the small chip.
inline MappedLayer example_layer() {
  MappedLayer layer;
  layer.name = "small";
  layer.instances = 3;
  layer.einsum = workload::matmul("small", 4, 8, 6);

  layer.chip = verbs::testing::small_chip();

  const int d = layer.einsum.dimension_index("D"), e = layer.einsum.dimension_index("E"),
            l = layer.einsum.dimension_index("L");
  const std::size_t dimensions = layer.einsum.dimensions.size();
  nest::Mapping mapping;
  mapping.levels.resize(2);
  for (nest::LevelMapping& level : mapping.levels) {
    level.temporal.assign(dimensions, 1);
    level.spatial.assign(dimensions, 1);
    level.temporal_order.clear();
    for (std::size_t at = 0; at < dimensions; ++at) level.temporal_order.push_back(static_cast<int>(at));
    level.spatial_order = level.temporal_order;
    level.keep = 7;
  }
  mapping.levels[0].spatial[d] = 4;
  mapping.levels[0].split = static_cast<int>(dimensions);
  mapping.levels[0].temporal[e] = 8;
  mapping.levels[1].temporal[l] = 6;

  layer.optimum.evaluation = nest::evaluate(layer.einsum, layer.chip, mapping);
  layer.optimum.mapping = std::move(mapping);
  layer.objective = {nest::Metric::kEdp};
  layer.optimum.certificate.optimal = true;
  layer.optimum.certificate.lower_bound = layer.optimum.evaluation.edp_j_cycles;
  layer.optimum.certificate.gap = 0;
  layer.optimum.certificate.space = 1234;
  layer.optimum.certificate.evaluated = 17;
  layer.optimum.certificate.seconds = 0.0015;
  layer.optimum.certificate.pruned = {{"capacity", 3}};
  return layer;
}

// The same layer when the search proved that it has no mapping.
inline MappedLayer infeasible_layer() {
  MappedLayer layer = example_layer();
  layer.name = "impossible";
  layer.optimum = {};
  layer.optimum.infeasible = true;
  const auto file = std::make_shared<const base::SourceFile>(base::SourceFile{"c.yaml", "a: 1\nfactors: D=16\nb: 2\n"});
  layer.optimum.conflicts = {{"D=16 at PERows", {file, 2, 10, 4}}, {"meshY 8 of PERows", {file, 3, 1, 1}}};
  layer.optimum.arithmetic = {"16 > 8"};
  return layer;
}

}  // namespace orrery::verbs
