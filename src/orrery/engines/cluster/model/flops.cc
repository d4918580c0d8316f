// A product of an m x k by a k x n matrix is 2 m n k FLOPs; a backward pass is two products for every one forward.
// For a plain GPT a layer's forward pass is 24 s h^2 + 4 s^2 h, the logits 2 s h V, and three times their sum over the
// layers is 72 s l h^2 (1 + s/(6h) + V/(12 l h)).
//
// Papers count the core in full whatever the kernel does. The operations executed differ: flash attention skips the
// half that a causal mask hides, and its backward pass does five products for the forward's two, since it recomputes
// the scores. A frozen matrix beside an adapter (LoRA) has no weight gradient, two products in the place of three; the
// adapter, two thin products, has all; it stands beside the layers' matrices but the routed experts'. layer.cc takes
// its times from the same shares (model.h), so that no utilisation can exceed 1.
#include "orrery/engines/cluster/model/flops.h"

namespace orrery::cluster {

void ForwardFlops::add(const LayerKind& kind, double layers) {
  products_ += layers * kind.product_flop;
  core_ += layers * kind.core_flop;
  for (const Matrix& m : kind.matrices)
    (of_network(m.name) ? network_adapters_ : adapters_) += layers * 2 *
                                                            static_cast<double>(m.of_source ? kind.source : kind.seq) *
                                                            static_cast<double>(m.in + m.out + m.kv_heads * m.kv_width);
  const auto product = [&](base::Count in, base::Count out) {
    return layers * 2 * static_cast<double>(kind.seq) * static_cast<double>(in) * static_cast<double>(out);
  };
  for (const Matrix& m : kind.matrices) {
    if (kind.latent && from_latent(m)) latents_ += product(m.in, m.out);
    if (m.name.starts_with("FF")) networks_ += product(m.in, m.out);
    if (m.name.starts_with("shared-")) shared_ += product(m.in, m.out);
    if (m.name == "router" || m.name.starts_with("expert-latent")) experts_ += product(m.in, m.out);
  }
  const Mixture& mixture = kind.mixture;
  if (mixture.count > 0)
    experts_ += static_cast<double>(mixture.top_k) *
                (product(mixture.width, mixture.up) + product(mixture.inner, mixture.width));
  if (kind.cores.size() == 1) {
    done_ += layers * kind.cores[0].share * kind.core_flop;
    return;
  }
  for (const Core& core : kind.cores)
    done_ += layers * core.share * 2 * static_cast<double>(kind.seq) * static_cast<double>(core.seen) *
             static_cast<double>(core.heads) * static_cast<double>(core.width + core.value_width);
}

ForwardFlops::ForwardFlops(const Model& model) : backward_(core_backward_products(model)) {
  for (const LayerKind& kind : model.kinds) add(kind, static_cast<double>(kind.layers));
  const double s = model.seq;
  const double logits = 2.0 * (model.logits.at_one_token ? 1 : s) * model.logits.width * model.logits.outputs;
  for (const auto* matrices : {&model.first, &model.last})
    for (const Matrix& m : *matrices)
      ends_ += 2.0 * static_cast<double>(m.at_tokens) * static_cast<double>(m.in) * static_cast<double>(m.out);
  ends_ += logits;
  if (model.ahead > 0) {
    const auto ahead = static_cast<double>(model.ahead);
    for (const std::size_t kind : model.ahead_kinds) add(model.kinds[kind], ahead);
    ends_ += ahead * (logits + 4 * s * static_cast<double>(model.hidden) * static_cast<double>(model.hidden));
  }
}

double ForwardFlops::model() const {
  return 3 * (products_ + core_ + ends_);
}

double ForwardFlops::hardware(Recompute recompute) const {
  double again = 0;
  if (recompute == Recompute::kFull) again = products_ + core_;
  if (recompute == Recompute::kSelective) again = 3 * core_;
  return 3 * (products_ + core_ + ends_) + again;
}

DoneFlops ForwardFlops::done(Recompute recompute, const Recomputed& parts, base::Count lora_rank,
                             bool lora_networks) const {
  DoneFlops done;
  const double adapters = adapters_ + (lora_networks ? network_adapters_ : 0);
  const double matrices = lora_rank == 0 ? 3 * (products_ + ends_)
                                         : 2 * (products_ + ends_) + 3 * static_cast<double>(lora_rank) * adapters;
  done.model = matrices + 3 * done_;
  done.hardware = matrices + (1 + backward_) * done_;
  if (recompute == Recompute::kFull) done.hardware += products_ + done_;
  if (recompute == Recompute::kSelective)
    done.hardware += (parts.core ? done_ : 0) + (parts.latents ? latents_ : 0) + (parts.networks ? networks_ : 0) +
                     (parts.mixtures ? experts_ : 0) + (parts.mixtures || parts.shared_experts ? shared_ : 0);
  return done;
}

double model_flops_per_sequence(const Model& model) {
  return ForwardFlops(model).model();
}

double hardware_flops_per_sequence(const Model& model, Recompute recompute) {
  return ForwardFlops(model).hardware(recompute);
}

DoneFlops done_flops_per_sequence(const Model& model, Recompute recompute, const Recomputed& parts,
                                  base::Count lora_rank, bool lora_networks) {
  return ForwardFlops(model).done(recompute, parts, lora_rank, lora_networks);
}

}  // namespace orrery::cluster
