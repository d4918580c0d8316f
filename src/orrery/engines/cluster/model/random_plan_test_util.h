// Random training runs for laws: every kind of model, system and plan, possible by construction.
#pragma once

#include <rapidcheck.h>

#include <ostream>

#include "orrery/engines/cluster/model/a100_test_util.h"

namespace orrery::cluster {

struct Training {
  Gpt model;
  System system;
  Plan plan;
};

inline void showValue(const Training& run, std::ostream& out) {
  const Plan& p = run.plan;
  out << "layers " << run.model.layers << " hidden " << run.model.hidden << " heads " << run.model.heads << "/"
      << run.model.kv_heads << " experts " << run.model.experts.count << " latent " << run.model.latent.kv_rank
      << " seq " << run.model.seq << "; batch " << p.global_batch << " micro " << p.micro_batch << " tp " << p.tp
      << " pp " << p.pp << " dp " << p.dp << " cp " << p.cp << " ep " << p.ep << " v " << p.interleave << " schedule "
      << static_cast<int>(p.schedule) << " recompute " << static_cast<int>(p.recompute) << " sp " << p.sequence_parallel
      << " zero " << p.zero << " order " << static_cast<int>(p.order);
}

inline double share() {
  return *rc::gen::inRange(0, 5) / 4.0;
}

inline base::Count power(int largest_exponent) {
  return base::Count{1} << *rc::gen::inRange(0, largest_exponent + 1);
}

inline Training random_run() {
  Training run;
  Plan& plan = run.plan;
  plan.tp = power(4);
  plan.pp = *rc::gen::inRange<base::Count>(1, 9);
  plan.cp = power(2);
  plan.dp = power(4);
  plan.micro_batch = power(2);
  plan.order = static_cast<Order>(*rc::gen::inRange(0, 6));
  plan.schedule = *rc::gen::element(Schedule::kGpipe, Schedule::kOneFOneB, Schedule::kZeroBubble, Schedule::kDualPipe,
                                    Schedule::kZbV, Schedule::kVHalf, Schedule::kVMin);
  const bool dual = plan.schedule == Schedule::kDualPipe;
  if (dual) plan.pp += plan.pp % 2;
  if (plan.schedule == Schedule::kOneFOneB && plan.pp > 1) plan.interleave = *rc::gen::inRange<base::Count>(1, 4);
  base::Count m = *rc::gen::inRange<base::Count>(1, 9);
  if (plan.interleave > 1 || plan.schedule == Schedule::kZeroBubble) m *= plan.pp;
  if (dual) m = 2 * (plan.pp + m);
  plan.global_batch = plan.dp * plan.micro_batch * m;
  plan.gpus = plan.tp * plan.pp * plan.cp * plan.dp;
  plan.recompute = *rc::gen::element(Recompute::kNone, Recompute::kSelective, Recompute::kFull);
  plan.recomputed.norms = *rc::gen::arbitrary<bool>();
  plan.recomputed.activations = *rc::gen::arbitrary<bool>();
  plan.recomputed.latents = *rc::gen::arbitrary<bool>();
  plan.sequence_parallel = *rc::gen::arbitrary<bool>();
  plan.zero = *rc::gen::inRange(0, 4);
  plan.precision = *rc::gen::element(machine::Precision::kFp32, machine::Precision::kTf32, machine::Precision::kBf16);
  plan.overlap = {share(), share(), share(), share(), share()};

  Gpt& model = run.model;
  const base::Count heads = 16 * power(2);
  base::Count layers = plan.pp + *rc::gen::inRange<base::Count>(0, 30);
  if (plan.interleave > 1) {  // the longest stages have equal chunks
    layers =
        plan.pp * plan.interleave * *rc::gen::inRange<base::Count>(1, 5) - *rc::gen::inRange<base::Count>(0, plan.pp);
    layers = std::max(layers, plan.pp * plan.interleave - 2);
  }
  if (folded(plan.schedule)) layers += plan.pp;  // two chunks at least
  model = gpt(heads, heads * 64 * power(1), layers, *rc::gen::element<base::Count>(0, 32000, 50257), 1024 * power(3));
  model.gated = *rc::gen::arbitrary<bool>();
  model.biases = *rc::gen::arbitrary<bool>();
  model.dropout = *rc::gen::arbitrary<bool>();
  model.tied_embedding = *rc::gen::arbitrary<bool>();
  model.attention = *rc::gen::element(Attention::kMaterialised, Attention::kFlash);
  model.causal = *rc::gen::inRange(0, 4) > 0;
  model.kv_heads = heads / power(3);
  if (*rc::gen::inRange(0, 4) == 0) {
    model.latent = {.q_rank = 1536, .kv_rank = 512, .rope_width = 64, .nope_width = 128, .value_width = 128};
  }
  if (*rc::gen::inRange(0, 3) == 0) {
    // Some layer has experts, or nothing could be spread over ep.
    const base::Count dense = *rc::gen::inRange<base::Count>(0, std::min<base::Count>(3, layers));
    model.experts = {.count = 16,
                     .top_k = 2,
                     .ffn = 2048,
                     .shared = *rc::gen::inRange<base::Count>(0, 2),
                     .dense_layers = dense,
                     .every = std::min(power(1), layers - dense)};
    plan.ep = std::min<base::Count>(power(4), plan.dp * plan.cp);
    plan.capacity_factor = *rc::gen::element(0.0, 0.0, 0.5, 1.5);
    plan.stack.pads_experts = *rc::gen::arbitrary<bool>();
  }
  plan.stack.eager = *rc::gen::arbitrary<bool>();
  plan.stack.whole_parameters = *rc::gen::arbitrary<bool>();
  plan.stack.late_gradients = *rc::gen::arbitrary<bool>();
  plan.stack.loss_chunks = *rc::gen::element(1.0, 8.0);
  plan.deferred_sync = plan.zero > 1 && *rc::gen::arbitrary<bool>();
  run.system = a100(100.0 * power(4));
  run.system.accelerator.peak_flops_per_s[3] = 624e12;  // an A100 of the imagination
  return run;
}

}  // namespace orrery::cluster

namespace rc {
template <>
struct Arbitrary<orrery::cluster::Training> {
  static Gen<orrery::cluster::Training> arbitrary() {
    return gen::exec([] { return orrery::cluster::random_run(); });
  }
};
}  // namespace rc
