// A product of an m x k by a k x n matrix is 2 m n k FLOPs; a backward pass is two products for every one forward.
// For a plain GPT a layer's forward pass is 24 s h^2 + 4 s^2 h, the logits 2 s h V, and three times their sum over the
// layers is 72 s l h^2 (1 + s/(6h) + V/(12 l h)).
//
// Papers count the core in full whatever the kernel does. The operations executed differ: flash attention skips the
// half that a causal mask hides, and its backward pass does five products for the forward's two, since it recomputes
// the scores. layer.cc takes its times from the same two shares (model.h), so that no utilisation can exceed 1.
#include "orrery/cluster/flops.h"

namespace orrery::cluster {
namespace {

// FLOPs of the forward pass on one sequence.
struct Forward {
  double products = 0;  // projections, feed-forward networks, routers
  double core = 0;      // scores and their product with the values, in full: no causal discount
  double done = 0;      // what of the core is executed
  double latents = 0;   // of the products those with the latents of attention
  double ends = 0;      // logits, and what stands around the layers; not recomputed
};

void add(const LayerKind& kind, double layers, Forward& sum) {
  sum.products += layers * kind.product_flop;
  sum.core += layers * kind.core_flop;
  for (const Matrix& m : kind.matrices)
    if (from_latent(m))
      sum.latents +=
          layers * 2 * static_cast<double>(kind.seq) * static_cast<double>(m.in) * static_cast<double>(m.out);
  if (kind.cores.size() == 1) {
    sum.done += layers * kind.cores[0].share * kind.core_flop;
    return;
  }
  for (const Core& core : kind.cores)
    sum.done += layers * core.share * 2 * static_cast<double>(kind.seq) * static_cast<double>(core.seen) *
                static_cast<double>(core.heads) * static_cast<double>(core.width + core.value_width);
}

Forward forward(const Model& model) {
  Forward sum;
  for (const LayerKind& kind : model.kinds) add(kind, static_cast<double>(kind.layers), sum);
  const double s = model.seq;
  const double logits = 2.0 * (model.logits.at_one_token ? 1 : s) * model.logits.width * model.logits.outputs;
  for (const auto* matrices : {&model.first, &model.last})
    for (const Matrix& m : *matrices)
      sum.ends += 2.0 * static_cast<double>(m.at_tokens) * static_cast<double>(m.in) * static_cast<double>(m.out);
  sum.ends += logits;
  if (model.ahead > 0) {
    const auto ahead = static_cast<double>(model.ahead);
    add(model.kinds[model.last_kind], ahead, sum);
    sum.ends += ahead * (logits + 4 * s * static_cast<double>(model.hidden) * static_cast<double>(model.hidden));
  }
  return sum;
}

}  // namespace

double model_flops_per_sequence(const Model& model) {
  const Forward all = forward(model);
  return 3 * (all.products + all.core + all.ends);
}

double hardware_flops_per_sequence(const Model& model, Recompute recompute) {
  const Forward all = forward(model);
  double again = 0;
  if (recompute == Recompute::kFull) again = all.products + all.core;
  if (recompute == Recompute::kSelective) again = 3 * all.core;
  return 3 * (all.products + all.core + all.ends) + again;
}

DoneFlops done_flops_per_sequence(const Model& model, Recompute recompute, const Recomputed& parts) {
  const Forward all = forward(model);
  DoneFlops done;
  done.model = 3 * (all.products + all.done + all.ends);
  done.hardware = 3 * (all.products + all.ends) + (1 + core_backward_products(model)) * all.done;
  if (recompute == Recompute::kFull) done.hardware += all.products + all.done;
  if (recompute == Recompute::kSelective)
    done.hardware += (parts.core ? all.done : 0) + (parts.latents ? all.latents : 0);
  return done;
}

}  // namespace orrery::cluster
