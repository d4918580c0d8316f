#include "orrery/verbs/train/plans/plan_search.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/engines/cluster/search/optimize.h"
#include "orrery/engines/cluster/search/plan_conflict.h"
#include "orrery/engines/cluster/search/space.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/verbs/train/plans/forced_plan.h"
#include "orrery/verbs/train/software.h"

namespace orrery::verbs {
namespace {

using base::Count;
using cluster::Variable;

constexpr Count kMostGpus = 1'000'000;  // where neither request nor system limits them
constexpr Count kUsualTop = 5;

bool said(const TrainRequest& request, const std::set<std::string>& set, Variable variable) {
  if (set.count(cluster::name(variable)) > 0) return true;
  switch (variable) {
    case Variable::kGlobalBatch:
      return true;
    case Variable::kTp:
      return request.tp.has_value();
    case Variable::kPp:
      return request.pp.has_value();
    case Variable::kDp:
      return request.dp.has_value();
    case Variable::kCp:
      return request.cp.has_value();
    case Variable::kEp:
      return request.ep.has_value();
    case Variable::kMicroBatch:
      // AMPeD's efficiency is of one microbatch.
      return request.micro_batch.has_value() || request.half_efficiency > 0;
    case Variable::kSchedule:
      return request.schedule.has_value();
    case Variable::kInterleave:
      return request.interleave.has_value();
    case Variable::kRecompute:
      return request.recompute.has_value();
    case Variable::kSequenceParallel:
      return request.sequence_parallel;
    case Variable::kZero:
      return request.zero >= 0;
    case Variable::kExpertTp:
    case Variable::kShard:
    case Variable::kOffloadActivations:
    case Variable::kOffloadOptimizer:
    case Variable::kOrder:
      break;
  }
  return false;
}

// Whether the model, the system and the software leave anything to choose.
bool matters(Variable variable, const TrainedModel& trained) {
  const auto can = [&](const char* name) { return (trained.plan.stack.lacks & cluster::feature(name)) == 0; };
  const bool reaches_host = trained.system.accelerator.host_bytes_per_s > 0;
  switch (variable) {
    case Variable::kEp:
      return trained.model.mixes() && can("expert_parallelism");
    case Variable::kExpertTp:
      return trained.model.mixes() && can("cut_experts") && can("whole_experts");
    case Variable::kCp:
      return can("context_parallelism");
    case Variable::kSchedule:
      return can("1f1b") + can("gpipe") + can("zero_bubble") + can("dual_pipe") + can("zb_v") + can("v_half") +
                 can("v_min") >
             1;
    case Variable::kInterleave:
      return can("interleaved");
    case Variable::kSequenceParallel:
      return can("sequence_parallelism");
    case Variable::kZero:
      return can("zero_1") || can("zero_2") || can("zero_3");
    case Variable::kShard:
      return can("hybrid_sharding");
    case Variable::kOffloadActivations:
      return reaches_host && can("offloaded_activations");
    case Variable::kOffloadOptimizer:
      return reaches_host && can("offloaded_optimizer");
    case Variable::kOrder:
      return can("stages_inside_replicas") || can("any_order");
    case Variable::kGlobalBatch:
    case Variable::kTp:
    case Variable::kPp:
    case Variable::kDp:
    case Variable::kMicroBatch:
    case Variable::kRecompute:
      break;
  }
  return true;
}

bool gpus_said(const TrainRequest& request, const std::set<std::string>& set) {
  return request.gpus.has_value() || set.count("gpus") > 0;
}

cluster::Space space_of(const TrainRequest& request, const std::set<std::string>& set, const TrainedModel& trained) {
  cluster::Space space;
  space.base = trained.plan;
  const bool counted = gpus_said(request, set);
  const Count most = most_accelerators(trained.system);
  space.most_gpus = request.plans.most_gpus.value_or(counted ? trained.plan.gpus : most);
  for (const Variable variable : cluster::kVariables)
    if (said(request, set, variable)) space.of(variable) = {get(trained.plan, variable)};
  if (!request.plans.batches.empty()) space.of(Variable::kGlobalBatch) = request.plans.batches;
  if (request.schedule && space.open(Variable::kInterleave)) {
    // Interleaving has a name of its own.
    space.of(Variable::kInterleave) = {1};
    if (request.schedule == cluster::PipelineChoice::kInterleaved) {
      space.of(Variable::kInterleave).clear();
      for (Count chunks = 2; chunks <= std::max<Count>(2, trained.model.layers); ++chunks)
        space.of(Variable::kInterleave).push_back(chunks);
    }
  }
  space.waived = cluster::given_features(space);
  return space;
}

cluster::Objective objective_of(const TrainRequest& request, const std::set<std::string>& set,
                                const TrainedModel& trained) {
  cluster::Objective objective;
  const PlanQuestion& asked = request.plans;
  if (!asked.objective.empty()) objective.metrics = asked.objective;
  objective.front = asked.front;
  objective.by_sequence = asked.batches.size() > 1;
  objective.price_per_gpu_hour = trained.system.price_per_gpu_hour;
  objective.watts_per_gpu = trained.system.watts_per_gpu;
  objective.reliability = asked.reliability;
  if (gpus_said(request, set))
    objective.least_gpus = trained.plan.gpus + trained.plan.idle;
  else if (!objective.front &&
           objective.metrics.front() != cluster::Metric::kAccelerators)  // nobody wants all there are
    objective.metrics.insert(objective.metrics.begin(), cluster::Metric::kAccelerators);
  return objective;
}

// Of the unit of work.
double shared_out(std::optional<double> whole, double units) {
  return whole ? *whole / units : std::numeric_limits<double>::infinity();
}

cluster::PlanLimits limits_of(const TrainRequest& request, const cluster::Objective& objective,
                              const TrainedModel& trained) {
  cluster::PlanLimits limits;
  const double capacity = trained.system.accelerator.memory_bytes;
  limits.memory = std::min(capacity, request.plans.most_memory.value_or(capacity));
  double units = 1;
  if (trained.tokens > 0) {
    units = trained.tokens / static_cast<double>(trained.model.seq);
    if (!objective.by_sequence) units /= static_cast<double>(trained.plan.global_batch);
  }
  limits.cost = shared_out(request.plans.most_dollars, units);
  limits.seconds = shared_out(request.plans.most_seconds, units);
  return limits;
}

std::string told(const cluster::Condition& condition, const cluster::Space& space, const cluster::PlanLimits& limits,
                 const PlanQuestion& asked) {
  using Kind = cluster::Condition::Kind;
  switch (condition.kind) {
    case Kind::kMemory:
      return fmt::format("{:.4g} GB of memory", limits.memory / 1e9);
    case Kind::kMargin:
      return fmt::format("{:.4g} GB in use, which the margin leaves", limits.in_use / 1e9);
    case Kind::kSoftware:
      return fmt::format("what {} can run", cluster::name_of(space.base.stack.name, cluster::stacks()));
    case Kind::kCost:
      return fmt::format("{:.4g} USD at most", asked.most_dollars.value_or(0));
    case Kind::kSeconds:
      return fmt::format("{:.4g} s at most", asked.most_seconds.value_or(0));
    case Kind::kAccelerators:
      return fmt::format("{} accelerator{}", space.most_gpus, space.most_gpus == 1 ? "" : "s");
    case Kind::kVariable:
      break;
  }
  const cluster::Values& values = space.of(condition.variable);
  std::vector<std::string> names;
  for (const Count value : values) names.push_back(value_name(condition.variable, value));
  if (names.size() > 4) names = {names.front(), "...", names.back()};
  return fmt::format("{} {}", cluster::name(condition.variable), base::joined(names, "|"));
}

// Where none is possible, a plan for the rules to speak of: open degrees are 1, or there are replicas for all
// accelerators.
void take_plain_degrees(const cluster::Space& space, bool all, cluster::Plan& plan) {
  const Count fixed = plan.tp * plan.pp * plan.cp;
  if (all && space.open(Variable::kDp)) plan.dp = std::max<Count>(1, space.most_gpus / fixed);
  plan.gpus = all || fixed > space.most_gpus / plan.dp ? space.most_gpus : fixed * plan.dp;
}

// All that one question is asked with.
struct Search {
  const TrainRequest& request;
  const machine::OperatorModel& operators;
  const base::Budget& budget;
  int threads;
  TrainedModel& trained;
  cluster::Space wide;   // all that is asked about
  cluster::Space space;  // and the part of it that is searched
  cluster::Objective objective;
  cluster::PlanLimits limits;

  cluster::Optimum run(const cluster::Space& in, const cluster::Objective& wanted, const cluster::PlanLimits& within,
                       cluster::SearchOptions options) const {
    options.threads = threads;
    cluster::Optimum found =
        cluster::optimize(trained.model, trained.system, in, wanted, within, operators, budget, options);
    // What a part of the space leaves out its software can do all the same.
    for (cluster::Candidate& each : found.best)
      if (each.plan.stack.name == wide.base.stack.name) each.plan.stack.lacks = wide.base.stack.lacks;
    return found;
  }

  void look_at(const PlanStage& stage) {
    space = space_of_stage(stage.scope, trained.model, trained.system, wide);
    limits.in_use = stage.margin > 0 ? trained.system.accelerator.memory_bytes - stage.margin : cluster::kNever;
  }
};

// The best of the first stage that has any; of the last one otherwise.
cluster::Optimum run_stages(Search& search, const cluster::SearchOptions& options, PlanAnswer& answer) {
  const PlanQuestion& asked = search.request.plans;
  const std::vector<PlanStage> stages = plan_stages(asked.scope, asked.margin, asked.most_memory.has_value(),
                                                    search.trained.system.accelerator.memory_bytes);
  const double memory = search.trained.system.accelerator.memory_bytes;
  if (stages.front().margin >= memory)
    base::fail("O1102",
               fmt::format("`--memory-margin` of {:.6g} GB leaves nothing of an accelerator's {:.6g} GB",
                           stages.front().margin / 1e9, memory / 1e9),
               {}, "it is a share, such as `5%`, or less than that memory");
  cluster::Optimum found;
  for (const PlanStage& stage : stages) {
    search.look_at(stage);
    found = search.run(search.space, answer.objective, search.limits, options);
    answer.scope = stage.scope;
    answer.margin = stage.margin;
    answer.offloads_to_fit = stage.scope == PlanScope::kAll && asked.scope != PlanScope::kAll;
    answer.margin_left = stage.margin < stages.front().margin;
    if (!found.best.empty() || !found.finished) break;
  }
  return found;
}

// What is open and has one value in what is searched is not searched.
void leave_out_fixed(const Search& search, std::vector<std::string>& names) {
  for (const Variable variable : cluster::kVariables)
    if (search.wide.open(variable) && search.space.of(variable).size() == 1)
      names.erase(std::remove(names.begin(), names.end(), cluster::name(variable)), names.end());
}

// The best plan of the same space where plans may offload, too.
void look_at_offloading(const Search& search, PlanAnswer& answer) {
  cluster::Space space = search.space;
  for (const Variable variable : {Variable::kOffloadActivations, Variable::kOffloadOptimizer})
    space.of(variable) = search.wide.of(variable);
  const bool open = search.wide.open(Variable::kOffloadActivations) || search.wide.open(Variable::kOffloadOptimizer);
  if (search.trained.system.accelerator.host_bytes_per_s <= 0 || answer.scope == PlanScope::kAll || !open) return;
  cluster::Objective single = answer.objective;
  single.front = false;
  cluster::Optimum best = search.run(space, single, search.limits, {});
  if (best.finished && !best.best.empty()) answer.offloading = best.best.front();
}

// The plan that lacks the least of what it should have, where none is within the limits.
void take_nearest(const Search& search, PlanAnswer& answer) {
  cluster::Objective lacking = search.objective;
  lacking.front = false;
  lacking.metrics = {cluster::Metric::kMemory};
  cluster::PlanLimits none;
  const bool priced = search.request.plans.most_dollars || search.request.plans.most_seconds;
  if (priced) {
    lacking.metrics = {search.request.plans.most_dollars ? cluster::Metric::kCost : cluster::Metric::kTime};
    none.memory = search.limits.memory;
    none.in_use = search.limits.in_use;
  }
  cluster::Optimum nearest = search.run(search.space, lacking, none, {});
  if (nearest.best.empty() && priced) {
    lacking.metrics = {cluster::Metric::kMemory};
    nearest = search.run(search.space, lacking, {}, {});
  }
  if (nearest.best.empty()) {
    if (!nearest.finished) return;
  } else {
    search.trained.plan = nearest.best.front().plan;
    search.trained.choices = static_cast<Count>(std::min(nearest.certificate.space, 9e15));
  }
  const cluster::Conflict why =
      conflict(search.trained.model, search.trained.system, search.space, search.objective, search.limits,
               most_accelerators(search.trained.system), search.operators, search.budget, search.threads);
  for (const cluster::Condition& condition : why.conditions)
    answer.conflict.push_back(told(condition, search.space, search.limits, search.request.plans));
  answer.conflict_proven = why.smallest;
}

// With what `--why` forces. What is forced is kept, as if it had been given.
cluster::Space forced_space(const Search& search) {
  cluster::Space forced = search.space;
  force(search.request.plans.why, search.trained.model, forced);
  cluster::Space wide = search.wide;
  force(search.request.plans.why, search.trained.model, wide);
  if (forced.of(Variable::kZero) == cluster::Values{3} && search.space.of(Variable::kZero) != cluster::Values{3} &&
      !search.trained.stack_given) {
    const cluster::Overlap overlap = forced.base.overlap;
    formats::orrery::take_stack(of_zero_3(catalogue_directory(), forced.base.stack), forced.base);
    if (search.request.overlap) forced.base.overlap = overlap;
  }
  forced.waived = cluster::given_features(wide);
  return forced;
}

// Why no plan of the space is within the limits: what the best one lacks without them, or which rule all break.
std::string why_none(const Search& search, const cluster::Space& space) {
  cluster::Objective bytes = search.objective;
  bytes.front = false;
  bytes.metrics = {cluster::Metric::kMemory};
  const cluster::Optimum least = search.run(space, bytes, {}, {});
  if (!least.best.empty()) {
    const double needed = least.best.front().iteration.memory.in_use();
    const double there = std::min(search.limits.memory, search.limits.in_use);
    return needed > there
               ? fmt::format("it needs {:.4g} GB of an accelerator's {:.4g} at least", needed / 1e9, there / 1e9)
               : "the limits of time or cost exclude all";
  }
  cluster::Plan plan = cluster::Domain(search.trained.model, search.trained.system, space).first();
  plan.gpus = plan.tp * plan.pp * plan.cp * plan.dp;
  base::Diagnostics broken;
  cluster::check(search.trained.model, search.trained.system, plan, broken);
  if (broken.has_errors()) return broken.all().front().message;
  if (plan.gpus > space.most_gpus) return fmt::format("it takes more than {} accelerators", space.most_gpus);
  return "";
}

}  // namespace

Count most_accelerators(const cluster::System& system) {
  double joined = 1;
  for (int level = 0; level < system.fabric.count; ++level)
    joined *= system.fabric.levels[static_cast<std::size_t>(level)].size > 0
                  ? system.fabric.levels[static_cast<std::size_t>(level)].size
                  : std::numeric_limits<double>::infinity();
  Count most = kMostGpus;
  if (joined < static_cast<double>(most)) most = static_cast<Count>(joined);
  return system.max_gpus > 0 ? std::min(most, system.max_gpus) : most;
}

void refuse_too_many(const TrainedModel& trained, Count gpus, bool open) {
  if (gpus <= most_accelerators(trained.system)) return;
  cluster::Plan plan = trained.plan;
  plan.gpus = gpus;
  base::Diagnostics found;
  cluster::check_spread(trained.system, plan, found);
  std::vector<base::Diagnostic> said;
  for (const base::Diagnostic& each : found.all())
    if (each.code != "O1305" && (each.code != "O1307" || !open)) said.push_back(each);
  if (!said.empty()) throw base::InputError(said);
}

bool searches_plans(const TrainRequest& request, const cluster::Model& model, const std::set<std::string>& set,
                    const std::string& slow_operators) {
  if (!slow_operators.empty()) return false;
  if (request.plans.asked()) return true;
  for (const Variable degree : {Variable::kTp, Variable::kPp, Variable::kDp})
    if (!said(request, set, degree)) return true;
  return model.mixes() && !said(request, set, Variable::kEp);
}

void check_plan_question(const TrainRequest& request, const cluster::Model& model, const cluster::System& system,
                         const std::string& slow_operators) {
  base::Diagnostics found;
  const PlanQuestion& asked = request.plans;
  const auto wants = [&](cluster::Metric metric) {
    return std::find(asked.objective.begin(), asked.objective.end(), metric) != asked.objective.end();
  };
  if (asked.asked() && !slow_operators.empty())
    found
        .error("O1940", fmt::format("`{}` is asked of a search of plans, and none are searched on {}",
                                    asked.first_asked(), slow_operators))
        .note("every other plan has products of its own, which would be mapped or measured first")
        .hint("leave it out: degrees that are not given are the smallest that fit")
        .hint(
            "or search with a system of the catalogue, then give the plan that it finds here: `--plan DIR/plan.yaml`");
  if (asked.most_dollars && system.price_per_gpu_hour <= 0)
    found.error("O1943", fmt::format("a limit of dollars is given, but `{}` has no price", system.name))
        .hint("`--set system.accelerator.price=\"2.5 USD/h\"` gives it one");
  if (wants(cluster::Metric::kGoodput) && asked.reliability.mtbf_s <= 0)
    found.error("O1944", "goodput is asked for, but not how often an accelerator fails")
        .hint(
            "`--mtbf HOURS` says it, as `--mtbf 50000` for Llama 3's H100, and `--checkpoint-time` what a "
            "checkpoint takes");
  const cluster::Reliability& failures = asked.reliability;
  if (!wants(cluster::Metric::kGoodput) && (failures.mtbf_s > 0 || failures.checkpoint_s > 0 || failures.restart_s > 0))
    found
        .error("O1944",
               "failures and checkpoints are told of, but goodput, to which alone they matter, is not asked for")
        .hint("add `--objective goodput`, or leave `--mtbf`, `--checkpoint-time` and `--restart-time` out");
  found.throw_if_errors();
  cluster::Space scratch;
  if (!asked.why.empty()) force(asked.why, model, scratch);
}

std::vector<std::string> open_variables(const TrainRequest& request, const std::set<std::string>& set,
                                        const TrainedModel& trained) {
  std::vector<std::string> names;
  if (!gpus_said(request, set) || request.plans.most_gpus) names.emplace_back("gpus");
  if (request.plans.batches.size() > 1) names.emplace_back("global_batch");
  for (const Variable variable : cluster::kVariables) {
    if (said(request, set, variable) || !matters(variable, trained)) continue;
    const bool named = variable == Variable::kInterleave && request.schedule &&
                       request.schedule != cluster::PipelineChoice::kInterleaved;
    if (!named) names.emplace_back(cluster::name(variable));
  }
  return names;
}

namespace {

// What no choice of degrees mends is said before any is tried: rules about what is given, of which no degree is part.
void refuse_hopeless(const cluster::Space& space, const TrainedModel& trained) {
  constexpr std::array<std::string_view, 3> kRules = {"O1914", "O1917", "O1984"};
  cluster::Plan one = trained.plan;
  for (const Variable variable : cluster::kVariables)
    if (!space.open(variable)) cluster::set(one, variable, space.of(variable).front());
  one.gpus = one.tp = one.pp = one.dp = one.cp = one.ep = one.interleave = one.micro_batch = one.global_batch = 1;
  one.schedule = cluster::Schedule::kOneFOneB;
  one.expert_tp = one.shard = 0;
  base::Diagnostics broken, found;
  cluster::check(trained.model, trained.system, one, broken);
  for (const base::Diagnostic& each : broken.all())
    if (std::find(kRules.begin(), kRules.end(), each.code) != kRules.end()) found.add(each);
  found.throw_if_errors();
}

}  // namespace

void search_plans(const TrainRequest& request, const std::set<std::string>& set,
                  const machine::OperatorModel& operators, const base::Limits& limits, TrainedModel& trained) {
  const base::Budget budget(limits);
  trained.defaulted = open_variables(request, set, trained);
  PlanAnswer& answer = trained.search.emplace();
  answer.objective = objective_of(request, set, trained);
  const cluster::Space wide = space_of(request, set, trained);
  Search search{request, operators, budget, limits.threads, trained, wide, wide, answer.objective, {}};
  refuse_hopeless(search.space, trained);
  search.limits = limits_of(request, answer.objective, trained);
  trained.choices = 0;
  // For the rules to say: more accelerators than there are, or a batch that none counts.
  const cluster::Values& batches = search.space.of(Variable::kGlobalBatch);
  const auto countless = std::find_if(batches.begin(), batches.end(), [&](Count batch) {
    cluster::Plan one;
    one.global_batch = batch;
    one.precision = trained.plan.precision;
    base::Diagnostics broken;
    cluster::check_spread(trained.system, one, broken);
    return broken.has_errors();
  });
  if (countless != batches.end()) trained.plan.global_batch = *countless;
  if (search.space.most_gpus > kMostGpus && most_accelerators(trained.system) == kMostGpus)
    base::fail("O1953",
               fmt::format("plans of {} accelerators are not searched, those of at most {} are", search.space.most_gpus,
                           kMostGpus),
               {}, "give the degrees: `--tp 8 --pp 16 --dp 16384`; what is given is evaluated, not searched");
  if (countless == batches.end()) refuse_too_many(trained, search.space.most_gpus, search.space.open(Variable::kDp));
  if (search.space.most_gpus > most_accelerators(trained.system) || countless != batches.end()) {
    take_plain_degrees(search.space, true, trained.plan);
    return;
  }

  cluster::SearchOptions options;
  options.top = static_cast<std::size_t>(request.plans.top.value_or(kUsualTop));
  options.progress = request.plans.progress;
  // What bounds prove holds without the enumeration, too, and is there first.
  options.enumerate = false;
  cluster::Optimum found = run_stages(search, options, answer);
  if (!found.best.empty()) leave_out_fixed(search, trained.defaulted);
  if (request.plans.certify) {
    options.enumerate = true;
    cluster::Optimum all = search.run(search.space, answer.objective, search.limits, options);
    answer.certified = all.finished;
    if (all.finished) found = std::move(all);
  }
  answer.certificate = found.certificate;
  answer.interrupted = !found.finished || (request.plans.certify && !answer.certified);
  answer.top = std::move(found.best);
  trained.all_choices = found.finished;
  if (answer.top.empty()) {
    if (found.finished) take_nearest(search, answer);
    if (trained.choices == 0) take_plain_degrees(search.space, false, trained.plan);
    return;
  }
  trained.choices = static_cast<Count>(std::min(answer.certificate.space, 9e15));
  trained.plan = answer.top.front().plan;
  trained.plan.idle = answer.idle = cluster::idle(answer.objective, trained.plan);
  if (request.plans.map && !answer.interrupted) {
    cluster::SearchOptions cells;
    cells.cells = true;
    cluster::Objective single = answer.objective;
    single.front = false;
    cluster::Optimum map = search.run(search.space, single, search.limits, cells);
    answer.cells = std::move(map.best);
    answer.interrupted = answer.interrupted || !map.finished;
  }
  if (request.plans.beside) look_at_offloading(search, answer);
  if (!request.plans.why.empty()) {
    const cluster::Space forced = forced_space(search);
    const cluster::Optimum best = search.run(forced, answer.objective, search.limits, {});
    answer.interrupted = answer.interrupted || !best.finished;
    answer.forced = ForcedPlan{request.plans.why, std::nullopt, ""};
    if (!best.best.empty())
      answer.forced->best = best.best.front();
    else if (best.finished)
      answer.forced->reason = why_none(search, forced);
  }
  trained.all_choices = !answer.interrupted;
}

std::string said_conflict(const TrainedModel& trained) {
  if (!trained.search || trained.search->conflict.empty()) return "";
  const std::vector<std::string>& parts = trained.search->conflict;
  std::string who;
  for (std::size_t i = 0; i < parts.size(); ++i)
    who += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  const std::string batch =
      trained.search->objective.by_sequence ? "" : fmt::format(", of a global batch of {}", trained.plan.global_batch);
  return fmt::format("no plan goes with {}{}{}", who, parts.size() > 1 ? " together" : "", batch);
}

base::Diagnostic explain_conflict(const TrainedModel& trained) {
  base::Diagnostics found;
  const PlanAnswer& answer = *trained.search;
  const std::string why = said_conflict(trained);
  auto& no = found.error("O1941", why.empty() ? "no plan is within the limits" : why);
  if (answer.conflict.size() > 1)
    no.note(answer.conflict_proven ? "leave any one of these out and there are plans; no smaller set excludes them all"
                                   : "leave any one of these out and there are plans; time ended the search for a "
                                     "smaller set");
  no.note(trained.choices > 0
              ? "the plan that is shown lacks the least"
              : "the figures are of a plan with these choices, which is none of those that may be taken");
  return found.all().front();
}

}  // namespace orrery::verbs
