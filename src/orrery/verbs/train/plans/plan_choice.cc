#include "orrery/verbs/train/plans/plan_choice.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/inputs/systems/host_room.h"
#include "orrery/verbs/train/operators/operator_times.h"
#include "orrery/verbs/train/plans/open_degrees.h"
#include "orrery/verbs/train/plans/plan_search.h"
#include "orrery/verbs/train/software.h"

namespace orrery::verbs {
namespace {

// Communication that there is none of cannot go beside work. What a plan's file says of it is no question: `-o` writes
// all that its software overlaps.
void warn_of_idle_overlap(const std::set<std::string>& asked, TrainedModel& trained) {
  const cluster::Plan& plan = trained.plan;
  struct Class {
    const char* name;
    base::Count degree;
    double share;
  };
  std::vector<std::string> idle;
  for (const auto& [name, degree, share] :
       {Class{"tp", plan.tp, plan.overlap.tp}, Class{"pp", plan.pp, plan.overlap.pp},
        Class{"dp", plan.dp * plan.cp, plan.overlap.dp}, Class{"ep", plan.ep, plan.overlap.ep},
        Class{"cp", plan.cp, plan.overlap.cp}})
    if (asked.count(std::string("overlap.") + name) > 0 && share > 0 && degree <= 1) idle.emplace_back(name);
  if (idle.empty()) return;
  trained.warnings
      .warning("O1912",
               fmt::format("communication of {} is to overlap with work, and there is none", base::joined(idle, ", ")))
      .note(fmt::format("tp {}, pp {}, dp {}, ep {}, cp {}", plan.tp, plan.pp, plan.dp, plan.ep, plan.cp))
      .hint("leave out classes whose degree is 1, or give `--overlap none`");
}

namespace {

// Parts that are to be computed again and that the model does not have: they change nothing.
void warn_of_absent_parts(const TrainRequest& request, const std::set<std::string>& asked, TrainedModel& trained) {
  const auto any = [&](const auto& has) {
    const std::vector<cluster::LayerKind>& kinds = trained.model.kinds;
    return std::any_of(kinds.begin(), kinds.end(), has);
  };
  const auto matrix = [&](const char* name) {
    return any([&](const cluster::LayerKind& kind) {
      return std::any_of(kind.matrices.begin(), kind.matrices.end(),
                         [&](const cluster::Matrix& one) { return one.name.starts_with(name); });
    });
  };
  const bool mixes = any([](const cluster::LayerKind& kind) { return kind.mixture.count > 0; });
  const cluster::Recomputed& again = trained.plan.recomputed;
  struct Part {
    const char *name, *module;
    bool again, there;
  };
  std::vector<std::string> absent;
  for (const Part& part :
       {Part{"networks", "mlp", again.networks, matrix("FF")}, Part{"mixtures", "moe", again.mixtures, mixes},
        Part{"expert_activations", "moe_act", again.expert_activations, mixes},
        Part{"shared_experts", "shared_experts", again.shared_experts, matrix("shared-")},
        Part{"latents", "mla_up_proj", again.latents,
             any([](const cluster::LayerKind& kind) { return kind.latent.has_value(); })}})
    if (part.again && !part.there && (request.recomputed || asked.count(std::string("recomputed.") + part.name) > 0))
      absent.push_back(fmt::format("`{}` (recomputed.{})", part.module, part.name));
  if (!absent.empty())
    trained.warnings
        .warning("O1916", fmt::format("the model has no {}: computing it again changes nothing",
                                      base::joined(absent, " and no ")))
        .hint("leave out what the model does not have");
}

}  // namespace

GivenDegrees given_degrees(const TrainRequest& request, const std::set<std::string>& set) {
  const auto given = [&](const std::optional<base::Count>& value, const char* field) {
    return value.has_value() || set.count(field) > 0;
  };
  return {given(request.gpus, "gpus"), given(request.tp, "tp"), given(request.pp, "pp"),
          given(request.dp, "dp"),     given(request.ep, "ep"), given(request.cp, "cp")};
}

std::vector<std::string> open_degrees(const GivenDegrees& given, bool experts) {
  std::vector<std::string> names;
  if (!given.gpus) names.emplace_back("gpus");
  if (!given.tp) names.emplace_back("tp");
  if (!given.pp) names.emplace_back("pp");
  if (!given.dp) names.emplace_back("dp");
  if (!given.ep && experts) names.emplace_back("ep");
  if (!given.cp) names.emplace_back("cp");
  return names;
}

// Whether rules that depend on the degrees, and no others, are broken, and several degrees were open.
bool chosen_in_vain(const GivenDegrees& given, const base::Diagnostics& found) {
  if (given.tp && given.pp && (given.dp || given.gpus)) return false;
  return std::all_of(found.all().begin(), found.all().end(), [](const base::Diagnostic& error) {
    return error.code == "O1305" || (error.code >= "O1307" && error.code <= "O1314");
  });
}

// Where operators' times are themselves searched or measured, and where only cp, or ep of a dense model, is left open.
void take_smallest_degrees(const TrainRequest& request, const std::set<std::string>& set, const base::Limits& limits,
                           TrainedModel& trained) {
  const GivenDegrees given = given_degrees(request, set);
  const ChosenDegrees chosen =
      choose_degrees(trained.model, trained.system, trained.plan, given, base::Budget(limits), limits.threads);
  trained.plan = chosen.plan;
  trained.choices = chosen.possible ? chosen.tried : 0;
  trained.all_choices = chosen.all;
  trained.defaulted = open_degrees(given, trained.model.mixes());
  if (request.schedule == cluster::PipelineChoice::kInterleaved && !request.interleave && set.count("interleave") == 0)
    trained.defaulted.emplace_back("interleave");
}

// Of degrees that are given: as many chunks a stage as are fastest and fit, where the software interleaves them.
void take_chunks(const TrainRequest& request, const std::set<std::string>& set, const machine::OperatorModel& operators,
                 TrainedModel& trained) {
  cluster::Plan& plan = trained.plan;
  const bool asked = request.schedule == cluster::PipelineChoice::kInterleaved;
  if (request.interleave || (request.schedule && !asked) || set.count("interleave") > 0 || plan.pp < 2 ||
      plan.schedule != cluster::Schedule::kOneFOneB || !request.plan_file.empty())
    return;
  cluster::Plan best = plan;
  double fastest = std::numeric_limits<double>::infinity();
  for (base::Count chunks = asked ? 2 : 1; chunks <= base::ceil_divide(trained.model.layers, plan.pp); ++chunks) {
    cluster::Plan tried = plan;
    tried.interleave = chunks;
    if (!cluster::possible(trained.model, trained.system, tried) ||
        !cluster::runs_without(trained.model, tried, plan.stack.lacks) ||
        cluster::memory(trained.model, tried).in_use() > trained.system.accelerator.memory_bytes)
      continue;
    const double seconds = cluster::evaluate(trained.model, trained.system, tried, operators).iteration_s;
    if (seconds < fastest) best = tried, fastest = seconds;
  }
  plan = best;
  if (plan.interleave > 1 && !asked) trained.defaulted.emplace_back("interleave");
}

std::string bounded_gap(double gap) {
  return gap < 1 ? fmt::format("none is better by more than {:.2f} %", 100 * gap)
                 : "how good the best is, is not known";
}

// A choice that time has ended: without a plan, or with the best so far.
void say_early_end(TrainedModel& trained) {
  if (trained.all_choices) return;
  const std::string hint = "raise --time-limit, or give some of the degrees";
  if (trained.choices == 0) {
    base::Diagnostics found;
    found
        .error("O1008", fmt::format("the choice of {} ended before one was found that is possible",
                                    base::joined(trained.defaulted, ", ")))
        .hint(hint);
    found.throw_if_errors();
  }
  // What bounds prove holds without the enumeration that was asked for besides.
  if (trained.search && !trained.search->top.empty() && trained.search->certificate.gap == 0) {
    trained.warnings.warning("O1009", "the end came before every plan was evaluated: the answer is not certified")
        .note("bounds prove it, as without `--certify`")
        .hint(hint);
    return;
  }
  trained.warnings
      .warning("O1009", fmt::format("the choice of {} ended early: better ones may be left",
                                    base::joined(trained.defaulted, ", ")))
      .note(trained.search ? fmt::format("{} plans were evaluated; {}", trained.search->certificate.evaluated,
                                         bounded_gap(trained.search->certificate.gap))
                           : fmt::format("{} that are possible were looked at", trained.choices))
      .hint(hint);
}

// Experts are asked of a dense model, whatever else is chosen.
void refuse_experts_of_none(const TrainedModel& trained) {
  if (trained.model.mixes() || trained.plan.ep <= 1) return;
  base::Diagnostics found;
  cluster::check(trained.model, trained.system, trained.plan, found);
  for (const base::Diagnostic& each : found.all())
    if (each.code == "O1314") throw base::InputError({each});
}

void warn_of_loose_limit(const TrainRequest& request, TrainedModel& trained) {
  const double there = trained.system.accelerator.memory_bytes;
  const double asked = request.plans.most_memory.value_or(0);
  if (asked <= there) return;
  trained.warnings
      .warning("O1943", fmt::format("`--max-memory` of {:.4g} GB limits nothing: an accelerator of `{}` has {:.4g} GB",
                                    asked / 1e9, trained.system.name, there / 1e9))
      .hint("leave it out; other accelerators are another `--system`, or `--set system.accelerator.memory=SIZE`");
}

}  // namespace

void choose_plan(Setting& setting) {
  const TrainRequest& request = setting.request;
  TrainedModel& trained = setting.trained;
  const std::string slow_operators = setting.machine.chip ? fmt::format("the chip `{}`", setting.machine.chip->name())
                                     : setting.here       ? "this machine"
                                                          : "";
  check_plan_question(request, trained.model, trained.system, slow_operators);
  refuse_experts_of_none(trained);
  warn_of_loose_limit(request, trained);
  if (searches_plans(request, trained.model, setting.set, slow_operators)) {
    const TrainOperators operators(request, trained, nullptr, nullptr, setting.limits, setting.products, setting.array);
    search_plans(request, setting.set, operators.model(), setting.limits, trained);
  } else {
    const GivenDegrees given = given_degrees(request, setting.set);
    if (given.gpus && !given.dp) refuse_too_many(trained, trained.plan.gpus, true);
    take_smallest_degrees(request, setting.set, setting.limits, trained);
    if (slow_operators.empty() && trained.choices > 0) {
      const TrainOperators operators(request, trained, nullptr, nullptr, setting.limits, setting.products,
                                     setting.array);
      take_chunks(request, setting.set, operators.model(), trained);
    }
    if (!request.micro_batch && setting.set.count("micro_batch") == 0) trained.assumed.emplace_back("micro_batch");
  }
  warn_of_idle_overlap(setting.asked, trained);
  warn_of_absent_parts(request, setting.asked, trained);
  if (trained.description.sizes.heads > 0 && trained.description.said.count("attention") == 0)
    trained.assumed.emplace_back("attention");
  say_early_end(trained);
  base::Diagnostics found;
  cluster::check(trained.model, trained.system, trained.plan, found);
  check_hosts(trained.model, trained.system, trained.plan, found);
  if (found.has_errors() && chosen_in_vain(given_degrees(request, setting.set), found))
    refuse_choice_of(trained.defaulted, found, said_conflict(trained));
  found.throw_if_errors();
  warn_of_software(trained, trained.warnings);
}

}  // namespace orrery::verbs
