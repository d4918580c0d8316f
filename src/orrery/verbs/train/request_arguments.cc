#include "orrery/verbs/train/request_arguments.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/field.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/machine/operator.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::verbs {
namespace {

struct Given {
  std::string option, path, value;
};

std::vector<Given> given_by_options(const TrainRequest& request) {
  std::vector<Given> all;
  const auto number = [&](const char* option, const char* path, const std::optional<base::Count>& value) {
    if (value) all.push_back({fmt::format("{} {}", option, *value), path, std::to_string(*value)});
  };
  const auto word = [&](const char* option, const char* path, const std::string& value) {
    all.push_back({fmt::format("{} {}", option, value), path, value});
  };
  if (!request.plans.most_gpus) number("--gpus", "gpus", request.gpus);
  if (request.plans.batches.empty()) number("--global-batch", "global_batch", request.global_batch);
  number("--micro-batch", "micro_batch", request.micro_batch);
  number("--tp", "tp", request.tp);
  number("--pp", "pp", request.pp);
  number("--dp", "dp", request.dp);
  number("--ep", "ep", request.ep);
  number("--cp", "cp", request.cp);
  number("--interleave", "interleave", request.interleave);
  if (request.schedule) word("--schedule", "schedule", cluster::name_of(*request.schedule, cluster::schedules()));
  if (request.recompute)
    word("--recompute", "recompute", cluster::name_of(*request.recompute, cluster::recomputations()));
  if (!request.stack.empty()) word("--stack", "stack", request.stack);
  if (request.zero >= 0) word("--zero", "zero", std::to_string(request.zero));
  if (request.sequence_parallel) all.push_back({"--sequence-parallel", "sequence_parallel", "true"});
  return all;
}

// Whether both texts give the field the same value; a text that is none is refused where it is read.
bool same(const std::string& path, const std::string& a, const std::string& b) {
  if (a == b) return true;
  cluster::Plan plan;
  const base::Fields fields = cluster::fields(plan);
  const base::Field* field = base::find_field(fields, path);
  if (field == nullptr || path == "schedule") return false;
  if (!field->set(a)) return true;
  const base::FieldValue first = field->get();
  return !field->set(b) || field->get() == first;
}

// Fields of a plan that its own options say (verbs/train/plan_search_text.cc).
bool said_by_the_plan(const std::string& path) {
  constexpr std::array<const char*, 6> kSaid{
      "plan.expert_tp", "plan.shard", "plan.order", "plan.offload_activations", "plan.offload_optimizer", "plan.idle"};
  return std::find(kSaid.begin(), kSaid.end(), path) != kSaid.end() || path.starts_with("plan.recomputed.");
}

}  // namespace

void refuse_contradictions(const TrainRequest& request, const base::Overrides& set) {
  base::Diagnostics found;
  for (const Given& given : given_by_options(request))
    for (const base::Override& field : set)
      if (field.path == given.path && !same(given.path, given.value, field.value))
        found
            .error("O1103", fmt::format("`{}` and `--set plan.{}={}` contradict each other", given.option, field.path,
                                        field.value))
            .hint("leave one of the two out");
  found.throw_if_errors();
}

std::string asked_options(const TrainRequest& request) {
  std::string out;
  if (request.seq) out += fmt::format(" --seq {}", *request.seq);
  if (request.mtp && *request.mtp != 0) out += fmt::format(" --mtp {}", std::max<base::Count>(0, *request.mtp));
  if (request.precision) out += fmt::format(" --precision {}", machine::name(*request.precision));
  if (request.attention)
    out += fmt::format(" --attention {}", cluster::name_of(*request.attention, cluster::attentions()));
  if (request.overlap)
    out += request.overlap->empty() ? " --overlap none"
                                    : fmt::format(" --overlap {}", base::joined(*request.overlap, ","));
  if (request.efficiency) out += fmt::format(" --efficiency {}", *request.efficiency);
  if (request.half_efficiency > 0) out += fmt::format(",{}", request.half_efficiency);
  for (const base::Override& set : request.overrides)
    if (!said_by_the_plan(set.path)) out += fmt::format(" --set {}={}", set.path, set.value);
  return out;
}

}  // namespace orrery::verbs
