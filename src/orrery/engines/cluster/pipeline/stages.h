// How a model's layers are distributed over the stages of a pipeline.
//
// Evenly if possible. Otherwise every stage has floor or ceil of layers / stages, and the last stage, then the first,
// is among the shorter ones: they also hold logits and embedding (Llama 3 leaves one layer out of each).
//
// Kinds of layers: dense layers in front of mixtures stand on the first stages (DeepSeek-V3). All others, and the two
// stacks of an encoder-decoder and layers that predict further tokens, are spread as if every stage had its share.
#pragma once

#include "orrery/base/numbers/count.h"
#include "orrery/engines/cluster/model/model.h"

namespace orrery::cluster {

// A model's layers on its stages. Divides once.
class StageLayers {
 public:
  StageLayers(base::Count layers, base::Count stages)
      : stages_(stages), least_(layers / stages), longer_(layers % stages) {}

  // How many of the stages between the first and the last one have a layer more than the last; they come first. 0 where
  // all stages are equal.
  base::Count longer_between() const {
    const bool first_too = longer_ > 0 && stages_ - longer_ == 1;
    return first_too ? longer_ - 1 : longer_;
  }

  base::Count of(base::Count stage) const {
    if (longer_ == 0) return least_;
    const base::Count shorter = stages_ - longer_;
    if (stage == stages_ - 1) return least_;
    if (stage == 0) return shorter >= 2 ? least_ : least_ + 1;
    return stage <= longer_between() ? least_ + 1 : least_;
  }

  bool equal() const { return longer_ == 0; }

  // Layers of a kind on a stage. The front stands on the first stage as far as that holds it; what it displaces, and
  // all else, is spread evenly over the stages. Fractions appear where kinds alternate.
  double of_kind(const Model& model, std::size_t kind, base::Count stage) const {
    const auto own = static_cast<double>(of(stage));
    if (model.kinds.size() == 1) return own;
    const auto all = static_cast<double>(model.layers);
    const auto layers = static_cast<double>(model.kinds[kind].layers);
    if (model.front < 0) return own * layers / all;
    const auto first = static_cast<double>(of(0));
    const auto front = static_cast<double>(model.kinds[static_cast<std::size_t>(model.front)].layers);
    const double behind_front = first > front ? (first - front) / (all - front) : 0;  // share that the first stage has
    if (static_cast<int>(kind) != model.front)
      return stage == 0 ? behind_front * layers : own * (layers - behind_front * layers) / (all - first);
    const double others = (all - front) * (stage == 0 ? behind_front : (1 - behind_front) * own / (all - first));
    return own - others;
  }

 private:
  base::Count stages_;
  base::Count least_;   // layers of the shorter stages
  base::Count longer_;  // stages with one layer more
};

inline base::Count longer_stages_between(base::Count layers, base::Count stages) {
  return StageLayers(layers, stages).longer_between();
}

inline base::Count layers_of_stage(base::Count layers, base::Count stages, base::Count stage) {
  return StageLayers(layers, stages).of(stage);
}

inline double layers_of_kind(const Model& model, std::size_t kind, base::Count stages, base::Count stage) {
  return StageLayers(model.layers, stages).of_kind(model, kind, stage);
}

}  // namespace orrery::cluster
