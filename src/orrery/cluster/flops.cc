// A product of an m x k by a k x n matrix is 2 m n k FLOPs; a backward pass is two products for every one forward.
// For a plain GPT a layer's forward pass is 24 s h^2 + 4 s^2 h, the logits 2 s h V, and three times their sum over the
// layers is 72 s l h^2 (1 + s/(6h) + V/(12 l h)).
//
// Papers count the core in full whatever the kernel does. The operations executed differ: flash attention skips the
// half that a causal mask hides, and its backward pass does five products for the forward's two, since it recomputes
// the scores. layer.cc takes its times from the same two shares (model.h), so that no utilisation can exceed 1.
#include "orrery/cluster/flops.h"

namespace orrery::cluster {

LayerFlops layer_flops(const Model& model, bool experts) {
  const LayerShape shape = layer_shape(model);
  const double s = model.seq;
  double weights = shape.attention_params;
  if (experts) {
    weights += (model.experts.shared + model.experts.top_k) * shape.expert_params;
    weights += static_cast<double>(model.hidden) * model.experts.count;
  } else {
    weights += shape.feed_forward_params;
  }
  return {2 * s * weights, 2 * s * s * model.heads * (shape.score_width + shape.value_width)};
}

namespace {

// Forward pass of all layers on one sequence.
LayerFlops all_layers(const Model& model) {
  const double mixtures = expert_layers(model);
  const LayerFlops dense = layer_flops(model, false);
  LayerFlops total{(model.layers - mixtures) * dense.products, model.layers * dense.core};
  if (mixtures > 0) total.products += mixtures * layer_flops(model, true).products;
  return total;
}

}  // namespace

double model_flops_per_sequence(const Model& model) {
  const LayerFlops layers = all_layers(model);
  const double logits = 2.0 * model.seq * model.hidden * model.vocab;
  return 3 * (layers.products + layers.core + logits);
}

double hardware_flops_per_sequence(const Model& model, Recompute recompute) {
  const LayerFlops layers = all_layers(model);
  double again = 0;
  if (recompute == Recompute::kFull) again = layers.products + layers.core;
  if (recompute == Recompute::kSelective) again = 3 * layers.core;
  return model_flops_per_sequence(model) + again;
}

DoneFlops done_flops_per_sequence(const Model& model, Recompute recompute) {
  const LayerFlops layers = all_layers(model);
  const double core = core_share(model) * layers.core;
  const double logits = 2.0 * model.seq * model.hidden * model.vocab;
  DoneFlops done;
  done.model = 3 * (layers.products + core + logits);
  done.hardware = 3 * (layers.products + logits) + (1 + core_backward_products(model)) * core;
  if (recompute == Recompute::kFull) done.hardware += layers.products + core;
  if (recompute == Recompute::kSelective) done.hardware += core;
  return done;
}

}  // namespace orrery::cluster
