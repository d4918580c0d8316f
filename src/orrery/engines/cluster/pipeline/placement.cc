#include "orrery/engines/cluster/pipeline/placement.h"

#include <algorithm>

#include "orrery/describe/collective/spread.h"

namespace orrery::cluster {
namespace {

using base::Count;

// Ranks of a stage that stand nearer to each other than the next stage does.
Count inside_stages(const Plan& plan) {
  switch (plan.order) {
    case Order::kCpDpPp:
    case Order::kDpCpPp:
      return plan.tp * plan.cp * plan.dp;
    case Order::kCpPpDp:
      return plan.tp * plan.cp;
    case Order::kDpPpCp:
      return plan.tp * plan.dp;
    case Order::kPpCpDp:
    case Order::kPpDpCp:
      break;
  }
  return plan.tp;
}

bool stages_outermost(const Plan& plan) {
  return plan.pp == 1 || plan.order == Order::kCpDpPp || plan.order == Order::kDpCpPp;
}

bool replicas_first(Order order) {
  return order == Order::kDpCpPp || order == Order::kDpPpCp || order == Order::kPpDpCp;
}

}  // namespace

Count stage_stride(const Plan& plan) {
  return inside_stages(plan);
}

collective::Group of_stage(const System& system, const Plan& plan, Count ranks, Count stride) {
  const Count inside = inside_stages(plan);
  const auto placed = [&](Count near, Count step, Count copies, Count apart) {
    return collective::place(system.fabric, static_cast<int>(near), static_cast<int>(step), static_cast<int>(copies),
                             static_cast<int>(apart));
  };
  if (stages_outermost(plan) || (ranks - 1) * stride < inside) return placed(ranks, stride, 1, 1);
  if (stride >= inside) return placed(ranks, stride * plan.pp, 1, 1);
  const Count near = std::max<Count>(1, inside / stride);
  return placed(near, stride, base::ceil_divide(ranks, near), inside * plan.pp);
}

collective::Group context_ranks(const System& system, const Plan& plan) {
  return of_stage(system, plan, plan.cp, replicas_first(plan.order) ? plan.tp * plan.dp : plan.tp);
}

collective::Group expert_ranks(const System& system, const Plan& plan) {
  return of_stage(system, plan, plan.ep, expert_tp(plan));
}

double nodes_of(const System& system, const Plan& plan, Count ranks) {
  const auto whole = static_cast<double>(ranks), node = static_cast<double>(system.node_size);
  const auto inside = static_cast<double>(inside_stages(plan));
  if (stages_outermost(plan) || whole <= inside) return whole / node;
  return std::min(whole * static_cast<double>(plan.pp) / node, whole / inside * std::max(1.0, inside / node));
}

Orders different_orders(Count cp, Count dp, Count pp) {
  Orders orders;
  const auto add = [&](Order order, bool differs) {
    if (differs) orders.all[static_cast<std::size_t>(orders.count++)] = order;
  };
  const bool c = cp > 1, d = dp > 1, p = pp > 1;
  add(Order::kCpDpPp, true);
  add(Order::kCpPpDp, d && p);
  add(Order::kDpCpPp, c && d);
  add(Order::kDpPpCp, c && p);
  add(Order::kPpCpDp, c && d && p);
  add(Order::kPpDpCp, c && d && p);
  return orders;
}

}  // namespace orrery::cluster
