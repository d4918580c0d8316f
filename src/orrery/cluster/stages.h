// How a model's layers are distributed over the stages of a pipeline.
//
// Evenly if possible. Otherwise every stage has floor or ceil of layers / stages, and the last stage, then the first,
// is among the shorter ones: they also hold logits and embedding (Llama 3 leaves one layer out of each).
//
// Kinds of layers: dense layers in front of mixtures stand on the first stages (DeepSeek-V3). All others, and the two
// stacks of an encoder-decoder and layers that predict further tokens, are spread as if every stage had its share.
#pragma once

#include "orrery/base/count.h"
#include "orrery/cluster/model.h"

namespace orrery::cluster {

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

// Layers of a kind on `stage` of `stages`. The front stands on the first stage as far as that holds it; what it
// displaces, and all else, is spread evenly over the stages. Fractions appear where kinds alternate.
inline double layers_of_kind(const Model& model, std::size_t kind, base::Count stages, base::Count stage) {
  const auto own = static_cast<double>(layers_of_stage(model.layers, stages, stage));
  const auto all = static_cast<double>(model.layers);
  const auto of_kind = static_cast<double>(model.kinds[kind].layers);
  if (model.kinds.size() == 1) return own;
  if (model.front < 0) return own * of_kind / all;
  const auto first = static_cast<double>(layers_of_stage(model.layers, stages, 0));
  const auto front = static_cast<double>(model.kinds[static_cast<std::size_t>(model.front)].layers);
  const double behind_front = first > front ? (first - front) / (all - front) : 0;  // share that the first stage has
  if (static_cast<int>(kind) != model.front)
    return stage == 0 ? behind_front * of_kind : own * (of_kind - behind_front * of_kind) / (all - first);
  const double others = (all - front) * (stage == 0 ? behind_front : (1 - behind_front) * own / (all - first));
  return own - others;
}

}  // namespace orrery::cluster
