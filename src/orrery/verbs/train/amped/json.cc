#include <cmath>

#include "orrery/formats/amped/result_names.h"
#include "orrery/verbs/train/amped/report.h"
#include "orrery/verbs/train/run_figures_json.h"

namespace orrery::verbs {
namespace {

using amped::Candidate;
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

TrainFigures figures(const AmpedRun& run) {
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

Record<AmpedRun> config() {
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
  return {{"constants", "In force.", std::identity(), constants}, {"defects", "In force.", std::identity(), defects}};
}

Record<AmpedRun> amped_part() {
  return {{"derived", "Derived quantities by AMPeD's names; `dp`, `tp`, `pp` for the degrees.",
           [](const AmpedRun& run) { return formats::amped::derived(run.resolved.quantities); }, Whole()},
          {"outputs", "Seconds of one layer and the whole batch, by AMPeD's names.",
           [](const AmpedRun& run) { return formats::amped::outputs(run.times); }, Whole()},
          {"equations", "Constants and defects.", std::identity(), equations()}};
}

Record<Search> search() {
  const Record<Candidate> candidate = {{"batch_size", "Sequences of one iteration.", &Candidate::batch},
                                       {"dp_intra", "Degree within a node.", &Candidate::dp_intra},
                                       {"tp_intra", "Degree within a node.", &Candidate::tp_intra},
                                       {"pp_intra", "Degree within a node.", &Candidate::pp_intra},
                                       {"dp_inter", "Degree across nodes.", &Candidate::dp_inter},
                                       {"tp_inter", "Degree across nodes.", &Candidate::tp_inter},
                                       {"pp_inter", "Degree across nodes.", &Candidate::pp_inter},
                                       {"microbatches", "Of a replica.", &Candidate::microbatches, Whole()},
                                       {"memory_gb", "Of an accelerator.", &Candidate::memory_gb},
                                       {"iteration_time_s", "Of one iteration.", &Candidate::iteration_s},
                                       {"total_time_to_train_s", "Of the whole training.", &Candidate::total_s}};
  const Record<Search> rejected = {
      {"layers", "More stages than layers, or layers that cannot be shared equally.", &Search::more_stages_than_layers},
      {"heads", "Tensor parallelism does not divide the heads.", &Search::heads_not_shared},
      {"batch", "Replicas and microbatches do not divide the batch.", &Search::batch_not_shared},
      {"memory", "Too large for an accelerator.", &Search::too_large}};
  return {{"considered", "Batch sizes times splits.", &Search::considered},
          {"valid", "Of these.", [](const Search& s) { return s.valid.size(); }},
          {"rejected", "Of these, by the first reason.", std::identity(), rejected},
          {"recalculated", "What was given, but follows from batch size and degrees.", &Search::recalculated},
          {"best", "The fastest splits, each at its best batch size.",
           [](const Search& s) { return amped::best_candidates(s, kBest); }, candidate}};
}

Record<AmpedRun> result() {
  const auto searched = [](const AmpedRun& run) { return run.space.has_value(); };
  Record<AmpedRun> out = train_figures().of<AmpedRun>(figures);
  return out.add(
      {{"parameters", "Of the model.", [](const AmpedRun& r) { return r.resolved.quantities.total_parameters; }},
       {"active_parameters", "That a token visits.",
        [](const AmpedRun& r) {
          return r.resolved.quantities.total_parameters - r.resolved.quantities.expert_parameters;
        }},
       {"config", "AMPeD's parameters as given.", std::identity(), config()},
       {"amped", "What AMPeD's equations say beside.", std::identity(), amped_part()},
       {"search", "With `--search`.", &AmpedRun::search, search(), when(searched)}});
}

}  // namespace

Document<AmpedRun> amped_document() {
  const Record<Search> certificate = {
      {"optimal", "Every candidate was considered.", [](const Search&) { return true; }},
      {"space", "Candidates.", &Search::considered},
      {"evaluated", "Valid ones.", [](const Search& s) { return s.valid.size(); }}};
  return {"train",
          {{"result", "The figures.", std::identity(), result()},
           {"certificate", "With `--search`.", &AmpedRun::search, certificate,
            when([](const AmpedRun& r) { return r.space.has_value(); })}}};
}

}  // namespace orrery::verbs
