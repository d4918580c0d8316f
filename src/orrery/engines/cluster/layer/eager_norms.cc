// PyTorch without compilation runs an RMSNorm and the rotation of queries and keys as chains of operators, each of
// which reads and writes memory. LayerNorm has a kernel of its own. Bytes of an element at 16 bits; norms count in 32:
//
//   RMSNorm    forward    widened 2 + 4; squared 4 + 4; averaged 4; scaled 4 + 4; rounded 4 + 2; times the weight 2 + 2
//   36
//              backward   of the weight 2 + 2 + 2, summed 2; times the weight 2 + 2; widened 2 + 4; of the scaled 4 +
//              4,
//                         of the scale 4 + 4 + 4, summed 4; of the mean 4; of the square 4 + 4, 4 + 4, 4 + 4 + 4; added
//                         4 + 4 + 4; rounded 4 + 2                                                                 92
//   rotation   forward    times the cosines 2 + 2; the half negated 1 + 1; joined 2 + 2; times the sines 2 + 2; added
//                         2 + 2 + 2                                                                                20
//              backward   the same, the other way                                                                  20
//
// A fused norm reads and writes 2 + 2 and, backward, 2 + 2 + 2: layer.cc counts that already, so 32 and 86 are left.
// Complex numbers in 32 bits (torchtitan) move as much for a rotation. Example: Llama 3 8B has 2 norms of 4,096 and
// 5,120 elements of queries and keys: 1.17 MB a token and layer, 0.39 s for 16,384 tokens and 32 layers at 1.56 TB/s.
//
// Kept for the backward pass besides: a norm's input in 32 bits, 4, where a kernel keeps its input in 16 as others do,
// and of a gate's activation the result, 2, which a compiled one makes again. Llama 3.2 3B keeps 9.4 GB more so for
// 8,192 tokens; torchtune's README has 64.4 GB without compilation and 54.8 with it.
//
// A decoder that has no table of positions is taken to rotate; biases of ALiBi in its place are priced alike. Attention
// to an encoder does not rotate. Source: torch.nn.functional.rms_norm of PyTorch 2.4 to 2.8 (a composite) and
// autograd's formulas (derivatives.yaml); transformers' modeling_llama.py at v4.46 (LlamaRMSNorm,
// apply_rotary_pos_emb); Modalities' gpt2_model.py at 00b8c958 (RotaryTransform). Cost: constant.
#include "orrery/engines/cluster/layer/eager_norms.h"

#include "orrery/engines/cluster/layer/operators_of_layer.h"

namespace orrery::cluster {
namespace {

constexpr double kNormForward = 32, kNormBackward = 86;
constexpr double kRotation = 20;

}  // namespace

double kept_by_chains(const Plan& plan, const LayerKind& kind) {
  if (!plan.stack.eager) return 0;
  const double t = plan.tp;
  const double norms = kind.rms_normed / (plan.sequence_parallel ? t : 1) + kind.heads_normed / t;
  return 4 * norms + 2 * kind.gates / t;
}

EagerNorms eager_norms(const LayerContext& c, const LayerKind& kind) {
  EagerNorms out;
  if (!c.plan.stack.eager) return out;
  const auto tokens = static_cast<double>(tokens_of(c, kind.seq));
  const double normed = tokens * (kind.rms_normed * c.norm_share + kind.heads_normed / c.plan.tp);
  const double rotated = tokens * kind.rotated / c.plan.tp * (c.element / 2);
  out.norms_bytes = kNormForward * normed;
  out.forward_bytes = out.norms_bytes + kRotation * rotated;
  out.backward_bytes = kNormBackward * normed + kRotation * rotated;
  return out;
}

}  // namespace orrery::cluster
