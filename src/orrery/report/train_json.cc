#include "orrery/report/train_json.h"

#include <nlohmann/json.hpp>

#include "orrery/report/train_table.h"
#include "orrery/report/warnings_json.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const cluster::Model& model) {
  Json out{{"name", model.name},         {"layers", model.layers},
           {"hidden", model.hidden},     {"heads", model.heads},
           {"kv_heads", model.kv_heads}, {"head_width", model.head_width},
           {"ffn", model.ffn},           {"gated", model.gated},
           {"causal", model.causal},     {"vocab", model.vocab},
           {"seq", model.seq},           {"attention", scenario::name_of(model.attention, scenario::attentions())}};
  if (model.experts.count > 0)
    out["experts"] = Json{{"count", model.experts.count},
                          {"top_k", model.experts.top_k},
                          {"ffn", model.experts.ffn},
                          {"shared", model.experts.shared},
                          {"dense_layers", model.experts.dense_layers},
                          {"every", model.experts.every}};
  if (model.latent.kv_rank > 0)
    out["latent"] = Json{{"q_rank", model.latent.q_rank},
                         {"kv_rank", model.latent.kv_rank},
                         {"rope_width", model.latent.rope_width},
                         {"nope_width", model.latent.nope_width},
                         {"value_width", model.latent.value_width}};
  return out;
}

Json config_json(const scenario::TrainedModel& trained) {
  const cluster::Plan& plan = trained.plan;
  const cluster::Overlap& overlap = plan.overlap;
  return Json{
      {"model", model_json(trained.model)},
      {"system", trained.system.name},
      {"accelerator", trained.system.accelerator.name},
      {"gpus", plan.gpus},
      {"global_batch", plan.global_batch},
      {"micro_batch", plan.micro_batch},
      {"microbatches", cluster::microbatches(plan)},
      {"tp", plan.tp},
      {"pp", plan.pp},
      {"dp", plan.dp},
      {"ep", plan.ep},
      {"cp", plan.cp},
      {"interleave", plan.interleave},
      {"schedule", schedule_name(plan)},
      {"recompute", scenario::name_of(plan.recompute, scenario::recomputations())},
      {"sequence_parallel", plan.sequence_parallel},
      {"zero", plan.zero},
      {"precision", scenario::name_of(plan.precision, scenario::precisions())},
      {"reduce_fp32", plan.reduce_fp32},
      {"main_gradients_fp32", plan.main_gradients_fp32},
      {"scatter_gather", plan.scatter_gather},
      {"paired_messages", plan.paired_messages},
      {"fused_accumulation", plan.fused_accumulation},
      {"converted_gradients", plan.converted_gradients},
      {"overlap",
       Json{{"tp", overlap.tp}, {"pp", overlap.pp}, {"dp", overlap.dp}, {"ep", overlap.ep}, {"cp", overlap.cp}}},
      {"operators", trained.operators},
      {"defaulted", trained.defaulted}};
}

Json breakdown_json(const cluster::Breakdown& b) {
  return Json{{"forward", b.forward},       {"backward", b.backward},     {"recompute", b.recompute},
              {"optimizer", b.optimizer},   {"tp_exposed", b.tp_exposed}, {"pp_exposed", b.pp_exposed},
              {"dp_exposed", b.dp_exposed}, {"ep_exposed", b.ep_exposed}, {"cp_exposed", b.cp_exposed},
              {"bubble", b.bubble}};
}

Json memory_json(const cluster::Memory& m) {
  return Json{{"weights", m.weights},         {"gradients", m.gradients}, {"optimizer", m.optimizer},
              {"activations", m.activations}, {"buffers", m.buffers},     {"total", m.total()}};
}

Json cost_json(const scenario::TrainingCost& cost) {
  const auto known = [](const std::optional<double>& figure) { return figure ? Json(*figure) : Json(nullptr); };
  return Json{
      {"accelerator_hours", cost.accelerator_hours}, {"usd", known(cost.dollars)}, {"kwh", known(cost.kilowatt_hours)}};
}

Json result_json(const scenario::TrainedModel& trained) {
  const cluster::Iteration& iteration = trained.iteration;
  const cluster::HiddenCommunication& hidden = iteration.hidden;
  Json out{
      {"iteration_s", iteration.iteration_s},
      {"breakdown", breakdown_json(iteration.breakdown)},
      {"hidden", Json{{"tp", hidden.tp}, {"pp", hidden.pp}, {"dp", hidden.dp}, {"ep", hidden.ep}, {"cp", hidden.cp}}},
      {"memory_bytes", memory_json(iteration.memory)},
      {"capacity_bytes", iteration.capacity_bytes},
      {"fits", iteration.fits},
      {"excess_bytes", iteration.excess_bytes},
      {"largest_term", std::string(cluster::name(iteration.memory.largest()))},
      {"mfu", iteration.done.mfu},
      {"hfu", iteration.done.hfu},
      {"tokens_per_s", iteration.tokens_per_s},
      {"tflops_per_gpu", iteration.done.tflops_per_gpu},
      {"published_count", Json{{"mfu", iteration.published.mfu},
                               {"hfu", iteration.published.hfu},
                               {"tflops_per_gpu", iteration.published.tflops_per_gpu}}},
      {"parameters", trained.parameters},
      {"active_parameters", trained.active_parameters},
      {"cost", cost_json(scenario::training_cost(trained, iteration.iteration_s))}};
  if (trained.tokens > 0) {
    out["training"] = Json{{"tokens", trained.tokens}, {"seconds", trained.training_s}};
    out["training"].update(cost_json(scenario::training_cost(trained, trained.training_s)));
  }
  out["config"] = config_json(trained);
  return out;
}

}  // namespace

std::string train_json(const TrainDocument& document) {
  const scenario::TrainedModel& trained = *document.trained;
  Json inputs = Json::array();
  for (const auto& [name, hash] : trained.inputs) inputs.push_back(Json{{"name", name}, {"hash", hash}});
  Json warnings = Json::parse(warnings_json(trained.warnings));
  const Json out{{"schema", "orrery.train/1"},      {"version", document.version},
                 {"inputs", std::move(inputs)},     {"result", result_json(trained)},
                 {"warnings", std::move(warnings)}, {"timing", Json{{"seconds", document.seconds}}}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
