#include "orrery/verbs/train/json.h"
#include "orrery/verbs/train/run_operators_text.h"

#include "orrery/present/fields_record.h"
#include "orrery/present/fused_attention_record.h"
#include "orrery/verbs/train/plan_search_text.h"
#include "orrery/verbs/train/run_figures_json.h"

namespace orrery::verbs {
namespace {

Record<cluster::Description> model() {
  using cluster::Description;
  Record<Description> out = fields_record<Description>();
  return out.add(
      {{"experts", "Only of mixtures of experts: their sizes.", std::identity(), fields_record<Description>("experts."),
        when([](const Description& m) { return m.sizes.experts.count > 0; })},
       {"latent", "Only of models with multi-head latent attention: its sizes.", std::identity(),
        fields_record<Description>("latent."), when([](const Description& m) { return m.sizes.latent.kv_rank > 0; })}});
}

Record<cluster::Plan> software() {
  Record<cluster::Plan> out = {{"name", "Name as in the catalogue.", [](const cluster::Plan& p) {
                                  return cluster::name_of(p.stack.name, cluster::stacks());
                                }}};
  return out.add(fields_record<cluster::Plan>("stack."));
}

Record<cluster::Plan> plan() {
  Record<cluster::Plan> out = fields_record<cluster::Plan>();
  return out.add({{"microbatches", "Microbatches of one replica in one iteration.", cluster::microbatches},
                  {"overlap", "Share of communication that work may hide, by class, 0 to 1.", std::identity(),
                   fields_record<cluster::Plan>("overlap.")},
                  {"stack", "The software stack, by its name and its figures.", std::identity(), software()}});
}

Record<FusedAttention> fused() {
  using F = FusedAttention;
  return {{"unfused_s", "Time of one iteration without, in seconds.", &F::apart_s},
          {"attention_s",
           "Attention in forward passes of an iteration, repeated ones included, one rank of every stage taken "
           "together, in seconds.",
           &F::forward_s},
          {"attention_unfused_s", "The same without.", &F::forward_apart_s},
          {"attention", "Each attention that was asked for.", &F::asked, fused_attention_record()}};
}

Record<TrainedModel> described() {
  Record<TrainedModel> out = {
      {"name", "Name as in the catalogue, or the path.", [](const TrainedModel& t) { return t.model.name; }}};
  return out.add(model().of<TrainedModel>(&TrainedModel::description));
}

Record<TrainedModel> config() {
  Record<TrainedModel> out = {
      {"model", "Sizes of the model as evaluated; 0 where it has no such part, of several sizes the first or last.",
       std::identity(), described()},
      {"system", "Name of the system.", [](const TrainedModel& t) { return t.system.name; }},
      {"accelerator", "Name of the accelerator.", [](const TrainedModel& t) { return t.system.accelerator.name; }}};
  out.add(plan().of<TrainedModel>(&TrainedModel::plan));
  return out.add(
      {{"operators",
        "What timed the operators: `roofline`, `efficiency`, `chip`, `machine` (this one) or `measurements`.",
        &TrainedModel::operators},
       {"chip", "Chip in the place of the system's accelerator; empty: none.", &TrainedModel::chip},
       {"defaulted", "Degrees that were not given and were therefore chosen.", &TrainedModel::defaulted},
       {"assumed", "Settings that were not given and have their default: `micro_batch`, `attention`.",
        &TrainedModel::assumed}});
}

Record<cluster::Breakdown> breakdown() {
  using cluster::Breakdown;
  return {
      {"forward", "Forward passes, in seconds.", &Breakdown::forward},
      {"backward", "Gradients of inputs and weights, in seconds.", &Breakdown::backward},
      {"recompute", "Forward work that is done again, in seconds.", &Breakdown::recompute},
      {"optimizer", "The optimiser's step and other costs once an iteration, in seconds.", &Breakdown::optimizer},
      {"tp_exposed", "Tensor-parallel communication that no work hides, in seconds.", &Breakdown::tp_exposed},
      {"pp_exposed", "Pipeline communication between stages that no work hides, in seconds.", &Breakdown::pp_exposed},
      {"dp_exposed", "Data-parallel communication (gradients, sharded weights) that no work hides, in seconds.",
       &Breakdown::dp_exposed},
      {"ep_exposed", "Expert-parallel communication (tokens to experts and back) that no work hides, in seconds.",
       &Breakdown::ep_exposed},
      {"cp_exposed", "Context-parallel communication (keys and values) that no work hides, in seconds.",
       &Breakdown::cp_exposed},
      {"bubble", "Waiting for other pipeline stages, in seconds.", &Breakdown::bubble}};
}

TrainFigures figures(const TrainedModel& trained) {
  const cluster::Iteration& i = trained.iteration;
  return {i.iteration_s, i.breakdown, i.hidden,       i.memory,       i.memory.total(), i.capacity_bytes,
          i.fits,        i.uncertain, i.memory_error, i.excess_bytes, i.done,           i.tokens_per_s};
}

Record<TrainingCost> cost() {
  return {
      {"accelerator_hours", "Hours of all accelerators together.", &TrainingCost::accelerator_hours},
      {"usd", "Price in USD at the system's `accelerator.price`; null where it names none.", &TrainingCost::dollars},
      {"kwh",
       "Energy in kWh at the system's `accelerator.power`, times its `accelerator.pue` where that is given, without "
       "hosts "
       "and networks; null where it names no power.",
       &TrainingCost::kilowatt_hours}};
}

Record<TrainedModel> training() {
  Record<TrainedModel> out = {{"tokens", "Tokens of the training, as given by `--tokens`.", &TrainedModel::tokens},
                              {"seconds", "Time of the training, in seconds.", &TrainedModel::training_s}};
  return out.add(cost().of<TrainedModel>([](const TrainedModel& t) { return verbs::training_cost(t, t.training_s); }));
}

// A plan of a search, with the objective's values.
Record<cluster::Candidate> candidate() {
  using cluster::Candidate;
  return {
      {"plan", "Settings of the plan.", &Candidate::plan, plan()},
      {"iteration_s", "Time of one iteration, in seconds.", [](const Candidate& c) { return c.iteration.iteration_s; }},
      {"memory_bytes", "Memory of the fullest accelerator, in bytes.",
       [](const Candidate& c) { return c.iteration.memory.total(); }},
      {"mfu", "Model FLOPs utilisation: share of the peak, 0 to 1.",
       [](const Candidate& c) { return c.iteration.done.mfu; }},
      {"tokens_per_s", "Tokens a second of all accelerators together.",
       [](const Candidate& c) { return c.iteration.tokens_per_s; }},
      {"breakdown", "Terms of the iteration on the slowest stage, in seconds; they sum to it.",
       [](const Candidate& c) { return c.iteration.breakdown; }, breakdown()}};
}

Record<PlanAnswer> search() {
  const auto values = [](const PlanAnswer& a) {
    std::vector<std::vector<double>> all;
    for (const cluster::Candidate& each : a.top)
      all.emplace_back(each.score.begin(),
                       each.score.begin() + static_cast<std::ptrdiff_t>(a.objective.metrics.size()));
    return all;
  };
  const auto names = [](const PlanAnswer& a) {
    std::vector<std::string> all;
    for (const cluster::Metric metric : a.objective.metrics) all.push_back(metric_name(metric));
    return all;
  };
  const auto forced = [](const PlanAnswer& a) -> const ForcedPlan& { return *a.forced; };
  const Record<ForcedPlan> why = {
      {"choice", "The forced choice, as given to `--why`.", &ForcedPlan::choice},
      {"best", "The best plan that has the choice; null where there is none.", &ForcedPlan::best, candidate()},
      {"reason", "Why there is no plan with the choice; empty where there is one.", &ForcedPlan::reason}};
  return {
      {"objective", "What was minimised, in this order, or side by side for a front.", names},
      {"front", "Whether `top` is a Pareto front: all plans that no other one beats.",
       [](const PlanAnswer& a) { return a.objective.front; }},
      {"top", "The best plans, the answer first; empty where none is within the limits.", &PlanAnswer::top,
       candidate()},
      {"values", "The objective's values of each plan of `top`: s, USD, J, bytes, s of useful work, or accelerators.",
       values},
      {"space", "Which plans were searched: as recipes are, all that offload nothing, or all.",
       [](const PlanAnswer& a) {
         return a.scope == PlanScope::kUsual ? "usual" : a.scope == PlanScope::kUnoffloaded ? "unoffloaded" : "all";
       },
       OneOf{{"usual", "unoffloaded", "all"}}},
      {"margin_bytes", "Memory of an accelerator that every plan of the space leaves free, in bytes.",
       &PlanAnswer::margin},
      {"offloading", "The best plan where plans may offload, too; null where that was not looked at.",
       &PlanAnswer::offloading, candidate()},
      {"idle", "Accelerators of the system that the plan does not use.", &PlanAnswer::idle},
      {"certified", "Whether every plan was evaluated, as `--certify` asks.", &PlanAnswer::certified},
      {"map", "With `--map`: the best plan of every tp x pp.", &PlanAnswer::cells, candidate(),
       when([](const PlanAnswer& a) { return !a.cells.empty(); })},
      {"why", "With `--why`: the best plan that has the forced choice.", forced, why,
       when([](const PlanAnswer& a) { return a.forced.has_value(); })},
      {"conflict", "Where no plan is within the limits: a smallest set of limits that exclude every plan.",
       &PlanAnswer::conflict}};
}

Record<OptimumError> optimum() {
  return {{"recipes", "Published recipes beside which the best plans were looked for.", &OptimumError::recipes},
          {"least", "Two of three ratios are at least this.", &OptimumError::least},
          {"median", "Median of the ratios.", &OptimumError::median},
          {"most", "Two of three ratios are at most this.", &OptimumError::most}};
}

Record<UsualPlan> usual_plan_record() {
  Record<UsualPlan> out = {{"rule", "The rule, and who gave it.", &UsualPlan::rule}};
  return out.add(candidate().of<UsualPlan>(&UsualPlan::found));
}

// What a chart of the pipeline is drawn of.
Record<cluster::Iteration> pipeline() {
  using cluster::Iteration;
  using cluster::StageTimes;
  const Record<StageTimes> stage = {
      {"forward_s", "Its forward pass.", &StageTimes::forward},
      {"backward_s", "Its backward pass, recomputation and weight gradients included.", &StageTimes::backward},
      {"weight_gradient_s", "The part of it that is put off, by schedules that do so; else 0.",
       &StageTimes::weight_gradient},
      {"apart_s", "DualPipe: more, where the two passes do not go side by side.", &StageTimes::apart},
      {"second_forward_s", "Stages folded to a V: what of `forward_s` the second chunk takes; else 0.",
       &StageTimes::second_forward},
      {"second_backward_s", "The same of `backward_s`.", &StageTimes::second_backward},
      {"second_weight_gradient_s", "The same of `weight_gradient_s`.", &StageTimes::second_weight_gradient}};
  return {{"first", "The first stage, on one microbatch.", &Iteration::first, stage},
          {"middle", "The stages between.", &Iteration::middle, stage},
          {"last", "The last stage.", &Iteration::last, stage},
          {"boundary_s", "From stage to stage, of one microbatch, that no work hides.", &Iteration::boundary_s},
          {"drain_s", "After the pipeline: gradients and the optimiser.", &Iteration::drain_s}};
}

Record<PublishedPlan> published_plan() {
  using P = PublishedPlan;
  return {{"title", "Title of the table of measured runs.", &P::title},
          {"row", "Row of the table.", [](const P& p) { return p.run.row; }},
          {"measured_s", "Measured time of an iteration, in seconds.", &P::measured_s},
          {"predicted_s", "Predicted time of an iteration, in seconds.", &P::predicted_s},
          {"fits", "Whether it is predicted to fit; it ran.", &P::fits},
          {"plan", "Settings of the plan.", [](const P& p) { return p.run.plan; }, plan()}};
}

Record<TrainedModel> result() {
  using cluster::Utilisation;
  const auto counted = [](double Utilisation::*figure) {
    return [figure](const TrainedModel& t) { return t.iteration.published.*figure; };
  };
  const Record<TrainedModel> published = {
      {"mfu", "MFU as papers count it; it can exceed 1, since some of the work is not done.",
       counted(&Utilisation::mfu)},
      {"hfu", "HFU as papers count it; it can exceed 1, since some of the work is not done.",
       counted(&Utilisation::hfu)},
      {"tflops_per_gpu", "1e12 FLOP/s of one accelerator, as papers count them.",
       counted(&Utilisation::tflops_per_gpu)},
      {"undone", "Work that is counted and not done, in words.", &verbs::counted_undone}};
  const auto as_published = [](const TrainedModel& t) -> const TrainedModel& { return t; };
  Record<TrainedModel> out = train_figures().of<TrainedModel>(figures);
  out.add(
      {{"published_count",
        "MFU, HFU and FLOP/s as papers count them: attention in full, also what a causal mask hides.", as_published,
        published},
       {"expected_error_percent",
        "Two of three measured runs like this one were predicted within this percentage; null where none near it "
        "were measured.",
        [](const TrainedModel& t) {
          return t.expected_error ? std::optional<double>(t.expected_error->percent) : std::nullopt;
        }},
       {"expected_error_of", "What those runs have in common with this one, or why there are none.",
        &TrainedModel::expected_error_of},
       {"expected_error_runs", "Number of those runs; 0: none.",
        [](const TrainedModel& t) { return t.expected_error ? t.expected_error->runs : std::size_t{0}; }},
       {"optimum_error",
        "Of the best plan of a search: predicted over measured speed of published recipes; null otherwise.",
        &TrainedModel::optimum_error, optimum()},
       {"published", "A run of the same question that was measured; null where none is known.",
        &TrainedModel::published, published_plan()},
       {"usual",
        "What a rule of thumb gives, beside a searched plan; null where degrees were given, of other software than "
        "Megatron's and of mixtures of experts.",
        &TrainedModel::usual, usual_plan_record()},
       {"pipeline", "Seconds of a stage on one microbatch, of which the pipeline consists; null without one.",
        [](const TrainedModel& t) { return t.plan.pp > 1 ? std::optional(t.iteration) : std::nullopt; }, pipeline()},
       {"host_share", "Share of `iteration_s` that would be saved if the host issued operators in no time, 0 to 1.",
        &TrainedModel::host_share},
       {"parameters", "Parameters of the model.", &TrainedModel::parameters},
       {"active_parameters", "Parameters that a token visits.", &TrainedModel::active_parameters},
       {"usd_per_hour", "Price of an accelerator, in USD an hour; 0 where the system names none.",
        [](const TrainedModel& t) { return t.system.price_per_gpu_hour; }},
       {"price_source", "Where that price is from, and when; empty where there is none.",
        [](const TrainedModel& t) { return price_source(t.system); }},
       {"pue", "Power usage effectiveness of the site, by which `kwh` is multiplied; 1 where it is not given.",
        [](const TrainedModel& t) { return t.system.pue; }},
       {"cost", "Cost of one iteration.",
        [](const TrainedModel& t) { return verbs::training_cost(t, t.iteration.iteration_s); }, cost()},
       {"training", "With `--tokens`: time and cost of the whole training.", std::identity(), training(),
        when([](const TrainedModel& t) { return t.tokens > 0; })},
       {"operators", "With `--chip` or `--by-operator`: operators of an iteration.", std::identity(),
        run_operators_record(), when([](const TrainedModel& t) { return !t.listed.empty(); })},
       {"fused", "With `--fuse`: attention as one operator of the chip, in forward passes.",
        [](const TrainedModel& t) { return t.fused; }, fused(),
        when([](const TrainedModel& t) { return t.fused.has_value(); })},
       {"plan", "The plan, as evaluated.", &TrainedModel::plan, plan()}});
  const auto searched = [](const TrainedModel& t) { return t.search.has_value(); };
  const auto answer = [](const TrainedModel& t) -> const PlanAnswer& { return *t.search; };
  out.add(search().of<TrainedModel>(answer).only(searched));
  return out.add({{"config", "Model, system and plan, as evaluated.", std::identity(), config()}});
}

Record<TrainedModel> certificate() {
  const auto proven = [](const TrainedModel& t) -> const base::Certificate& { return t.search->certificate; };
  Record<TrainedModel> out = proof().of<TrainedModel>(proven);
  return out.add({{"pruned", "Sets of plans that were ruled out, by the argument that did it.",
                   [](const TrainedModel& t) { return pruned(t.search->certificate); }},
                  {"seconds", "Time of the search, in seconds.",
                   [](const TrainedModel& t) { return t.search->certificate.seconds; }}});
}

}  // namespace

Record<TrainFigures> train_figures() {
  using cluster::Memory;
  using F = TrainFigures;
  using cluster::HiddenCommunication;
  const Record<HiddenCommunication> hidden = {
      {"tp", "Tensor-parallel communication, in seconds.", &HiddenCommunication::tp},
      {"pp", "Pipeline communication, in seconds.", &HiddenCommunication::pp},
      {"dp", "Data-parallel communication, in seconds.", &HiddenCommunication::dp},
      {"ep", "Expert-parallel communication, in seconds.", &HiddenCommunication::ep},
      {"cp", "Context-parallel communication, in seconds.", &HiddenCommunication::cp}};
  const Record<Memory> parts = {
      {"weights", "Bytes of weights.", &Memory::weights},
      {"gradients", "Bytes of gradients.", &Memory::gradients},
      {"optimizer", "Bytes of the optimiser's state.", &Memory::optimizer},
      {"activations", "Bytes of activations kept for the backward pass.", &Memory::activations},
      {"buffers", "Bytes of gathered weights, boundary tensors, logits.", &Memory::buffers},
      {"reserve", "Bytes that the allocator keeps beyond what is in use.", &Memory::reserve}};
  Record<F> memory = parts.of<F>(&F::memory);
  memory.add({{"total", "Bytes of all six together.", &F::memory_total}});
  return {
      {"iteration_s", "Time of one iteration, in seconds: `global_batch` sequences and the optimiser's step.",
       &F::iteration_s},
      {"breakdown", "Terms of the iteration on the slowest stage, in seconds; they sum to it.", &F::breakdown,
       breakdown()},
      {"hidden", "Communication that ran beside work, by class, in seconds.", &F::hidden, hidden},
      {"memory_bytes", "Memory of the fullest accelerator, in bytes.", std::identity(), memory},
      {"capacity_bytes", "Memory of an accelerator, in bytes; null where AMPeD's file does not say.",
       &F::capacity_bytes},
      {"fits", "Whether `memory_bytes.total` is at most `capacity_bytes`.", &F::fits},
      {"uncertain",
       "Whether what is in use, 1 +- `memory_error` times, is both more and less than the capacity: then it may fit "
       "or not.",
       &F::uncertain},
      {"memory_error", "Share by which the memory in use may be off; null of AMPeD's equations.", &F::memory_error},
      {"excess_bytes", "Bytes by which the total exceeds the capacity; 0 where it fits.", &F::excess_bytes},
      {"largest_term", "The largest part of `memory_bytes`.",
       [](const F& f) { return cluster::name(f.memory.largest()); },
       OneOf{{"weights", "gradients", "optimizer", "activations", "buffers"}}},
      {"mfu", "Model FLOPs utilisation: share of the peak, 0 to 1, counting the model's FLOPs that are done.",
       [](const F& f) { return f.done.mfu; }},
      {"hfu", "Hardware FLOPs utilisation: share of the peak, 0 to 1, counting also what is computed again.",
       [](const F& f) { return f.done.hfu; }},
      {"tokens_per_s", "Tokens a second of all accelerators together.", &F::tokens_per_s},
      {"tflops_per_gpu", "1e12 FLOPs of the model a second, of one accelerator.",
       [](const F& f) { return f.done.tflops_per_gpu; }}};
}

Document<TrainedModel> train_document() {
  return {"train",
          {{"result", "Time, memory and cost of an iteration.", std::identity(), result()},
           {"certificate", "Of a search: what is proven of the first objective.", std::identity(), certificate(),
            when([](const TrainedModel& t) { return t.search.has_value(); })}}};
}

}  // namespace orrery::verbs
