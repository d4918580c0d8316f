// Random subspaces of plans, and the best plan found by trying all: loops that know nothing of how a search goes.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/a100_test_util.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/search/optimize.h"

namespace orrery::cluster {

struct Asked {
  Space space;
  Objective objective;
  PlanLimits limits;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  base::Count below(base::Count most) { return std::uniform_int_distribution<base::Count>(0, most - 1)(random_); }
  bool once_in(base::Count n) { return below(n) == 0; }
  template <typename Value>
  Value of(const std::vector<Value>& values) {
    return values[static_cast<std::size_t>(below(static_cast<base::Count>(values.size())))];
  }

 private:
  std::mt19937 random_;
};

// A small model of a random kind.
inline Model random_model(Draw& draw) {
  const base::Count heads = 8 << draw.below(2);
  Gpt model = gpt(heads, heads * 128, 1 + draw.below(9), 32000, 512 << draw.below(3));
  model.kv_heads = heads >> draw.below(3);
  model.gated = draw.once_in(2);
  model.dropout = draw.once_in(2);
  model.biases = draw.once_in(2);
  model.tied_embedding = draw.once_in(2);
  model.attention = draw.once_in(2) ? Attention::kFlash : Attention::kMaterialised;
  if (draw.once_in(3) && model.layers > 2)
    model.experts = {
        .count = 8, .top_k = 2, .ffn = 1024, .dense_layers = draw.below(model.layers), .every = 1 + draw.below(2)};
  return model;
}

inline System random_system(Draw& draw) {
  System system = a100(100.0 * static_cast<double>(1 << draw.below(4)));
  system.accelerator.memory_bytes = 4e9 * static_cast<double>(1 << draw.below(6));
  if (draw.once_in(2)) system.accelerator.host_bytes_per_s = 25e9;
  if (draw.once_in(3)) system.node_size = 4, system.fabric.levels[0].size = 4;
  return system;
}

// What a search keeps as it is given: adapters and the width of what is frozen, a capacity of experts, when gradients
// are made, exchanged and used up, parts of the loss, what is computed again, and whose turns and kernels.
inline void random_question(Draw& draw, const Model& model, Plan& plan) {
  if (draw.once_in(2)) plan.stack.name = static_cast<StackName>(draw.below(4));
  if (draw.once_in(3)) plan.stack.state_bytes = 12, plan.stack.reserve = 0.1, plan.stack.context_bytes = 1e8;
  plan.stack.eager = draw.once_in(3);
  plan.stack.whole_parameters = draw.once_in(3);
  plan.stack.late_gradients = draw.once_in(3);
  plan.stack.keeps_core = draw.once_in(3);
  plan.stack.loss_chunks = draw.once_in(3) ? 8 : 1;
  plan.stack.contention = draw.once_in(2) ? 0.5 : 0;
  plan.stack.offloads_all = draw.once_in(3);
  plan.stack.ends_apart = draw.once_in(3);
  plan.stack.frozen_inputs = draw.once_in(3);
  plan.main_gradients_fp32 = !draw.once_in(4);
  plan.deferred_sync = draw.once_in(4);
  plan.step_in_backward = draw.once_in(6);
  if (draw.once_in(4)) plan.recompute_layers = 1 + draw.below(3);
  if (draw.once_in(3))
    plan.recomputed = {.core = draw.once_in(2), .norms = draw.once_in(2), .mixtures = draw.once_in(2)};
  if (draw.once_in(4)) {
    plan.lora_rank = 16;
    plan.lora_networks = draw.once_in(2);
    plan.frozen_bits = draw.of(std::vector<double>{0, 4, 8});
  }
  if (!model.mixes()) return;
  plan.capacity_factor = draw.of(std::vector<double>{0, 0, 0.5, 1.5});
  plan.stack.pads_experts = draw.once_in(2);
  plan.stack.imbalance = draw.of(std::vector<double>{1, 1.15});
}

// Up to `gpus` accelerators and `batch` sequences; about half of the variables are given.
inline Asked random_space(Draw& draw, const Model& model, const System& system, base::Count gpus, base::Count batch) {
  Asked asked;
  Space& space = asked.space;
  space.most_gpus = 1 + draw.below(gpus);
  space.base.overlap = {0.25 * static_cast<double>(draw.below(5)), 0.25 * static_cast<double>(draw.below(5)),
                        0.25 * static_cast<double>(draw.below(5)), 0.25 * static_cast<double>(draw.below(5)),
                        0.25 * static_cast<double>(draw.below(5))};
  random_question(draw, model, space.base);
  space.of(Variable::kGlobalBatch) = {1 + draw.below(batch)};
  if (draw.once_in(4)) space.of(Variable::kGlobalBatch).push_back(1 + draw.below(batch));
  const auto given = [&](Variable variable, const Values& some, base::Count once_in) {
    if (!draw.once_in(once_in)) return;
    space.of(variable) = {draw.of(some)};
    if (draw.once_in(2)) space.of(variable).push_back(draw.of(some));
  };
  given(Variable::kTp, {1, 2, 4, 8}, 3);
  given(Variable::kPp, {1, 2, 3, 4}, 3);
  given(Variable::kDp, {1, 2, 3, 4}, 8);
  given(Variable::kCp, {1, 2}, 3);
  given(Variable::kEp, {1, 1, 2, 4}, 8);
  given(Variable::kMicroBatch, {1, 1, 2, 3}, 3);
  given(Variable::kSchedule, {0, 1, 2, 3, 4, 5, 6}, 3);
  given(Variable::kInterleave, {1, 1, 2, 3}, 6);
  given(Variable::kRecompute, {0, 1, 2}, 3);
  given(Variable::kSequenceParallel, {0, 1}, 4);
  given(Variable::kZero, {0, 1, 2, 3}, 3);
  given(Variable::kExpertTp, {0, 0, 1, 2}, 3);
  given(Variable::kShard, {0, 0, 2, 4}, 8);
  if (!draw.once_in(8)) space.of(Variable::kOffloadActivations) = {draw.of(Values{0, 0, 0, kWholeShare / 2})};
  if (!draw.once_in(8)) space.of(Variable::kOffloadOptimizer) = {draw.of(Values{0, 0, 0, kWholeShare})};

  if (!draw.once_in(8)) space.of(Variable::kOrder) = {draw.of(Values{0, 0, 1, 2, 3, 4, 5})};
  // Software that lacks a few features, or none.
  if (draw.once_in(2))
    for (base::Count i = draw.below(4); i >= 0; --i)
      space.base.stack.lacks |= Features{1} << draw.below(static_cast<base::Count>(features().size()));
  space.waived = given_features(space);

  const std::vector<Metric> all = {Metric::kTime,   Metric::kCost,    Metric::kEnergy,
                                   Metric::kMemory, Metric::kGoodput, Metric::kAccelerators};
  Objective& objective = asked.objective;
  objective.metrics = {draw.of(all)};
  if (const Metric second = draw.of(all); draw.once_in(2) && second != objective.metrics[0])
    objective.metrics.push_back(second);
  objective.by_sequence = space.of(Variable::kGlobalBatch).size() > 1;
  objective.least_gpus = 1 + draw.below(space.most_gpus);
  objective.price_per_gpu_hour = draw.once_in(2) ? 2.5 : 0;
  objective.watts_per_gpu = draw.once_in(2) ? 400 : 0;
  objective.reliability = {3600.0 * static_cast<double>(1 + draw.below(1000)), static_cast<double>(draw.below(100)),
                           static_cast<double>(draw.below(300))};
  asked.limits.memory = system.accelerator.memory_bytes / static_cast<double>(1 + draw.below(3));
  if (draw.once_in(4)) asked.limits.in_use = 0.8 * system.accelerator.memory_bytes;
  return asked;
}

// Every plan within the limits, by loops over all numbers.
inline std::vector<Candidate> tried_one_by_one(const Model& model, const System& system, const Asked& asked,
                                               const machine::OperatorModel& operators) {
  const Space& space = asked.space;
  const auto allowed = [&](Variable variable, base::Count value) {
    const Values& given = space.of(variable);
    return given.empty() || std::find(given.begin(), given.end(), value) != given.end();
  };
  const auto power_of_two = [](base::Count n) { return (n & (n - 1)) == 0; };
  std::vector<Candidate> found;
  Values batches = space.of(Variable::kGlobalBatch);
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  Plan plan = space.base;
  const auto visit_one = [&] {
    if (!possible(model, system, plan)) return;
    if (needed(model, plan, space.base.stack.lacks & ~space.waived) != 0) return;
    Candidate one{plan, evaluate(model, system, plan, operators)};
    if (one.iteration.memory.total() > asked.limits.memory) return;
    if (one.iteration.memory.in_use() > asked.limits.in_use || !hosts_hold(model, system, plan)) return;
    if (asked.objective.value(Metric::kTime, plan, one.iteration) > asked.limits.seconds) return;
    if (asked.objective.value(Metric::kCost, plan, one.iteration) > asked.limits.cost) return;
    std::size_t at = 0;
    for (const Metric metric : asked.objective.all())
      one.score[at++] = asked.objective.value(metric, plan, one.iteration);
    found.push_back(one);
  };
  // Degrees of more than one accelerator in their order; of equal ones an open variable has the first.
  const auto sequence = [&](Order order) {
    std::string all = name_of(order, orders());
    const auto drop = [&](const char* degree, base::Count size) {
      if (size == 1) all.erase(all.find(degree), 2);
    };
    drop("cp", plan.cp), drop("dp", plan.dp), drop("pp", plan.pp);
    all.erase(std::remove(all.begin(), all.end(), '-'), all.end());
    return all;
  };
  const auto visit = [&] {
    std::vector<std::string> seen;
    for (base::Count order = 0; order < 6; ++order) {
      if (!allowed(Variable::kOrder, order)) continue;
      plan.order = static_cast<Order>(order);
      const std::string own = sequence(plan.order);
      if (space.open(Variable::kOrder) && std::find(seen.begin(), seen.end(), own) != seen.end()) continue;
      seen.push_back(own);
      visit_one();
    }
  };
  // What comes last: of experts, of what is sharded, of what is offloaded.
  const auto further = [&] {
    const bool splits = plan.tp > 1 && model.mixes();
    for (plan.expert_tp = 0; plan.expert_tp <= plan.tp; ++plan.expert_tp) {
      if (!allowed(Variable::kExpertTp, plan.expert_tp)) continue;
      if (space.open(Variable::kExpertTp) &&
          (splits ? plan.expert_tp != 1 && plan.expert_tp != plan.tp : plan.expert_tp > 0))
        continue;
      for (plan.shard = 0; plan.shard <= plan.dp * plan.cp; ++plan.shard) {
        if (!allowed(Variable::kShard, plan.shard)) continue;
        if (space.open(Variable::kShard) && plan.shard > 0 &&
            (plan.shard == replicas(plan) || plan.tp >= system.node_size || plan.shard != system.node_size / plan.tp ||
             plan.shard == 1 || plan.dp * plan.cp % plan.shard != 0))
          continue;
        for (const double activations : {0.0, 0.5, 1.0})
          for (const double optimizer : {0.0, 0.5, 1.0}) {
            plan.offload_activations = activations;
            plan.offload_optimizer = optimizer;
            if (allowed(Variable::kOffloadActivations, get(plan, Variable::kOffloadActivations)) &&
                allowed(Variable::kOffloadOptimizer, get(plan, Variable::kOffloadOptimizer)))
              visit();
          }
      }
    }
  };
  for (const base::Count batch : batches)
    for (plan.tp = 1; plan.tp <= space.most_gpus; ++plan.tp)
      for (plan.cp = 1; allowed(Variable::kTp, plan.tp) && plan.tp * plan.cp <= space.most_gpus; ++plan.cp)
        for (plan.pp = 1; plan.tp * plan.cp * plan.pp <= space.most_gpus; ++plan.pp)
          for (plan.dp = 1; plan.tp * plan.cp * plan.pp * plan.dp <= space.most_gpus; ++plan.dp) {
            if (!allowed(Variable::kCp, plan.cp) || !allowed(Variable::kPp, plan.pp) ||
                !allowed(Variable::kDp, plan.dp))
              continue;
            if ((space.open(Variable::kCp) && !power_of_two(plan.cp)) || batch % plan.dp != 0) continue;
            plan.gpus = plan.tp * plan.cp * plan.pp * plan.dp;
            plan.global_batch = batch;
            for (plan.ep = 1; plan.ep <= std::max<base::Count>(1, model.experts()); ++plan.ep)
              for (plan.micro_batch = 1; plan.micro_batch * plan.dp <= batch; ++plan.micro_batch) {
                if (!allowed(Variable::kEp, plan.ep) || !allowed(Variable::kMicroBatch, plan.micro_batch)) continue;
                if (space.open(Variable::kMicroBatch) && batch % (plan.dp * plan.micro_batch) != 0) continue;
                for (base::Count turns = 0; turns < 7; ++turns)
                  for (plan.interleave = 1; plan.interleave <= std::max<base::Count>(3, model.layers);
                       ++plan.interleave) {
                    if (!allowed(Variable::kSchedule, turns) || !allowed(Variable::kInterleave, plan.interleave))
                      continue;
                    // Where it makes no difference, an open variable has its first value.
                    if (plan.pp == 1 && space.open(Variable::kSchedule) && turns != 0) continue;
                    set(plan, Variable::kSchedule, turns);
                    for (int r = 0; r < 3; ++r)
                      for (int parallel = 0; parallel < 2; ++parallel)
                        for (plan.zero = 0; plan.zero < 4; ++plan.zero) {
                          if (!allowed(Variable::kRecompute, r) || !allowed(Variable::kSequenceParallel, parallel) ||
                              !allowed(Variable::kZero, plan.zero))
                            continue;
                          if (plan.tp == 1 && space.open(Variable::kSequenceParallel) && parallel == 1) continue;
                          if (replicas(plan) == 1 && space.open(Variable::kZero) && plan.zero > 0) continue;
                          plan.recompute = static_cast<Recompute>(r);
                          plan.sequence_parallel = parallel == 1;
                          further();
                        }
                  }
              }
          }
  return found;
}

// The order of a search, written once more.
inline bool better(const Candidate& a, const Candidate& b, std::size_t metrics) {
  for (std::size_t i = 0; i < metrics; ++i)
    if (a.score[i] != b.score[i]) return a.score[i] < b.score[i];
  return comes_before(a.plan, b.plan);
}

// In that order, of equal scores the first alone.
inline std::vector<Candidate> ranked(std::vector<Candidate> all, std::size_t metrics) {
  std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) { return better(a, b, metrics); });
  const auto equal = [&](const Candidate& a, const Candidate& b) {
    for (std::size_t i = 0; i < metrics; ++i)
      if (a.score[i] != b.score[i]) return false;
    return true;
  };
  all.erase(std::unique(all.begin(), all.end(), equal), all.end());
  return all;
}

inline bool same_plan(const Plan& a, const Plan& b) {
  return std::all_of(kVariables.begin(), kVariables.end(),
                     [&](Variable variable) { return get(a, variable) == get(b, variable); });
}

}  // namespace orrery::cluster
