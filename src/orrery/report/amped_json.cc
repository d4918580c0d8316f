#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "orrery/formats/amped/result_names.h"
#include "orrery/report/amped_run.h"
#include "orrery/report/warnings_json.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBest = 10;

// Counts stay counts.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (std::floor(value) == value && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

Json object(const formats::amped::NamedNumbers& numbers) {
  Json out = Json::object();
  for (const auto& [name, value] : numbers) out[name] = number(value);
  return out;
}

Json breakdown_json(const cluster::AmpedQuantities& q, const cluster::AmpedTimes& times) {
  const AmpedIteration i = amped_iteration(q, times);
  return Json{{"forward", i.forward}, {"backward", i.backward}, {"recompute", 0},     {"optimizer", 0},
              {"tp_exposed", i.tp},   {"pp_exposed", i.pp},     {"dp_exposed", i.dp}, {"ep_exposed", i.ep},
              {"cp_exposed", 0},      {"bubble", i.bubble}};
}

Json memory_json(const cluster::AmpedQuantities& q) {
  const double bytes = q.total_parameters / q.accelerators_required / 8;
  const auto of = [&](double bits) { return bits * bytes; };
  return Json{{"weights", of(q.weight_bits)},
              {"gradients", of(q.gradient_bits)},
              {"optimizer", of(3 * q.optimizer_bits)},
              {"activations", q.activations_gb * 1e9},
              {"buffers", 0},
              {"total", q.memory_gb * 1e9}};
}

std::string largest_term(const Json& memory) {
  std::string largest = "weights";
  for (const char* term : {"gradients", "optimizer", "activations"})
    if (memory.at(term).get<double>() > memory.at(largest).get<double>()) largest = term;
  return largest;
}

Json config_json(const AmpedRun& run) {
  Json out = Json::object();
  const auto quantities = cluster::amped_quantities();
  for (std::size_t i = 0; i < quantities.size(); ++i)
    if (run.resolved.keep[i])
      out[std::string(quantities[i].name)] = number(run.resolved.quantities.*quantities[i].field);
  return out;
}

Json equations_json(cluster::AmpedModel model) {
  Json constants = Json::object(), defects = Json::object();
  for (const std::string& name : cluster::amped_constant_names())
    constants[name] = *cluster::amped_constant(model.constants, name);
  for (const std::string& name : cluster::amped_defect_names())
    defects[name] = *cluster::amped_defect(model.defects, name);
  return Json{{"constants", std::move(constants)}, {"defects", std::move(defects)}};
}

Json search_json(const cluster::AmpedSearch& search) {
  Json best = Json::array();
  for (const cluster::AmpedCandidate& c : cluster::amped_best(search, kBest))
    best.push_back(Json{{"batch_size", c.batch},
                        {"dp_intra", c.dp_intra},
                        {"tp_intra", c.tp_intra},
                        {"pp_intra", c.pp_intra},
                        {"dp_inter", c.dp_inter},
                        {"tp_inter", c.tp_inter},
                        {"pp_inter", c.pp_inter},
                        {"microbatches", number(c.microbatches)},
                        {"memory_gb", c.memory_gb},
                        {"iteration_time_s", c.iteration_s},
                        {"total_time_to_train_s", c.total_s}});
  return Json{{"considered", search.considered},
              {"valid", search.valid.size()},
              {"rejected", Json{{"layers", search.more_stages_than_layers},
                                {"heads", search.heads_not_shared},
                                {"batch", search.batch_not_shared},
                                {"memory", search.too_large}}},
              {"recalculated", search.recalculated},
              {"best", std::move(best)}};
}

}  // namespace

std::string amped_json(const AmpedDocument& document) {
  const AmpedRun& run = *document.run;
  const cluster::AmpedQuantities& q = run.resolved.quantities;
  const cluster::AmpedTimes& t = run.times;
  Json inputs = Json::array();
  for (const auto& [name, hash] : document.inputs) inputs.push_back(Json{{"name", name}, {"hash", hash}});
  const double tera = cluster::amped_total_macs(q) * q.ops_per_mac / 1e12 / t.total_s / q.accelerators_required;
  const double utilisation = tera / (q.peak_ops / 1e12);
  const Json memory = memory_json(q);
  Json result{{"iteration_s", t.iteration_s},
              {"breakdown", breakdown_json(q, t)},
              {"hidden", Json{{"tp", 0}, {"pp", 0}, {"dp", 0}, {"ep", 0}, {"cp", 0}}},
              {"memory_bytes", memory},
              {"capacity_bytes", run.capacity_gb() > 0 ? Json(q.accelerator_memory) : Json(nullptr)},
              {"fits", run.fits()},
              {"excess_bytes", run.fits() ? 0 : (q.memory_gb - run.capacity_gb()) * 1e9},
              {"largest_term", largest_term(memory)},
              {"mfu", utilisation},
              {"hfu", utilisation},
              {"tokens_per_s", q.batch_size * q.context / t.iteration_s},
              {"tflops_per_gpu", tera},
              {"parameters", q.total_parameters},
              {"active_parameters", q.total_parameters - q.expert_parameters},
              {"config", config_json(run)},
              {"amped", Json{{"derived", object(formats::amped::derived(q))},
                             {"outputs", object(formats::amped::outputs(t))},
                             {"equations", equations_json(run.model)}}}};
  if (run.space) result["search"] = search_json(run.search);
  Json warnings = Json::parse(warnings_json(*document.warnings));
  Json out{{"schema", "orrery.train/1"},
           {"version", document.version},
           {"compat", document.compat ? Json::array({"amped"}) : Json::array()},
           {"inputs", std::move(inputs)},
           {"result", std::move(result)}};
  if (run.space)
    out["certificate"] =
        Json{{"optimal", true}, {"space", run.search.considered}, {"evaluated", run.search.valid.size()}};
  out["warnings"] = std::move(warnings);
  out["timing"] = Json{{"seconds", document.seconds}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
