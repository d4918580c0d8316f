#include "orrery/report/train_json.h"

#include "orrery/report/answer.h"
#include "orrery/report/schemas.h"
#include "orrery/report/train_figures.h"
#include "orrery/report/train_table.h"

namespace orrery::report {
namespace {

using scenario::TrainedModel;
using scenario::TrainingCost;

template <typename Value>
OneOf names_of(const std::vector<std::pair<std::string, Value>>& named) {
  OneOf out;
  for (const auto& [name, value] : named) out.choices.push_back(name);
  return out;
}

Record<cluster::Model> model() {
  using cluster::Experts;
  using cluster::LatentAttention;
  using cluster::Model;
  const Record<Experts> experts = {{"count", "Routed experts.", &Experts::count},
                                   {"top_k", "Experts that a token visits.", &Experts::top_k},
                                   {"ffn", "Inner width of one expert.", &Experts::ffn},
                                   {"shared", "Experts that every token visits.", &Experts::shared},
                                   {"dense_layers", "The first layers, which have none.", &Experts::dense_layers},
                                   {"every", "After those, every n-th layer has them.", &Experts::every}};
  const Record<LatentAttention> latent = {
      {"q_rank", "Width of the queries' latent; 0: queries are projected directly.", &LatentAttention::q_rank},
      {"kv_rank", "Width of the latent of keys and values.", &LatentAttention::kv_rank},
      {"rope_width", "Per head: the part of query and key that carries the position.", &LatentAttention::rope_width},
      {"nope_width", "Per head: the rest of query and key.", &LatentAttention::nope_width},
      {"value_width", "Per head.", &LatentAttention::value_width}};
  return {{"name", "As in the catalogue, or the path.", &Model::name},
          {"layers", "Blocks.", &Model::layers},
          {"hidden", "Width of the residual stream.", &Model::hidden},
          {"heads", "Of queries.", &Model::heads},
          {"kv_heads", "Of keys and values.", &Model::kv_heads},
          {"head_width", "Elements of one head.", &Model::head_width},
          {"ffn", "Inner width of the feed-forward network.", &Model::ffn},
          {"gated", "Whether gate and up projections stand side by side (SwiGLU).", &Model::gated},
          {"causal", "Whether a token attends only to itself and those before it.", &Model::causal},
          {"vocab", "Rows of the embedding.", &Model::vocab},
          {"seq", "Tokens of a training sequence.", &Model::seq},
          {"attention", "Whether scores go through memory.",
           [](const Model& m) { return cluster::name_of(m.attention, cluster::attentions()); },
           names_of(cluster::attentions())},
          {"experts", "Of mixtures of experts only.", &Model::experts, experts,
           when([](const Model& m) { return m.experts.count > 0; })},
          {"latent", "Of models with multi-head latent attention only.", &Model::latent, latent,
           when([](const Model& m) { return m.latent.kv_rank > 0; })}};
}

template <typename Share>
Record<Share> by_class(const char* what) {
  return {{"tp", what, &Share::tp},
          {"pp", what, &Share::pp},
          {"dp", what, &Share::dp},
          {"ep", what, &Share::ep},
          {"cp", what, &Share::cp}};
}

Record<TrainedModel> config() {
  using cluster::Plan;
  Record<TrainedModel> out = {
      {"model", "Sizes as evaluated.", &TrainedModel::model, model()},
      {"system", "Its name.", [](const TrainedModel& t) { return t.system.name; }},
      {"accelerator", "Its name.", [](const TrainedModel& t) { return t.system.accelerator.name; }}};
  const Record<Plan> plan = {
      {"gpus", "Accelerators.", &Plan::gpus},
      {"global_batch", "Sequences of one iteration.", &Plan::global_batch},
      {"micro_batch", "Sequences of one microbatch.", &Plan::micro_batch},
      {"microbatches", "Of one replica in one iteration.", cluster::microbatches},
      {"tp", "Degree of tensor parallelism.", &Plan::tp},
      {"pp", "Pipeline stages.", &Plan::pp},
      {"dp", "Replicas.", &Plan::dp},
      {"ep", "Degree of expert parallelism.", &Plan::ep},
      {"cp", "Degree of context parallelism.", &Plan::cp},
      {"interleave", "Chunks of layers on each stage.", &Plan::interleave},
      {"schedule", "Of the pipeline.", schedule_name, names_of(cluster::schedules())},
      {"recompute", "Activations that the backward pass computes again.",
       [](const Plan& p) { return cluster::name_of(p.recompute, cluster::recomputations()); },
       names_of(cluster::recomputations())},
      {"sequence_parallel", "Whether norms and dropout are split along the sequence.", &Plan::sequence_parallel},
      {"zero", "Stage of ZeRO, 0 to 3.", &Plan::zero},
      {"precision", "Of matrix products.",
       [](const Plan& p) { return cluster::name_of(p.precision, cluster::precisions()); },
       names_of(cluster::precisions())},
      {"reduce_fp32", "Whether gradients are summed over replicas in 32 bits.", &Plan::reduce_fp32},
      {"main_gradients_fp32", "Whether gradients are accumulated in 32 bits.", &Plan::main_gradients_fp32},
      {"scatter_gather", "Whether messages between stages are sent in parts and gathered.", &Plan::scatter_gather},
      {"paired_messages", "Whether stages send and receive at the same time.", &Plan::paired_messages},
      {"fused_accumulation", "Whether matrix products add to the gradients themselves.", &Plan::fused_accumulation},
      {"converted_gradients", "Whether gradients are converted before they are summed.", &Plan::converted_gradients},
      {"overlap", "Shares of communication that work may hide, by class.", &Plan::overlap,
       by_class<cluster::Overlap>("0 to 1.")}};
  out.add(plan.of<TrainedModel>(&TrainedModel::plan));
  return out.add(
      {{"operators", "What timed them: `roofline`, `efficiency` or `measurements`.", &TrainedModel::operators},
       {"defaulted", "Degrees that were not given and therefore chosen.", &TrainedModel::defaulted}});
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
  return out.add(
      cost().of<TrainedModel>([](const TrainedModel& t) { return scenario::training_cost(t, t.training_s); }));
}

Record<TrainedModel> result() {
  using cluster::Utilisation;
  const Record<Utilisation> published = {{"mfu", "Can exceed 1.", &Utilisation::mfu},
                                         {"hfu", "Can exceed 1.", &Utilisation::hfu},
                                         {"tflops_per_gpu", "1e12 FLOP/s.", &Utilisation::tflops_per_gpu}};
  Record<TrainedModel> out = train_figures().of<TrainedModel>(figures);
  return out.add(
      {{"published_count", "The same three as papers count: attention in full, also what a causal mask hides.",
        [](const TrainedModel& t) -> const auto& { return t.iteration.published;
}
, published
}  // namespace
, {"parameters", "Of the model.", &TrainedModel::parameters},
    {"active_parameters", "That a token visits.", &TrainedModel::active_parameters},
    {"cost", "Of one iteration.",
     [](const TrainedModel& t) { return scenario::training_cost(t, t.iteration.iteration_s); }, cost()},
    {"training", "With `--tokens`: the whole run.", std::identity(), training(),
     when([](const TrainedModel& t) { return t.tokens > 0; })},
{
  "config", "Model, system and plan as evaluated.", std::identity(), config()
}
}  // namespace orrery::report
);
}

Record<TrainDocument> answer() {
  return document<TrainDocument>(
      "train", kInputs | kWarnings | kTiming,
      [](const TrainDocument& d) {
    return Envelope{d.version, {}, &d.trained->inputs, &d.trained->warnings, d.seconds}; },
      {{"result", "The figures.", [](const TrainDocument& d) -> const auto& { return *d.trained;
}
, result()
}
});
}

}  // namespace

Record<TrainFigures> train_figures() {
  using cluster::Breakdown;
  using cluster::Memory;
  using F = TrainFigures;
  const Record<Breakdown> breakdown = {
      {"forward", "s of operators of the forward passes.", &Breakdown::forward},
      {"backward", "s of gradients with respect to inputs and weights.", &Breakdown::backward},
      {"recompute", "s of forward work done again.", &Breakdown::recompute},
      {"optimizer", "s of the optimiser's step, and what an iteration costs once.", &Breakdown::optimizer},
      {"tp_exposed", "s of communication that no work hides.", &Breakdown::tp_exposed},
      {"pp_exposed", "As tp_exposed, between stages.", &Breakdown::pp_exposed},
      {"dp_exposed", "As tp_exposed, gradients and sharded weights.", &Breakdown::dp_exposed},
      {"ep_exposed", "As tp_exposed, tokens to experts and back.", &Breakdown::ep_exposed},
      {"cp_exposed", "As tp_exposed, keys and values.", &Breakdown::cp_exposed},
      {"bubble", "s of waiting for other stages.", &Breakdown::bubble}};
  const Record<Memory> parts = {{"weights", "Bytes.", &Memory::weights},
                                {"gradients", "Bytes.", &Memory::gradients},
                                {"optimizer", "Bytes.", &Memory::optimizer},
                                {"activations", "Bytes kept for the backward pass.", &Memory::activations},
                                {"buffers", "Bytes of gathered weights, boundary tensors, logits.", &Memory::buffers}};
  Record<F> memory = parts.of<F>(&F::memory);
  memory.add({{"total", "Sum of the five.", &F::memory_total}});
  return {
      {"iteration_s", "Seconds of one iteration: `global_batch` sequences and the optimiser's step.", &F::iteration_s},
      {"breakdown", "Its terms on the slowest stage; they sum to it.", &F::breakdown, breakdown},
      {"hidden", "Communication that ran beside work, by class.", &F::hidden,
       by_class<cluster::HiddenCommunication>("s")},
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

std::string train_json(const TrainDocument& document) {
  return text(answer().json(document));
}

Json train_schema() {
  return any_of({answer().schema(), amped_schema()});
}

}  // namespace orrery::report
