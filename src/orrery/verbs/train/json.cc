#include "orrery/verbs/train/json.h"
#include "orrery/verbs/train/run_operators_text.h"

#include "orrery/present/fields_record.h"
#include "orrery/verbs/train/plan_search_text.h"
#include "orrery/verbs/train/run_figures_json.h"

namespace orrery::verbs {
namespace {

Record<cluster::Description> model() {
  using cluster::Description;
  Record<Description> out = fields_record<Description>();
  return out.add(
      {{"experts", "Of mixtures of experts only.", std::identity(), fields_record<Description>("experts."),
        when([](const Description& m) { return m.sizes.experts.count > 0; })},
       {"latent", "Of models with multi-head latent attention only.", std::identity(),
        fields_record<Description>("latent."), when([](const Description& m) { return m.sizes.latent.kv_rank > 0; })}});
}

Record<cluster::Plan> software() {
  Record<cluster::Plan> out = {{"name", "As in the catalogue.", [](const cluster::Plan& p) {
                                  return cluster::name_of(p.stack.name, cluster::stacks());
                                }}};
  return out.add(fields_record<cluster::Plan>("stack."));
}

Record<cluster::Plan> plan() {
  Record<cluster::Plan> out = fields_record<cluster::Plan>();
  return out.add({{"microbatches", "Of one replica in one iteration.", cluster::microbatches},
                  {"overlap", "Shares of communication that work may hide, by class.", std::identity(),
                   fields_record<cluster::Plan>("overlap.")},
                  {"stack", "The software, by its name and its figures.", std::identity(), software()}});
}

Record<TrainedModel> described() {
  Record<TrainedModel> out = {
      {"name", "As in the catalogue, or the path.", [](const TrainedModel& t) { return t.model.name; }}};
  return out.add(model().of<TrainedModel>(&TrainedModel::description));
}

Record<TrainedModel> config() {
  Record<TrainedModel> out = {
      {"model", "Sizes as evaluated; 0 where the model has no such part, of several sizes the first or last.",
       std::identity(), described()},
      {"system", "Its name.", [](const TrainedModel& t) { return t.system.name; }},
      {"accelerator", "Its name.", [](const TrainedModel& t) { return t.system.accelerator.name; }}};
  out.add(plan().of<TrainedModel>(&TrainedModel::plan));
  return out.add(
      {{"operators", "What timed them: `roofline`, `efficiency`, `chip`, `machine` (this one) or `measurements`.",
        &TrainedModel::operators},
       {"chip", "In the place of the system's accelerator; empty: none.", &TrainedModel::chip},
       {"defaulted", "Degrees that were not given and therefore chosen.", &TrainedModel::defaulted},
       {"assumed", "What was not given and has its default: `micro_batch`, `attention`.", &TrainedModel::assumed}});
}

Record<cluster::Breakdown> breakdown() {
  using cluster::Breakdown;
  return {{"forward", "s of operators of the forward passes.", &Breakdown::forward},
          {"backward", "s of gradients with respect to inputs and weights.", &Breakdown::backward},
          {"recompute", "s of forward work done again.", &Breakdown::recompute},
          {"optimizer", "s of the optimiser's step, and what an iteration costs once.", &Breakdown::optimizer},
          {"tp_exposed", "s of communication that no work hides.", &Breakdown::tp_exposed},
          {"pp_exposed", "As tp_exposed, between stages.", &Breakdown::pp_exposed},
          {"dp_exposed", "As tp_exposed, gradients and sharded weights.", &Breakdown::dp_exposed},
          {"ep_exposed", "As tp_exposed, tokens to experts and back.", &Breakdown::ep_exposed},
          {"cp_exposed", "As tp_exposed, keys and values.", &Breakdown::cp_exposed},
          {"bubble", "s of waiting for other stages.", &Breakdown::bubble}};
}

TrainFigures figures(const TrainedModel& trained) {
  const cluster::Iteration& i = trained.iteration;
  return {i.iteration_s,    i.breakdown, i.hidden,       i.memory, i.memory.total(),
          i.capacity_bytes, i.fits,      i.excess_bytes, i.done,   i.tokens_per_s};
}

Record<TrainingCost> cost() {
  return {{"accelerator_hours", "Of all accelerators together.", &TrainingCost::accelerator_hours},
          {"usd", "At the system's `accelerator.price`; null where it names none.", &TrainingCost::dollars},
          {"kwh", "At the system's `accelerator.power`, hosts and networks apart; null where it names none.",
           &TrainingCost::kilowatt_hours}};
}

Record<TrainedModel> training() {
  Record<TrainedModel> out = {{"tokens", "As asked.", &TrainedModel::tokens},
                              {"seconds", "For them.", &TrainedModel::training_s}};
  return out.add(cost().of<TrainedModel>([](const TrainedModel& t) { return verbs::training_cost(t, t.training_s); }));
}

// A plan of a search, with the objective's values.
Record<cluster::Candidate> candidate() {
  using cluster::Candidate;
  return {
      {"plan", "Its fields.", &Candidate::plan, plan()},
      {"iteration_s", "Seconds of one iteration.", [](const Candidate& c) { return c.iteration.iteration_s; }},
      {"memory_bytes", "Of the fullest accelerator.", [](const Candidate& c) { return c.iteration.memory.total(); }},
      {"mfu", "As of the answer.", [](const Candidate& c) { return c.iteration.done.mfu; }},
      {"tokens_per_s", "Of all accelerators together.", [](const Candidate& c) { return c.iteration.tokens_per_s; }},
      {"breakdown", "As of the answer.", [](const Candidate& c) { return c.iteration.breakdown; }, breakdown()}};
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
      {"choice", "As it was asked.", &ForcedPlan::choice},
      {"best", "The best plan with it; null where there is none.", &ForcedPlan::best, candidate()},
      {"reason", "Where there is none: why; else empty.", &ForcedPlan::reason}};
  return {
      {"objective", "What was least, in turn, or of a front side by side.", names},
      {"front", "Whether `top` is all plans that no other one beats.",
       [](const PlanAnswer& a) { return a.objective.front; }},
      {"top", "The best plans, the answer first; empty where nothing is within the limits.", &PlanAnswer::top,
       candidate()},
      {"values", "Of each plan of `top`, the objective's: s, USD, J, bytes, s of useful work, accelerators.", values},
      {"idle", "Accelerators that are there and that the plan leaves out.", &PlanAnswer::idle},
      {"certified", "Whether every plan was evaluated, as asked by `--certify`.", &PlanAnswer::certified},
      {"map", "With `--map`: the best plan of every tp x pp.", &PlanAnswer::cells, candidate(),
       when([](const PlanAnswer& a) { return !a.cells.empty(); })},
      {"why", "With `--why`.", forced, why, when([](const PlanAnswer& a) { return a.forced.has_value(); })},
      {"conflict", "Where nothing is within the limits: the fewest that exclude every plan.", &PlanAnswer::conflict}};
}

Record<TrainedModel> result() {
  using cluster::Utilisation;
  const auto counted = [](double Utilisation::*figure) {
    return [figure](const TrainedModel& t) { return t.iteration.published.*figure; };
  };
  const Record<TrainedModel> published = {
      {"mfu", "Can exceed 1, since some of it is not done: no share of the peak.", counted(&Utilisation::mfu)},
      {"hfu", "Can exceed 1.", counted(&Utilisation::hfu)},
      {"tflops_per_gpu", "1e12 FLOP/s.", counted(&Utilisation::tflops_per_gpu)},
      {"undone", "What is counted and not done, in words.", &verbs::counted_undone}};
  const auto as_published = [](const TrainedModel& t) -> const TrainedModel& { return t; };
  Record<TrainedModel> out = train_figures().of<TrainedModel>(figures);
  out.add({{"published_count", "The same three as papers count: attention in full, also what a causal mask hides.",
            as_published, published},
           {"expected_error_percent",
            "Two of three measured runs like this one were predicted within it; null where none near it were measured.",
            [](const TrainedModel& t) {
              return t.expected_error ? std::optional<double>(t.expected_error->percent) : std::nullopt;
            }},
           {"expected_error_of", "What those have in common with this run, or why nothing is said.",
            &TrainedModel::expected_error_of},
           {"expected_error_runs", "How many those were; 0: none.",
            [](const TrainedModel& t) { return t.expected_error ? t.expected_error->runs : std::size_t{0}; }},
           {"host_share", "Of `iteration_s`, that it would be shorter if the host issued operators in no time.",
            &TrainedModel::host_share},
           {"parameters", "Of the model.", &TrainedModel::parameters},
           {"active_parameters", "That a token visits.", &TrainedModel::active_parameters},
           {"cost", "Of one iteration.",
            [](const TrainedModel& t) { return verbs::training_cost(t, t.iteration.iteration_s); }, cost()},
           {"training", "With `--tokens`: the whole run.", std::identity(), training(),
            when([](const TrainedModel& t) { return t.tokens > 0; })},
           {"operators", "With `--chip` or `--by-operator`: what an iteration consists of.", std::identity(),
            run_operators_record(), when([](const TrainedModel& t) { return !t.listed.empty(); })},
           {"plan", "As evaluated.", &TrainedModel::plan, plan()}});
  const auto searched = [](const TrainedModel& t) { return t.search.has_value(); };
  const auto answer = [](const TrainedModel& t) -> const PlanAnswer& { return *t.search; };
  out.add(search().of<TrainedModel>(answer).only(searched));
  return out.add({{"config", "Model, system and plan as evaluated.", std::identity(), config()}});
}

Record<TrainedModel> certificate() {
  const auto proven = [](const TrainedModel& t) -> const base::Certificate& { return t.search->certificate; };
  Record<TrainedModel> out = proof().of<TrainedModel>(proven);
  return out.add({{"pruned", "Sets of plans that an argument ruled out, by argument.",
                   [](const TrainedModel& t) { return pruned(t.search->certificate); }},
                  {"seconds", "Of the search.", [](const TrainedModel& t) { return t.search->certificate.seconds; }}});
}

}  // namespace

Record<TrainFigures> train_figures() {
  using cluster::Memory;
  using F = TrainFigures;
  using cluster::HiddenCommunication;
  const Record<HiddenCommunication> hidden = {{"tp", "s", &HiddenCommunication::tp},
                                              {"pp", "s", &HiddenCommunication::pp},
                                              {"dp", "s", &HiddenCommunication::dp},
                                              {"ep", "s", &HiddenCommunication::ep},
                                              {"cp", "s", &HiddenCommunication::cp}};
  const Record<Memory> parts = {{"weights", "Bytes.", &Memory::weights},
                                {"gradients", "Bytes.", &Memory::gradients},
                                {"optimizer", "Bytes.", &Memory::optimizer},
                                {"activations", "Bytes kept for the backward pass.", &Memory::activations},
                                {"buffers", "Bytes of gathered weights, boundary tensors, logits.", &Memory::buffers},
                                {"reserve", "Bytes that the allocator keeps beyond what is in use.", &Memory::reserve}};
  Record<F> memory = parts.of<F>(&F::memory);
  memory.add({{"total", "Sum of the six.", &F::memory_total}});
  return {
      {"iteration_s", "Seconds of one iteration: `global_batch` sequences and the optimiser's step.", &F::iteration_s},
      {"breakdown", "Its terms on the slowest stage; they sum to it.", &F::breakdown, breakdown()},
      {"hidden", "Communication that ran beside work, by class.", &F::hidden, hidden},
      {"memory_bytes", "Of the fullest accelerator.", std::identity(), memory},
      {"capacity_bytes", "Memory of an accelerator; null where AMPeD's file does not tell.", &F::capacity_bytes},
      {"fits", "Whether the total is at most the capacity.", &F::fits},
      {"excess_bytes", "By how much the total exceeds the capacity; 0 where it fits.", &F::excess_bytes},
      {"largest_term", "The largest part of `memory_bytes`.",
       [](const F& f) { return cluster::name(f.memory.largest()); },
       OneOf{{"weights", "gradients", "optimizer", "activations", "buffers"}}},
      {"mfu", "Share of the peak, 0 to 1, counting the model's FLOPs that are done.",
       [](const F& f) { return f.done.mfu; }},
      {"hfu", "As `mfu`, counting also what is computed again.", [](const F& f) { return f.done.hfu; }},
      {"tokens_per_s", "Of all accelerators together.", &F::tokens_per_s},
      {"tflops_per_gpu", "1e12 FLOPs of the model a second, of one accelerator.",
       [](const F& f) { return f.done.tflops_per_gpu; }}};
}

Document<TrainedModel> train_document() {
  return {"train",
          {{"result", "The figures.", std::identity(), result()},
           {"certificate", "Of a search: what is proven of the first objective.", std::identity(), certificate(),
            when([](const TrainedModel& t) { return t.search.has_value(); })}}};
}

}  // namespace orrery::verbs
