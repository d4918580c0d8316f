// A boundary between stages is crossed 2 (m v + p - 1) times, or as v_schedules.h says where stages are folded to a V:
// a rank sends its 1/t of the tensor, the receivers gather it among themselves (Megatron-LM's scatter-gather, Narayanan
// 2021, sec. 4.1); without that every rank sends the whole tensor, which all of its group have. A microbatch costs
// every stage one exchange with either neighbour, an activation one way while a gradient goes the other way; where
// messages are not paired, all but the end stages of a pipeline wait for four of them, one after the other. At the end
// gradients are added over the replicas, experts' over fewer of them, and the tied embedding's between first and last
// stage.
//
// ZeRO (arXiv 1910.02054): stage 1 scatters gradients and gathers weights once, the volume of an all-reduce; stage 2
// keeps no whole gradients and scatters them every microbatch; stage 3 keeps no whole weights and gathers them for
// every pass. With one microbatch that is 1, 1 and 1.5 times plain data parallelism. Cost: at most eight collectives.
//
// Stack::whole_parameters is another stage 1: a tensor belongs to one rank, so that gradients are added whole on all
// replicas, by buckets that they are copied to and from, and after the step each of n owners sends its part round the
// ring, when the one before has: n times the n - 1 hops, with nothing beside. A rank that has no tensor sends nothing.
// Example: 256 ranks of a 7 B model of 227 tensors, 8 a node, 20 us between nodes and 3.4 inside: 227 (31 x 20 + 224 x
// 3.4) us, 0.31 s. Source: InternLM at c18bec9 and InternEvo at c628a8c, internlm/solver/optimizer:
// _partition_param_list, _reduce_and_copy, broadcast_params of hybrid_zero_optim.py; reduce_tensor of utils.py without
// a rank to reduce to; overlap_sync_param=False in configs.
#include "orrery/engines/cluster/model/outside.h"

#include <algorithm>

#include "orrery/describe/collective/collective.h"
#include "orrery/engines/cluster/pipeline/v_schedules.h"

namespace orrery::cluster {
namespace {

using collective::Operation;

// Seconds of one boundary crossing.
double boundary(const LayerContext& c) {
  const Plan& plan = c.plan;
  const collective::Fabric& fabric = c.system.fabric;
  const double state = c.element * static_cast<double>(plan.micro_batch) * c.model.crossing / plan.cp;
  const int level = collective::level_between(fabric, static_cast<int>(stage_stride(plan)));
  if (!plan.scatter_gather) return collective::message_seconds(fabric, level, state);
  double seconds = collective::message_seconds(fabric, level, state / plan.tp);
  if (plan.tp > 1) {
    seconds += collective::volume_bound(Operation::kAllGather, fabric,
                                        collective::place(fabric, static_cast<int>(plan.tp), 1), state);
  }
  return seconds;
}

// Seconds to add the gradients of the matrix that embedding and logits share, on the first and the last stage.
double tied_embedding(const LayerContext& c) {
  const Plan& plan = c.plan;
  if (!c.model.logits.tied || logits_stage(plan) == 0 || c.model.table == 0 || plan.lora_rank > 0) return 0;
  const auto apart = static_cast<int>(stage_stride(plan) * (plan.pp - 1));
  return collective::seconds(Operation::kAllReduce, c.system.fabric, collective::place(c.system.fabric, 2, apart),
                             c.element * c.model.table / plan.tp);
}

// Of `seconds` that a collective takes by rings, what its bytes would take on the links that all of a node's
// accelerators share. A part of a torus keeps those that it has busy all the time.
double link_seconds(Operation operation, const collective::Fabric& fabric, const collective::Group& group, double bytes,
                    double seconds) {
  const collective::Network& links = fabric.levels[0];
  if (links.topology == collective::Topology::kTorus || links.topology == collective::Topology::kRing) return seconds;
  const double sent = (operation == Operation::kAllReduce ? 2 : 1) * bytes * (group.ranks - 1) / group.ranks;
  return std::min(seconds, sent / links.rate());
}

// Of a ring that leaves its node NCCL's messages are of its protocol of full rate, Simple, of which a hop over NVLink
// takes this long (NCCL, hwLat of its tuning: ring, NVLINK); networks between nodes state theirs.
constexpr double kHopInside = 3.4e-6;

// Seconds of the hops inside nodes of a ring through sharded weights or gradients.
double steps_inside(Operation operation, const collective::Fabric& fabric, const collective::Group& group) {
  const int inside = group.joined[0];
  if (inside >= group.ranks || fabric.levels[0].topology != collective::Topology::kSwitch) return 0;
  return (operation == Operation::kAllReduce ? 2 : 1) * kHopInside * (group.ranks - group.ranks / inside);
}

// FSDP reads each gathered weight once and writes it, in 16 bits, for the forward and again for the backward pass.
constexpr double kCopiedWeights = 8;
// Gradients go into the buffer that is scattered, in 16 bits; NCCL divides them by the ranks.
constexpr double kCopiedGradients = 4;
// InternEvo reads and writes each gradient to put it into a bucket, and again to take it out.
constexpr double kBucketPasses = 4;

// Of one kind of collective over a whole iteration.
struct Sent {
  double seconds = 0, moved = 0;

  Sent operator+(const Sent& other) const { return {seconds + other.seconds, moved + other.moved}; }
};

// Tensors of a stage's weights, experts apart: a layer's matrices, a gate's apart, and norms; at the ends the table, a
// norm, the logits' matrix.
double tensors(const LayerContext& c) {
  double count = 3;
  for (const LayerKind& kind : c.model.kinds)
    count += static_cast<double>(kind.layers) / static_cast<double>(c.plan.pp) *
             (static_cast<double>(kind.matrices.size()) + (kind.gates > 0 ? 1 : 0) + kind.parts);
  return count;
}

// Seconds in which each of `owners` of a group broadcasts its part of `bytes`, one after the other.
double broadcasts(const LayerContext& c, const collective::Group& group, double bytes, double owners) {
  if (bytes <= 0) return 0;
  const collective::Fabric& fabric = c.system.fabric;
  const double once = collective::seconds(Operation::kAllGather, fabric, group, bytes);
  const double hops = collective::seconds(Operation::kAllGather, fabric, group, 0);
  return once + (owners - 1) * hops + owners * steps_inside(Operation::kAllGather, fabric, group);
}

// Over `ranks` replicas that are `stride` apart in their stage, of `params` parameters on each in so many tensors,
// `trained` of which have gradients and change in the step.
GradientSync sync(const LayerContext& c, double params, double trained, double tensors, base::Count ranks,
                  base::Count stride, double m) {
  if (ranks <= 1 || params <= 0) return {};
  const Plan& plan = c.plan;
  const collective::Fabric& fabric = c.system.fabric;
  // Every unit's by itself, so that its steps count each time.
  const double parts = plan.zero >= 2 ? sync_units(c.model, plan) : 1;
  // Nothing is sent where nothing is trained.
  const auto send = [&](Operation operation, const collective::Group& among, double bytes) -> Sent {
    if (bytes <= 0) return {};
    const double seconds = parts * (collective::seconds(operation, fabric, among, bytes / parts) +
                                    (plan.zero >= 2 ? steps_inside(operation, fabric, among) : 0));
    return {seconds, link_seconds(operation, fabric, among, bytes, seconds)};
  };
  const collective::Group group = of_stage(c.system, plan, ranks, stride);
  const double gradient = plan.reduce_fp32 ? 4 : c.element;
  if (plan.zero == 0) {
    const Sent all = send(Operation::kAllReduce, group, gradient * trained);
    return {0, all.seconds, 0, all.moved};
  }
  if (plan.zero == 1 && plan.stack.whole_parameters) {
    const base::Count held = plan.shard > 0 ? std::min(plan.shard, ranks) : ranks;
    const Sent all = send(Operation::kAllReduce, group, gradient * trained);
    const double copied = c.operators.memory_bound_seconds(kBucketPasses * gradient * trained);
    const double owners = std::min(static_cast<double>(held), tensors);
    const collective::Group near = of_stage(c.system, plan, held, stride);
    return {0, all.seconds, 0, all.moved, copied + broadcasts(c, near, c.element * trained, owners)};
  }
  const double gathered = plan.zero == 3 ? params : trained;
  Sent gather, scatter;
  if (const base::Count held = plan.shard; held > 0 && held < ranks) {
    // Hybrid sharding: within groups of `held`, and the sums of equal parts across them.
    const collective::Group near = of_stage(c.system, plan, held, stride);
    const collective::Group across = of_stage(c.system, plan, ranks / held, stride * held);
    gather = send(Operation::kAllGather, near, c.element * gathered);
    scatter = send(Operation::kReduceScatter, near, gradient * trained) +
              send(Operation::kAllReduce, across, gradient * trained / static_cast<double>(held));
  } else {
    gather = send(Operation::kAllGather, group, c.element * gathered);
    scatter = send(Operation::kReduceScatter, group, gradient * trained);
  }
  // Sharded gradients are scattered in every microbatch, unless that is put off; sharded weights are gathered for every
  // pass.
  const double gathers = plan.zero == 3 ? 2 * m : 1, scatters = plan.zero >= 2 && !plan.deferred_sync ? m : 1;
  const bool copies = kin(plan.stack.name) == StackName::kPytorchFsdp && plan.zero == 3;
  const double copied =
      copies ? m * c.operators.memory_bound_seconds(kCopiedWeights * params + kCopiedGradients * trained) : 0;
  return {gathers * gather.seconds, scatters * scatter.seconds, gathers * gather.moved, scatters * scatter.moved,
          copied};
}

}  // namespace

double sync_units(const Model& model, const Plan& plan) {
  return std::max(1.0, static_cast<double>(model.layers) / static_cast<double>(plan.pp)) + 1;
}

Outside outside(const LayerContext& c, const StageParameters& fullest) {
  const Plan& plan = c.plan;
  const double m = whole_microbatches(plan);
  Outside result;
  if (plan.pp > 1) {
    result.crossing = boundary(c);
    const double each = plan.paired_messages || plan.pp == 2 ? 2 : 4;
    result.steady = each * m * static_cast<double>(chunks(plan));
    result.ends = folded(plan.schedule) ? v_crossings(plan.schedule, plan.pp, microbatches(plan)) : 2 * (plan.pp - 1.0);
    result.embedding = tied_embedding(c);
  }
  const bool frozen = plan.lora_rank > 0;
  const double trained = frozen ? fullest.adapters : fullest.dense;
  const GradientSync dense = sync(c, fullest.dense + fullest.adapters, trained, tensors(c), replicas(plan), plan.tp, m);
  const base::Count holders = expert_replicas(plan);  // each has some of many experts' tensors
  const GradientSync experts = sync(c, fullest.experts, frozen ? 0 : fullest.experts, static_cast<double>(holders),
                                    holders, expert_tp(plan) * plan.ep, m);
  result.gradients = {dense.gather + experts.gather, dense.reduce + experts.reduce,
                      dense.gather_moved + experts.gather_moved, dense.reduce_moved + experts.reduce_moved,
                      dense.alone + experts.alone};
  return result;
}

}  // namespace orrery::cluster
