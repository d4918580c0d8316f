#include "orrery/verbs/train/run.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text_file.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/json/json_places.h"
#include "orrery/formats/orrery/measured_products.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/expected_error.h"
#include "orrery/inputs/systems/host_share.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/verbs/train/operators/operator_times.h"
#include "orrery/verbs/train/plans/plan_choice.h"
#include "orrery/verbs/train/plans/plan_rows.h"
#include "orrery/verbs/train/plans/row_setting.h"
#include "orrery/verbs/train/setting.h"
#include "orrery/verbs/train/software.h"

namespace orrery::verbs {
namespace {

void require(const TrainRequest& request) {
  base::Diagnostics found;
  const auto lacks = [&](bool missing, const char* what, const char* way) {
    if (missing) found.error("O1370", fmt::format("{} must be specified", what)).hint(way);
  };
  const bool batch =
      request.global_batch || std::any_of(request.overrides.begin(), request.overrides.end(),
                                          [](const auto& set) { return set.path == "plan.global_batch"; });
  lacks(request.model.empty(), "the model", "give `--model NAME`; `orrery catalog` lists the models");
  lacks(request.system.empty(), "the system", "give `--system NAME`; `orrery catalog` lists the systems");
  lacks(!batch && request.plan_file.empty(), "the global batch", "give `--global-batch N`");
  found.throw_if_errors();
}

// Of a plan's file.
void lack_batch(const std::set<std::string>& set) {
  if (set.count("global_batch") == 0)
    base::fail("O1370", "the global batch must be specified", {}, "give `--global-batch N`, or write it in the file");
}

// `--set` by what the first step of the path names, without it. The options --seq and --attention are fields, too.
struct SplitOverrides {
  base::Overrides model, system, plan;
  base::Overrides chip;  // of the chip's documents, with their whole paths
};

SplitOverrides split(const TrainRequest& request) {
  SplitOverrides result;
  if (request.seq) result.model.push_back({"seq", std::to_string(*request.seq)});
  if (request.attention)
    for (const auto& [name, attention] : cluster::attentions())
      if (attention == *request.attention) result.model.push_back({"attention", name});
  const std::vector<std::pair<std::string, base::Overrides*>> parts = {
      {"model", &result.model}, {"system", &result.system}, {"plan", &result.plan}};
  base::Diagnostics found;
  for (const base::Override& set : request.overrides) {
    const std::string& path = set.path;
    const std::string first = path.substr(0, path.find('.'));
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == first; });
    if (part != parts.end() && path.size() > first.size() + 1) {
      part->second->push_back({path.substr(first.size() + 1), set.value});
      continue;
    }
    const std::vector<std::string> names = {"model", "system", "plan", "arch"};
    if (first == "arch" || first == "architecture" || first == "variables") {
      result.chip.push_back(set);
      continue;
    }
    found.error("O1371", fmt::format("a training run has no field `{}`", path), base::OverrideText(set).path())
        .note(
            "fields begin with `model.`, `system.` or `plan.`: `model.layers`, `system.node_size`, `plan.zero`; those "
            "of `--chip` with `arch.`")
        .hint(part == parts.end() ? base::did_you_mean(first, names) : "");
  }
  found.throw_if_errors();
  return result;
}

// Where a size of the model was given, in the words of who gave it: an option, `--set`, or a key of its config.json.
struct GivenSize {
  std::string name;
  base::Location where;
};

GivenSize given_size(const std::string& field, const char* config_field, const ModelFile& file,
                     const TrainRequest& request) {
  for (auto set = request.overrides.rbegin(); set != request.overrides.rend(); ++set)
    if (set->path == "model." + field) return {set->path, base::OverrideText(*set).value()};
  if (field == "seq" && request.seq) {
    const std::string value = std::to_string(*request.seq);
    return {"--seq",
            {std::make_shared<base::SourceFile>(base::SourceFile{"<--seq>", "--seq " + value}), 1, 7,
             static_cast<int>(value.size())}};
  }
  const auto place = file.transformer.places.find(config_field);
  if (place == file.transformer.places.end()) return {"model." + field, {file.file, 0, 0, 1}};
  for (const formats::json::KeyPlace& key : formats::json::top_level_keys(file.file))
    if (key.value_where.line == place->second.line && key.value_where.column == place->second.column)
      return {key.key, place->second};
  return {"model." + field, place->second};
}

// Beyond this, sizes that are made of sizes might not fit 64 bits.
void bound_sizes(const cluster::Description& of, const ModelFile& file, const TrainRequest& request) {
  struct Bounded {
    const char* field;
    const char* config_field;
    base::Count size;
  };
  const workload::PlainTransformer& model = of.sizes;
  const char* sequence = file.transformer.training_sequence ? "training_sequence" : "max_positions";
  base::Diagnostics found;
  for (const Bounded& bounded : std::initializer_list<Bounded>{
           {"layers", "layers", model.layers},
           {"hidden", "hidden", model.hidden},
           {"heads", "heads", model.heads},
           {"kv_heads", "kv_heads", model.kv_heads},
           {"head_width", "head_dim", model.head_width},
           {"ffn", "feed_forward", model.ffn},
           {"vocab", "vocab", model.vocab},
           {"seq", sequence, of.as.seq},
           {"position_rows", "max_positions",
            of.as.seq > cluster::kMostInModel ? 0 : file.transformer.decoder().position_rows},
           {"experts.count", "experts", model.experts.count},
           {"experts.ffn", "experts_feed_forward", model.experts.ffn},
           {"experts.shared", "shared_experts", model.experts.shared},
           {"latent.q_rank", "q_rank", model.latent.q_rank},
           {"latent.kv_rank", "latent", model.latent.kv_rank},
           {"latent.rope_width", "rope_width", model.latent.rope_width},
           {"latent.nope_width", "nope_width", model.latent.nope_width},
           {"latent.value_width", "value_width", model.latent.value_width}}) {
    if (bounded.size <= cluster::kMostInModel) continue;
    const GivenSize given = given_size(bounded.field, bounded.config_field, file, request);
    found.error(
        "O1374",
        fmt::format("`{}` is {}: sizes up to {} are understood", given.name, bounded.size, cluster::kMostInModel),
        given.where);
  }
  found.throw_if_errors();
}

// A learned table has a row for each position. A longer sequence needs another table, and that is another model.
void warn_of_longer_table(const TrainingModel& of, const ModelFile& file, const TrainRequest& request,
                          base::Diagnostics& warnings) {
  const std::optional<base::Count>& positions = file.transformer.max_positions;
  const workload::Stack& stack = of.transformer.decoder();
  const cluster::Model& model = of.prepared;
  if (!stack.learned_positions || !positions || model.seq <= *positions) return;
  const base::Count rows = std::max(stack.position_rows, *positions);
  const GivenSize given = given_size("seq", "training_sequence", file, request);
  warnings
      .warning("O1381",
               fmt::format("the model has {} learned positions, fewer than the {} tokens of a sequence", *positions,
                           model.seq),
               given.where)
      .note(model.seq > rows
                ? fmt::format("its table is taken to have a row for each token: ({} - {}) x {} = {} parameters "
                              "more than the model has",
                              model.seq, rows, model.hidden, (model.seq - rows) * model.hidden)
                : fmt::format("its table has {} rows, which are taken as they are", rows))
      .hint(fmt::format("the model as it is takes sequences up to `--seq {}`", *positions));
}

bool sequence_given(const TrainRequest& request) {
  return request.seq || std::any_of(request.overrides.begin(), request.overrides.end(),
                                    [](const base::Override& set) { return set.path == "model.seq"; });
}

// `--set plan.schedule=NAME` has the meaning of `--schedule NAME`; interleaving is by 2 chunks unless more are
// requested.
TrainRequest with_schedule(TrainRequest request, const base::Overrides& plan) {
  for (const auto& [field, value] : plan)
    if (field == "schedule")
      for (const auto& [name, schedule] : cluster::schedules())
        if (name == value) request.schedule = schedule;
  return request;
}

// What options do not say is as in `plan`.
cluster::Plan requested_plan(const TrainRequest& request, cluster::Plan plan) {
  plan.gpus = request.gpus.value_or(plan.gpus);
  plan.global_batch = request.global_batch.value_or(plan.global_batch);
  plan.micro_batch = request.micro_batch.value_or(plan.micro_batch);
  plan.tp = request.tp.value_or(plan.tp);
  plan.pp = request.pp.value_or(plan.pp);
  plan.dp = request.dp.value_or(plan.dp);
  plan.ep = request.ep.value_or(plan.ep);
  plan.cp = request.cp.value_or(plan.cp);
  plan.interleave = request.interleave.value_or(plan.interleave);
  plan.recompute = request.recompute.value_or(plan.recompute);
  plan.precision = request.precision.value_or(plan.precision);
  plan.sequence_parallel = plan.sequence_parallel || request.sequence_parallel;
  if (request.zero >= 0) plan.zero = request.zero;
  if (request.schedule) plan.schedule = cluster::schedule_of(*request.schedule);
  if (request.schedule == cluster::PipelineChoice::kInterleaved && !request.interleave) plan.interleave = 2;
  return plan;
}

// The software: by name, or else the system's. Where nobody names one, ZeRO 3 means PyTorch's FSDP (but on XLA, which
// shards weights itself): given it is run so, and a search with other software leaves it out.
void settle_stack(const TrainRequest& request, base::Overrides& plan, const std::string& catalogue,
                  TrainedModel& trained) {
  if (!request.stack.empty()) plan.insert(plan.begin(), {"stack", request.stack});
  const std::optional<cluster::Stack> named = formats::orrery::named_stack(plan, catalogue);
  cluster::Stack stack = named.value_or(trained.system.stack);
  if (!named && stack.name == cluster::StackName::kMegatron2021)  // also of systems that name none
    stack = formats::orrery::load_stack(catalogue, "megatron-2021").stack;
  trained.stack_given = named.has_value();
  trained.asked = asked_options(request);
  const bool zero_3 = request.zero == 3 || std::any_of(plan.begin(), plan.end(), [](const base::Override& set) {
                        return set.path == "zero" && set.value == "3";
                      });
  if (!named && zero_3) stack = of_zero_3(catalogue, stack);
  if (!named && of_zero_3(catalogue, stack).name != stack.name) stack.lacks |= cluster::feature("zero_3");
  formats::orrery::take_stack(stack, trained.plan);
  suit_kernel(trained.system, trained.plan.stack);
  // What the software does where no schedule is said.
  if ((stack.lacks & cluster::feature("1f1b")) != 0 && (stack.lacks & cluster::feature("gpipe")) == 0 &&
      !request.interleave)
    trained.plan.schedule = cluster::Schedule::kGpipe;
  if (!request.overlap) return;
  trained.plan.overlap = {};
  for (const std::string& name : *request.overlap) plan.push_back({"overlap." + name, "1"});
}

// Communication that there is none of cannot go beside work. What a plan's file says of it is no question: `-o` writes
// all that its software overlaps.
void check_overlap(const TrainRequest& request, const std::set<std::string>& asked, const std::set<std::string>& set,
                   TrainedModel& trained) {
  const cluster::Plan& plan = trained.plan;
  struct Class {
    const char* name;
    base::Count degree;
    double share;
    bool open;  // the degree was not given
  };
  const auto open = [&](const std::optional<base::Count>& given, const char* name) {
    return !given && set.count(name) == 0;
  };
  std::vector<std::string> idle;
  std::size_t classes = 0;
  bool chosen = false;  // one of these degrees, not given
  for (const Class& one : {Class{"tp", plan.tp, plan.overlap.tp, open(request.tp, "tp")},
                           Class{"pp", plan.pp, plan.overlap.pp, open(request.pp, "pp")},
                           Class{"dp", plan.dp * plan.cp, plan.overlap.dp, open(request.dp, "dp")},
                           Class{"ep", plan.ep, plan.overlap.ep, open(request.ep, "ep")},
                           Class{"cp", plan.cp, plan.overlap.cp, open(request.cp, "cp")}}) {
    if (asked.count(std::string("overlap.") + one.name) == 0 || one.share == 0) continue;
    ++classes;
    if (one.degree > 1) continue;
    idle.emplace_back(one.name);
    chosen = chosen || one.open;
  }
  if (idle.empty()) return;
  const std::string what =
      fmt::format("communication of {} is to overlap with work, and there is none", fmt::join(idle, ", "));
  const std::string degrees =
      fmt::format("tp {}, pp {}, dp {}, ep {}, cp {}", plan.tp, plan.pp, plan.dp, plan.ep, plan.cp);
  const char* way = "leave out classes whose degree is 1, or give `--overlap none`";
  if (idle.size() < classes || chosen) {
    trained.warnings.warning("O1912", what).note(degrees).hint(way);
    return;
  }
  base::Diagnostics found;
  found.error("O1912", what).note(degrees).hint(way);
  found.throw_if_errors();
}

// An interleaved schedule of one chunk would be another one than was asked for.
void check_interleaving(const TrainRequest& request, const cluster::Plan& plan) {
  if (request.schedule != cluster::PipelineChoice::kInterleaved || plan.interleave > 1) return;
  base::fail("O1378", "an interleaved pipeline has at least two chunks a stage, not 1", {},
             "give a larger `--interleave`, or none; one chunk a stage is `--schedule 1f1b`");
}

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

std::vector<base::Input> inputs_of(const TrainRequest& request,
                                   std::initializer_list<std::shared_ptr<const base::SourceFile>> files) {
  std::vector<base::Input> inputs;
  for (const auto& file : files)
    if (file) inputs.push_back(base::file_input(*file));
  for (const auto& [path, value] : request.overrides) inputs.push_back(base::setting_input(path, value));
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

// Of the system that is this machine, operators are measured: attention is the kernel that there is, and what a
// system's file would say of rates does not count.
void settle_here(const TrainRequest& request, SplitOverrides& overrides, base::Diagnostics& warnings) {
  const auto is_attention = [](const base::Override& set) { return set.path == "attention"; };
  const auto asked = std::find_if(overrides.model.rbegin(), overrides.model.rend(), is_attention);
  if (asked == overrides.model.rend())
    overrides.model.push_back({"attention", "flash"});
  else if (asked->value == "materialised")
    warnings.warning("O1529", "attention is measured as this machine's kernel computes it, without writing scores")
        .note("`--attention materialised` counts for memory alone")
        .hint("leave it out, or write `--attention flash`");
  for (const base::Override& set : overrides.system) {
    const bool rate = set.path.starts_with("accelerator.peak") || set.path.starts_with("accelerator.memory_") ||
                      set.path == "accelerator.matrix_efficiency" || set.path == "accelerator.fill_depth" ||
                      set.path == "accelerator.units" || set.path.starts_with("accelerator.attention") ||
                      set.path.starts_with("accelerator.sustained");
    if (!rate || !request.chip.empty() || request.efficiency) continue;
    warnings
        .warning("O1529",
                 fmt::format("`system.{}` does not change the times of operators: they are measured", set.path),
                 base::OverrideText(set, "system.").path())
        .hint("take a system of the catalogue, or a file of your own, to change its figures");
  }
}

// Nothing does more than its peak. Measurements can say so all the same: their own error, or another accelerator's.
void check_utilisation(TrainedModel& trained, const std::shared_ptr<const base::SourceFile>& measurements) {
  constexpr double kRounding = 1e-9;
  const double hfu = trained.iteration.done.hfu;
  if (hfu <= 1 + kRounding) return;
  if (trained.system.name == kThisMachine) {
    trained.warnings
        .warning("O1529", fmt::format("products run at {:.2f} times the peak that was measured for {}", hfu,
                                      machine::name(trained.plan.precision)))
        .note("other programs took the machine while its peak was measured, or the products")
        .hint("run it again when the machine is idle");
    return;
  }
  ORRERY_CHECK(measurements != nullptr, fmt::format("the run does {} times what its accelerators can", hfu));
  base::Diagnostics found;
  found
      .error("O1379", fmt::format("by the measurements the run does {:.0f} % of what its accelerators can", 100 * hfu),
             {measurements, 0, 0, 1})
      .note(fmt::format("the peak of `{}` in {} is {:.6g} TFLOP/s", trained.system.accelerator.name,
                        machine::name(trained.plan.precision),
                        trained.system.accelerator.peak(trained.plan.precision) / 1e12))
      .hint("are they of this accelerator and this precision, and in seconds?");
  found.throw_if_errors();
}

// The products of a run on a chip are searched before the run is priced, side by side.
void search_products(const ChipOperators& nests, const cluster::OperatorUses& uses, const TrainRequest& request) {
  std::vector<machine::MatrixProduct> products;
  for (const cluster::OperatorUse& use : uses)
    if (use.one.kind == machine::OperatorKind::kProduct) products.push_back(use.one.product);
  nests.prepare(products, request.searching);
}

// What is known of the operators one by one, where it is asked for.
void list_operators(const TrainOperators& operators, const cluster::OperatorUses& uses, const base::Limits& limits,
                    TrainedModel& trained) {
  trained.listed = run_operators(uses, operators.model());
  trained.joules = operator_joules(trained.listed, trained.plan);
  if (operators.nests() == nullptr) return;
  trained.searched = static_cast<base::Count>(operators.nests()->searched());
  trained.unproven = operators.nests()->unproven();
  warn_of_unproven(*operators.nests(), "the run", limits.stop != nullptr && limits.stop->load(), trained.warnings);
}

// How far off the prediction may be, or why nobody knows.
void say_expected_error(const Setting& setting, TrainedModel& trained) {
  if (trained.operators != "roofline") {
    trained.expected_error_of =
        "measured runs were predicted by the roofline, which does not price the operators of this one";
  } else if (setting.array) {
    trained.expected_error_of = "no run with an array for attention was measured";
  } else if (cluster::needed(trained.model, trained.plan, trained.plan.stack.lacks) != 0) {
    trained.expected_error_of = "its software does not run this plan, so none was measured";
  } else if (trained.plan.lora_rank > 0) {
    trained.expected_error_of = "no run that trains adapters was measured";
  } else if (!setting.changed.empty()) {
    trained.expected_error_of = fmt::format("no run with another `{}` was measured", setting.changed);
  } else {
    const std::vector<KindError> kinds = read_error_kinds(catalogue_directory());
    const RunKind kind = kind_of(trained.model, trained.system, trained.plan);
    const RunSizes sizes = sizes_of(trained.model, trained.plan);
    trained.expected_error = expected_error(kinds, kind, sizes);
    trained.expected_error_of = trained.expected_error ? trained.expected_error->of : unmeasured(kinds, kind, sizes);
  }
}

}  // namespace

TrainedModel train(const TrainRequest& asked) {
  Setting setting;
  read_setting(asked, setting);
  choose_plan(setting);
  const TrainRequest& request = setting.request;
  const base::Limits& limits = setting.limits;
  SystemChip* chip = setting.machine.chip.get();
  TrainedModel trained = std::move(setting.trained);
  const TrainOperators operators(request, trained, chip, setting.here ? &*setting.here : nullptr, limits,
                                 setting.products, setting.array);
  trained.operators = operators.name();
  cluster::OperatorUses uses;
  if (chip != nullptr || request.by_operator)
    uses = cluster::operators_of(trained.model, trained.system, trained.plan, &operators.model());
  if (operators.nests() != nullptr) search_products(*operators.nests(), uses, request);
  trained.iteration = cluster::evaluate(trained.model, trained.system, trained.plan, operators.model());
  if (!uses.empty()) list_operators(operators, uses, limits, trained);
  // Pruned attention counts as the dense one that it replaces.
  if (!setting.array) check_utilisation(trained, setting.measurements);
  say_expected_error(setting, trained);
  trained.host_share =
      host_share(trained.model, trained.system, trained.plan, trained.iteration.iteration_s, operators.model());
  trained.parameters = cluster::parameters(trained.model);
  trained.active_parameters = cluster::parameters(trained.model, true);
  if (trained.tokens > 0) trained.training_s = cluster::seconds_to_train(trained.iteration, trained.tokens);
  return trained;
}

EvaluatedRows evaluate_plan_rows(const TrainRequest& asked, const PlanRowsInput& input,
                                 const std::function<void(const std::string&)>& write) {
  Setting setting;
  TrainRequest request = asked;
  if (!request.global_batch) request.global_batch = 1;  // a column may say it
  read_setting(request, setting);
  if (asked.global_batch) setting.set.insert("global_batch");
  for (const auto& [given, field] :
       {std::pair{asked.gpus.has_value(), "gpus"}, std::pair{asked.dp.has_value(), "dp"},
        std::pair{asked.interleave.has_value() || asked.schedule.has_value(), "interleave"}})
    if (given) setting.set.insert(field);
  const TrainOperators operators(setting.request, setting.trained, setting.machine.chip.get(),
                                 setting.here ? &*setting.here : nullptr, setting.limits, setting.products,
                                 setting.array);
  RowSetting shared{setting.trained.model, setting.trained.system, operators.model(), setting.trained.plan,
                    setting.set,           setting.limits,         std::nullopt};
  if (!setting.trained.stack_given) shared.of_zero_3 = of_zero_3(catalogue_directory(), shared.plan.stack);
  EvaluatedRows rows = evaluate_rows(shared, input, write);
  rows.problems.insert(rows.problems.begin(), setting.trained.warnings.all().begin(),
                       setting.trained.warnings.all().end());
  return rows;
}

}  // namespace orrery::verbs
