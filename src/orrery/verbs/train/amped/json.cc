#include <cmath>

#include "orrery/formats/amped/result_names.h"
#include "orrery/verbs/train/amped/report.h"
#include "orrery/verbs/train/run_figures_json.h"

namespace orrery::verbs {
namespace {

using AmpedCandidate = amped::Candidate;
using amped::Search;
using formats::amped::NamedNumbers;

constexpr std::size_t kBest = 10;

// Counts are printed as counts although AMPeD computes in doubles; what is not known is null.
struct Whole {
  template <typename V>
  static constexpr bool kHolds = std::is_same_v<V, double>;
  static Json json(double value) {
    if (!std::isfinite(value)) return {};
    if (std::floor(value) == value && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
    return value;
  }
  template <typename V>
  static Json schema() {
    return or_null(typed("number"));
  }
};

TrainFigures amped_run_figures(const AmpedRun& run) {
  const amped::Quantities& q = run.resolved.quantities;
  const AmpedIteration i = amped_iteration(q, run.times);
  const double parameter_bytes = q.total_parameters / q.accelerators_required / 8;
  TrainFigures out;
  out.iteration_s = run.times.iteration_s;
  out.breakdown = {.forward = i.forward,
                   .backward = i.backward,
                   .tp_exposed = i.tp,
                   .pp_exposed = i.pp,
                   .dp_exposed = i.dp,
                   .ep_exposed = i.ep,
                   .bubble = i.bubble};
  out.memory = {.weights = q.weight_bits * parameter_bytes,
                .gradients = q.gradient_bits * parameter_bytes,
                .optimizer = 3 * q.optimizer_bits * parameter_bytes,
                .activations = q.activations_gb * 1e9};
  out.memory_total = q.memory_gb * 1e9;
  if (run.capacity_gb() > 0) out.capacity_bytes = q.accelerator_memory;
  out.fits = run.fits();
  out.excess_bytes = run.fits() ? 0 : (q.memory_gb - run.capacity_gb()) * 1e9;
  out.done.tflops_per_gpu = amped::total_macs(q) * q.ops_per_mac / 1e12 / run.times.total_s / q.accelerators_required;
  out.done.mfu = out.done.hfu = out.done.tflops_per_gpu / (q.peak_ops / 1e12);
  out.tokens_per_s = q.batch_size * q.context / run.times.iteration_s;
  return out;
}

Record<AmpedRun> amped_config() {
  Record<AmpedRun> out({});
  const auto quantities = amped::quantity_table();
  for (std::size_t i = 0; i < quantities.size(); ++i)
    out.add({{quantities[i].name, quantities[i].description,
              [field = quantities[i].field](const AmpedRun& run) { return run.resolved.quantities.*field; }, Whole(),
              when([i](const AmpedRun& run) { return run.resolved.keep[i]; })}});
  return out;
}

Record<AmpedRun> equations() {
  Record<AmpedRun> constants({}), defects({});
  for (const amped::Constant& constant : amped::kConstants)
    constants.add({{constant.name, constant.description,
                    [field = constant.field](const AmpedRun& run) { return run.model.constants.*field; }}});
  for (const auto& defect : amped::kDefects)
    defects.add({{std::string(defect.name), "Whether this defect of AMPeD is reproduced.",
                  [member = defect.member](const AmpedRun& run) { return run.model.defects.*member; }}});
  return {{"constants", "Constants of the equations, by name.", std::identity(), constants},
          {"defects", "Defects of AMPeD that are reproduced, by name.", std::identity(), defects}};
}

Record<AmpedRun> amped_part() {
  return {{"derived", "Derived quantities, by AMPeD's names; `dp`, `tp`, `pp` are the degrees.",
           [](const AmpedRun& run) { return formats::amped::derived(run.resolved.quantities); }, Whole()},
          {"outputs", "Seconds of one layer and of the whole batch, by AMPeD's names.",
           [](const AmpedRun& run) { return formats::amped::outputs(run.times); }, Whole()},
          {"equations", "Constants and defects of the equations.", std::identity(), equations()}};
}

Record<Search> amped_search() {
  const Record<AmpedCandidate> candidate = {
      {"batch_size", "Sequences of one iteration.", &AmpedCandidate::batch},
      {"dp_intra", "Degree of data parallelism within a node.", &AmpedCandidate::dp_intra},
      {"tp_intra", "Degree of tensor parallelism within a node.", &AmpedCandidate::tp_intra},
      {"pp_intra", "Degree of pipeline parallelism within a node.", &AmpedCandidate::pp_intra},
      {"dp_inter", "Degree of data parallelism across nodes.", &AmpedCandidate::dp_inter},
      {"tp_inter", "Degree of tensor parallelism across nodes.", &AmpedCandidate::tp_inter},
      {"pp_inter", "Degree of pipeline parallelism across nodes.", &AmpedCandidate::pp_inter},
      {"microbatches", "Microbatches of a replica.", &AmpedCandidate::microbatches, Whole()},
      {"memory_gb", "Memory that an accelerator needs, in GB.", &AmpedCandidate::memory_gb},
      {"iteration_time_s", "Time of one iteration, in seconds.", &AmpedCandidate::iteration_s},
      {"total_time_to_train_s", "Time of the whole training, in seconds.", &AmpedCandidate::total_s}};
  const Record<Search> rejected = {
      {"layers", "Candidates with more stages than layers, or with layers that cannot be shared equally.",
       &Search::more_stages_than_layers},
      {"heads", "Candidates whose tensor parallelism does not divide the heads.", &Search::heads_not_shared},
      {"batch", "Candidates whose replicas and microbatches do not divide the batch.", &Search::batch_not_shared},
      {"memory", "Candidates that need more memory than an accelerator has.", &Search::too_large}};
  return {{"considered", "Candidates: batch sizes times degrees of parallelism.", &Search::considered},
          {"valid", "Candidates that are possible.", [](const Search& s) { return s.valid.size(); }},
          {"rejected", "Candidates that are impossible, by the first reason.", std::identity(), rejected},
          {"recalculated", "Parameters that were given but follow from batch size and degrees.", &Search::recalculated},
          {"best", "The fastest degrees of parallelism, each at its best batch size.",
           [](const Search& s) { return amped::best_candidates(s, kBest); }, candidate}};
}

Record<AmpedRun> amped_result() {
  const auto searched = [](const AmpedRun& run) { return run.space.has_value(); };
  Record<AmpedRun> out = train_figures().of<AmpedRun>(amped_run_figures);
  return out.add({{"parameters", "Parameters of the model.",
                   [](const AmpedRun& r) { return r.resolved.quantities.total_parameters; }},
                  {"active_parameters", "Parameters that a token visits.",
                   [](const AmpedRun& r) {
                     return r.resolved.quantities.total_parameters - r.resolved.quantities.expert_parameters;
                   }},
                  {"config", "AMPeD's parameters as given.", std::identity(), amped_config()},
                  {"amped", "Further quantities of AMPeD's equations.", std::identity(), amped_part()},
                  {"search", "With `--search`: the candidates and the best of them.", &AmpedRun::search, amped_search(),
                   when(searched)}});
}

}  // namespace

Document<AmpedRun> amped_document() {
  const Record<Search> certificate = {
      {"optimal", "True: every candidate was considered.", [](const Search&) { return true; }},
      {"space", "Number of candidates.", &Search::considered},
      {"evaluated", "Number of candidates that are possible.", [](const Search& s) { return s.valid.size(); }}};
  return {"train",
          {{"result", "Time and memory of an iteration by AMPeD's equations.", std::identity(), amped_result()},
           {"certificate", "With `--search`: what is proven of the best candidate.", &AmpedRun::search, certificate,
            when([](const AmpedRun& r) { return r.space.has_value(); })}}};
}

}  // namespace orrery::verbs
