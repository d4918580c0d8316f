// Megatron-Core's experts add the bias of their second matrix, times the weight of the token's expert, expert by expert
// and in 32 bits, and limit what gate and up projection yield before the activation's kernel reads it (gpt-oss). Either
// is a chain of operators that each read and write memory; bytes of an element (of the width for the bias, of the first
// matrix's result for the limits) at 16 bits, as the source has them:
//
//   bias      forward    times the weight, written 4; added 2 + 4 + 4; joined 4 + 4; rounded 4 + 2           28
//             backward   widened 2 + 4; of the result rounded 4 + 2 and joined 2 + 2; of bias and of weight,
//                        each: times the other 4 + 4, summed 4                                              40
//   limits    forward    limited 2 + 2; joined 2 + 2                                                          8
//             backward   limited 4 + 2; joined 2 + 2                                                         10
//
// The first matrix's bias is added by its products, and its gradient summed by them or with the quantisation. Where one
// kernel does a rank's experts (Stack::fused_experts) it adds biases and limits as well; what is left is one reading of
// the result's gradient, 2, for those of bias and weight together.
//
// NeMo AutoModel's do the same of the second matrix; the first one's grouped product has no bias, so that it is added
// expert by expert as well, in 16 bits, and the limits are part of a compiled activation:
//
//   first     forward    added 2 + 2; joined 2 + 2                                                                  8
//             backward   joined 2 + 2; summed for the bias 2                                                         6
//
// Source: NVIDIA/Megatron-LM at core_v0.16.0 to core_v0.19.0, megatron/core/transformer/moe/experts.py (_apply_bias)
// and megatron/core/fusions/fused_bias_geglu.py (weighted_bias_quick_geglu_impl); NVIDIA/TransformerEngine,
// transformer_engine/pytorch/triton/grouped_dbias_dscales.py; NVIDIA-NeMo/Automodel at 01883b41,
// nemo_automodel/components/moe/layers.py (_apply_bias, quick_geglu_deepep). Cost: constant.
#include "orrery/engines/cluster/layer/eager_experts.h"

namespace orrery::cluster {
namespace {

constexpr double kBiasForward = 28, kBiasBackward = 40;
constexpr double kBiasForwardOps = 2, kBiasBackwardOps = 6;  // of each expert,
constexpr double kBiasOps = 2;                               // and of either pass
constexpr double kFusedBiasBackward = 2, kFusedBiasBackwardOps = 1;
constexpr double kFirstBiasForward = 8, kFirstBiasBackward = 6;
constexpr double kFirstBiasForwardOps = 1, kFirstBiasBackwardOps = 2;  // of each expert
constexpr double kLimitsForward = 8, kLimitsBackward = 10;
constexpr double kLimitsForwardOps = 3, kLimitsBackwardOps = 3;

}  // namespace

double kept_by_limits(const Plan& plan, const LayerKind& kind) {
  if (!kind.mixture.clamped || kin(plan.stack.name) != StackName::kMegatronCore || plan.stack.fused_experts) return 0;
  return static_cast<double>(kind.mixture.top_k) * static_cast<double>(kind.mixture.up) / static_cast<double>(plan.tp);
}

EagerExperts eager_experts(const LayerContext& c, const LayerKind& kind) {
  EagerExperts out;
  const Mixture& mixture = kind.mixture;
  const Plan& plan = c.plan;
  const bool automodel = plan.stack.name == StackName::kAutomodel;
  if (kin(plan.stack.name) != StackName::kMegatronCore && !automodel) return out;
  if (!mixture.biases && !mixture.clamped) return out;
  const auto cut = static_cast<double>(expert_tp(plan));
  const double tokens = static_cast<double>(plan.micro_batch) * static_cast<double>(kind.seq / plan.cp);
  const double copies = tokens * static_cast<double>(mixture.top_k) * cut / static_cast<double>(plan.tp);
  if (plan.stack.fused_experts) {
    if (!mixture.biases) return out;
    out.backward_bytes = kFusedBiasBackward * copies * static_cast<double>(mixture.width);
    out.backward_ops = kFusedBiasBackwardOps;
    return out;
  }
  if (mixture.biases) {
    const double elements = copies * static_cast<double>(mixture.width);
    const auto local = static_cast<double>(mixture.count / plan.ep);
    out.forward_bytes += kBiasForward * elements;
    out.backward_bytes += kBiasBackward * elements;
    out.forward_ops += kBiasForwardOps * local + kBiasOps;
    out.backward_ops += kBiasBackwardOps * local + kBiasOps;
    if (automodel) {
      const double made = copies * static_cast<double>(mixture.up) / cut;
      out.forward_bytes += kFirstBiasForward * made;
      out.backward_bytes += kFirstBiasBackward * made;
      out.forward_ops += kFirstBiasForwardOps * local;
      out.backward_ops += kFirstBiasBackwardOps * local;
    }
  }
  if (mixture.clamped && !automodel) {
    const double elements = copies * static_cast<double>(mixture.up) / cut;
    out.limits_bytes = kLimitsForward * elements;
    out.limits_ops = kLimitsForwardOps;
    out.forward_bytes += out.limits_bytes;
    out.backward_bytes += kLimitsBackward * elements;
    out.forward_ops += kLimitsForwardOps;
    out.backward_ops += kLimitsBackwardOps;
  }
  return out;
}

}  // namespace orrery::cluster
