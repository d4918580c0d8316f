#include "orrery/verbs/validate/error_groups.h"
#include "orrery/verbs/validate/error_summary_text.h"
#include "orrery/verbs/validate/table.h"

namespace orrery::verbs {
namespace {

Record<ValidatedPoint> point() {
  using P = ValidatedPoint;
  using cluster::Model;
  using cluster::Plan;
  const Record<Model> model = {{"hidden", "Width of the model.", &Model::hidden},
                               {"layers", "Blocks of the model.", &Model::layers},
                               {"seq", "Tokens of a training sequence.", &Model::seq}};
  const Record<Plan> plan = {{"gpus", "Number of accelerators.", &Plan::gpus},
                             {"global_batch", "Sequences of one iteration.", &Plan::global_batch},
                             {"micro_batch", "Sequences of one microbatch.", &Plan::micro_batch},
                             {"tp", "Degree of tensor parallelism.", &Plan::tp},
                             {"pp", "Pipeline stages.", &Plan::pp},
                             {"dp", "Replicas: degree of data parallelism.", &Plan::dp},
                             {"cp", "Degree of context parallelism.", &Plan::cp},
                             {"ep", "Degree of expert parallelism.", &Plan::ep},
                             {"interleave", "Chunks of layers on each stage.", &Plan::interleave}};
  Record<P> config = model.of<P>([](const P& p) -> const auto& { return p.run.model; });
  config.add(plan.of<P>([](const P& p) -> const auto& { return p.run.plan; }));
  return {{"row", "Row of the table of measured runs.", [](const P& p) { return p.run.row; }},
          {"use", "`held-out`: no constant has seen it; `fitted`: one was fitted on it; `unverified`: never counted.",
           [](const P& p) { return verbs::name(p.run.use); }, OneOf{{"held-out", "fitted", "unverified"}}},
          {"model", "Name of the model.", [](const P& p) { return p.run.model_name; }},
          {"system", "Name of the system.", [](const P& p) { return p.run.system_name; }},
          {"config", "Main sizes and degrees of parallelism.", std::identity(), config},
          {"measure", "What was measured, with its unit.", [](const P& p) { return verbs::name(p.run.measure); }},
          {"measured", "Measured value, in the unit of `measure`.", [](const P& p) { return p.run.value; }},
          {"predicted", "Predicted value, in the unit of `measure`.", &P::predicted},
          {"error_percent", "Predicted over measured, less 1, in percent.", [](const P& p) { return 100 * p.error; }},
          {"memory_error_percent",
           "Predicted over measured memory, less 1, in percent; null where memory was not measured.",
           [](const P& p) { return p.memory_error ? std::optional<double>(100 * *p.memory_error) : std::nullopt; }},
          {"fits", "Whether the prediction fits into memory.", [](const P& p) { return p.iteration.fits; }},
          {"note", "Remarks on the row.", [](const P& p) { return p.run.note; }}};
}

Record<ErrorGroup> error_group() {
  return {{"by", "In what the runs are alike.", [](const ErrorGroup& g) { return g.by; },
           OneOf{{"table", "accelerator", "software", "precision", "layers", "accelerators"}}},
          {"name", "What they have in common.", &ErrorGroup::name},
          {"errors", "Errors on these runs, those that constants were fitted on too.", &ErrorGroup::errors,
           error_summary()},
          {"constant",
           "Errors of a simple rule on the same runs: one utilisation for each accelerator and width of products, the "
           "median of its own.",
           &ErrorGroup::constant, error_summary()}};
}

}  // namespace

Document<std::vector<ValidatedSet>> validate_document() {
  using Set = ValidatedSet;
  const Record<Set> set = {
      {"name", "Name of the table.", &Set::name},
      {"title", "Title of the table, in one line.", &Set::title},
      {"source", "Where the measurements come from.", &Set::source},
      {"licence", "Licence of the measurements.", &Set::licence},
      {"held_out", "Errors on runs that no constant has seen.", &Set::held_out, error_summary()},
      {"fitted", "Errors on runs that constants were fitted on.", &Set::fitted, error_summary()},
      {"constant", "Errors of a simple rule on the same runs: one utilisation for all, the median of the set's own.",
       &Set::constant, error_summary()},
      {"calculon",
       "Mean magnitude of Calculon's errors in percent and the rows that it can do, measured once "
       "by bench/calculon_rows.py; empty: not measured.",
       &Set::calculon},
      {"memory", "Errors of the predicted memory, on all rows where it was measured.", &Set::memory, error_summary()},
      {"refused", "Rows that are predicted not to fit into memory, though they ran.", &Set::refused},
      {"points", "Rows of the table, the worst error first.", &Set::points, point()}};
  return {"validate", "Predictions and measurements of every row.",
          Record<std::vector<Set>>{{"sets", "Tables, by name.", std::identity(), set},
                                   {"groups", "Runs of all tables by what they have in common.",
                                    [](const std::vector<Set>& sets) { return error_groups(sets); }, error_group()}}};
}

}  // namespace orrery::verbs
