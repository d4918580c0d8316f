// Layers by name: those that a request names, those that the scripts of Timeloop-Experiments know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/verbs/map/layers/layer_tasks.h"

namespace orrery::verbs {

// Keeps the one task of that name: of its operator, of the file's stem, or of its shape. Throws InputError O1106.
void keep_layer(const std::string& wanted, GatheredLayers& out);

// Keeps the tasks that go by one of these names; all, where there are none. Throws InputError O1106.
void keep_layers(const std::vector<std::string>& wanted, GatheredLayers& out);

// Layers of files that run once a head, so many times.
void count_heads(GatheredLayers& out);

// Whether a layer hands its result to a normalisation, or is one: those that Timeloop-Experiments fuses.
bool is_followed(const std::string& name, const std::string& stem);

// The shape names a layer of a file; where several files use one shape, the file's name is added.
template <typename Layer>
void name_layers(const std::vector<std::string>& stems, std::vector<Layer>& layers) {
  std::map<std::string, int> uses;
  for (const Layer& layer : layers) ++uses[layer.name];
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (uses[layers[i].name] > 1) layers[i].name += fmt::format(" ({})", stems[i]);
}

}  // namespace orrery::verbs
