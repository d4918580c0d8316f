// How a model's layers are distributed over the stages of a pipeline.
//
// Evenly if possible. Otherwise every stage has floor or ceil of layers / stages, and the last stage, then the first,
// is among the shorter ones: they also hold logits and embedding (Llama 3 leaves one layer out of each).
#pragma once

#include "orrery/base/count.h"
#include "orrery/cluster/model.h"

namespace orrery::cluster {

// Layers of one stage by kind. Fractions appear where mixtures of experts alternate with dense layers, and where the
// dense layers of a model's front do not fill whole stages.
struct StageLayers {
  double dense = 0;
  double experts = 0;
};

// How many of the stages between the first and the last one have a layer more than the last; they come first. 0 where
// all stages are equal.
inline base::Count longer_stages_between(base::Count layers, base::Count stages) {
  const base::Count longer = layers % stages;
  const bool first_too = longer > 0 && stages - longer == 1;
  return first_too ? longer - 1 : longer;
}

inline base::Count layers_of_stage(base::Count layers, base::Count stages, base::Count stage) {
  const base::Count least = layers / stages;
  const base::Count longer = layers % stages;  // stages with one layer more
  if (longer == 0) return least;
  const base::Count shorter = stages - longer;
  if (stage == stages - 1) return least;
  if (stage == 0) return shorter >= 2 ? least : least + 1;
  return stage <= longer_stages_between(layers, stages) ? least + 1 : least;
}

// Layers of `stage` of `stages`; the experts that the model's front displaces are spread over the stages behind.
inline StageLayers stage_layers(const Model& model, base::Count stages, base::Count stage) {
  const auto own = static_cast<double>(layers_of_stage(model.layers, stages, stage));
  const auto mixtures = static_cast<double>(expert_layers(model));
  if (mixtures == 0) return {own, 0};
  const auto first = static_cast<double>(layers_of_stage(model.layers, stages, 0));
  const auto all = static_cast<double>(model.layers);
  const auto dense_front = static_cast<double>(model.experts.dense_layers);
  const double of_first = first > dense_front ? (first - dense_front) / (all - dense_front) * mixtures : 0;
  const double of_own = stage == 0 ? of_first : own * (mixtures - of_first) / (all - first);
  return {own - of_own, of_own};
}

}  // namespace orrery::cluster
