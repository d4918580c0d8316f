#include "orrery/verbs/train/repeated_arguments.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/describe/machine/operator.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::verbs {
namespace {

// Fields of a plan that its own options say (verbs/train/plan_search_text.cc).
bool said_by_the_plan(const std::string& path) {
  constexpr std::array<const char*, 6> kSaid{
      "plan.expert_tp", "plan.shard", "plan.order", "plan.offload_activations", "plan.offload_optimizer", "plan.idle"};
  return std::find(kSaid.begin(), kSaid.end(), path) != kSaid.end() || path.starts_with("plan.recomputed.");
}

}  // namespace

std::string asked_options(const TrainRequest& request) {
  std::string out;
  if (request.seq) out += fmt::format(" --seq {}", *request.seq);
  if (request.precision) out += fmt::format(" --precision {}", machine::name(*request.precision));
  if (request.attention)
    out += fmt::format(" --attention {}", cluster::name_of(*request.attention, cluster::attentions()));
  if (request.overlap)
    out +=
        request.overlap->empty() ? " --overlap none" : fmt::format(" --overlap {}", fmt::join(*request.overlap, ","));
  if (request.efficiency) out += fmt::format(" --efficiency {}", *request.efficiency);
  if (request.half_efficiency > 0) out += fmt::format(",{}", request.half_efficiency);
  for (const base::Override& set : request.overrides)
    if (!said_by_the_plan(set.path)) out += fmt::format(" --set {}={}", set.path, set.value);
  return out;
}

}  // namespace orrery::verbs
