#include "orrery/engines/cluster/model/networks_again.h"

namespace orrery::cluster {

bool done_again(const Recomputed& what, const Matrix& matrix) {
  if (matrix.name.starts_with("FF")) return what.networks;
  if (matrix.name.starts_with("shared-")) return what.mixtures || what.shared_experts;
  return what.mixtures && (matrix.name == "router" || matrix.name.starts_with("expert-latent"));
}

NetworksAgain networks_again(const Recomputed& what, const LayerKind& kind, double rows) {
  const bool mixes = kind.mixture.count > 0;
  double shared = 0;
  for (const Matrix& m : kind.matrices)
    if (m.name == "shared-FF1" || m.name == "shared-FF2")
      shared += static_cast<double>(m.name == "shared-FF1" ? m.out : m.in);
  NetworksAgain again;
  const auto add = [&](double elements, bool whole, bool activations) {
    if (whole)
      again.whole += elements;
    else if (activations)
      again.activated += elements;
  };
  again.experts = mixes && what.mixtures;
  add(shared, what.mixtures || what.shared_experts, what.activations);
  const bool activations = what.activations || (mixes && what.expert_activations);
  add((mixes ? rows : 1) * (kind.kept_inner - shared), mixes ? what.mixtures : what.networks, activations);
  again.limits_again = again.experts || activations;
  return again;
}

}  // namespace orrery::cluster
