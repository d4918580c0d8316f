#include "orrery/verbs/place/picture.h"

#include <fmt/format.h>

#include "orrery/verbs/place/table.h"

namespace orrery::verbs {

GraphPicture picture_of(const PlacedGraph& placed) {
  const dataflow::Mapping& mapping = *placed.placement.mapping;
  GraphPicture picture;
  picture.graph = &placed.setup.graph;
  picture.title = placed.title;
  picture.configuration = mapping.configuration;
  const auto& costs = placed.placement.evaluation.partition.configurations;
  for (std::size_t c = 0; c < costs.size(); ++c)
    picture.configuration_labels.push_back(
        fmt::format("configuration {}: {:.6g} us, {}", c, costs[c].interval_ns / 1e3, name(costs[c].bound)));
  for (const workload::KernelDimension sharding : mapping.sharding)
    picture.kernel_labels.push_back(
        sharding == workload::KernelDimension::kNone ? "" : fmt::format("split along {}", name(sharding)));
  return picture;
}

}  // namespace orrery::verbs
