#include "orrery/verbs/train/setting.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text_file.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/orrery/measured_products.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/cluster_model.h"
#include "orrery/verbs/train/model_sizes.h"
#include "orrery/verbs/train/operators/operator_times.h"
#include "orrery/verbs/train/plans/plan_files.h"
#include "orrery/verbs/train/request_arguments.h"
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
  plan.recomputed = request.recomputed.value_or(plan.recomputed);
  plan.precision = request.precision.value_or(plan.precision);
  plan.sequence_parallel = plan.sequence_parallel || request.sequence_parallel;
  if (request.zero >= 0) plan.zero = request.zero;
  if (request.schedule) plan.schedule = cluster::schedule_of(*request.schedule);
  if (request.schedule == cluster::PipelineChoice::kInterleaved && !request.interleave) plan.interleave = 2;
  // A V has two chunks on each stage: who says so says nothing new.
  if (cluster::folded(plan.schedule) && plan.interleave == 2) plan.interleave = 1;
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
  // Where it cannot exchange gradients beside a schedule it does so after the passes.
  if (request.schedule && (stack.lacks & cluster::feature("overlapped_zero_bubble")) != 0) {
    const cluster::Schedule schedule = cluster::schedule_of(*request.schedule);
    if (schedule == cluster::Schedule::kZeroBubble || cluster::folded(schedule)) trained.plan.overlap.dp = 0;
  }
  if (!request.overlap) return;
  trained.plan.overlap = {};
  for (const std::string& name : *request.overlap) plan.push_back({"overlap." + name, "1"});
}

// An interleaved schedule of one chunk would be another one than was asked for.
void check_interleaving(const TrainRequest& request, const cluster::Plan& plan) {
  if (request.schedule != cluster::PipelineChoice::kInterleaved || plan.interleave > 1) return;
  base::fail("O1378", "an interleaved pipeline has at least two chunks a stage, not 1", {},
             "give a larger `--interleave`, or none; one chunk a stage is `--schedule 1f1b`");
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

// The array that does the attention of forward passes, where there is one.
std::optional<AttentionArray> attention_array(const TrainRequest& request, TrainedModel& trained) {
  if (request.attention_array.empty()) return std::nullopt;
  const auto file = base::read_file(request.attention_array);
  trained.inputs.push_back(base::file_input(*file));
  std::sort(trained.inputs.begin(), trained.inputs.end());
  AttentionArray array = read_attention_array(file);
  auto& warning = trained.warnings.warning(
      "O1906", fmt::format("the array of `{}` does attention forwards, the accelerators do it backwards, densely",
                           request.attention_array));
  note_lengths(array, "the model", trained.model.seq, trained.model.seq, warning);
  warning.note(
      fmt::format("a density of {:.4f} was simulated, and counts whether the mask is causal or not; memory, also of "
                  "activations, is "
                  "that of dense attention",
                  array.density));
  return array;
}

// Whether the software of the run fuses attention: all but Megatron-LM of 2021, whatever the model's positions are.
bool fuses_attention(const TrainRequest& request, base::Overrides plan, const cluster::System& system) {
  if (!request.stack.empty()) plan.insert(plan.begin(), {"stack", request.stack});
  cluster::Plan said;
  base::Input read;
  const bool file = !request.plan_file.empty() && read_plan(request.plan_file, said, read).count("stack.name") > 0;
  const std::optional<cluster::Stack> named = formats::orrery::named_stack(plan, catalogue_directory());
  if (!named && !file && request.zero == 3) return true;  // PyTorch's, where nobody names another
  const cluster::StackName software = named ? named->name : file ? said.stack.name : system.stack.name;
  return software != cluster::StackName::kMegatron2021;
}

void read_model_and_system(const std::string& catalogue, SplitOverrides& overrides, Setting& setting) {
  const TrainRequest& request = setting.request;
  TrainedModel& trained = setting.trained;
  const ModelFile model_file =
      load_model(catalogue, request.model,
                 {request.ignored, formats::huggingface::Outside::kRefused, request.like, request.mtp, true});
  if (request.system == kThisMachine) {
    setting.here.emplace(request.limits.threads);
    settle_here(request, overrides, trained.warnings);
  }
  setting.machine = setting.here
                        ? with_chip(formats::orrery::read_system(catalogue, setting.here->document(), overrides.system),
                                    request.chip, overrides.chip)
                        : read_system(catalogue, request.system, overrides.system, request.chip, overrides.chip);
  trained.warnings.append(model_file.diagnostics);
  trained.warnings.append(setting.machine.warnings);
  if (!request.measurements.empty()) setting.measurements = formats::yaml::read_file(request.measurements);
  trained.inputs = inputs_of(request, {model_file.file, setting.measurements});
  for (const auto* more : {&std::as_const(setting.machine).inputs, &model_file.ignored})
    trained.inputs.insert(trained.inputs.end(), more->begin(), more->end());
  cluster::Description description = training_description(model_file.transformer, overrides.model);
  if (description.said.count("attention") == 0 && setting.machine.chip == nullptr &&
      fuses_attention(request, overrides.plan, setting.machine.system))
    description.as.attention = cluster::Attention::kFlash;
  bound_sizes(description, model_file, request);
  TrainingModel model = training_model(model_file.transformer, description);
  if (!sequence_given(request)) warn_of_default_sequence(model_file.transformer, trained.warnings);
  warn_of_longer_table(model, model_file, request, trained.warnings);
  trained.model = std::move(model.prepared);
  trained.model.name = request.model;
  trained.description = std::move(model.description);
  trained.system = setting.machine.system;
  if (setting.here) trained.system.name = kThisMachine;
  trained.tokens = request.tokens;
}

// The fields of a file, its software among them unless an option names that.
void take_plan_file(const TrainRequest& request, Setting& setting) {
  cluster::Plan& plan = setting.trained.plan;
  const cluster::Plan by_options = plan;
  base::Input read;
  setting.set = read_plan(request.plan_file, plan, read);
  setting.trained.inputs.push_back(read);
  if (!request.global_batch) lack_batch(setting.set);
  const bool says_stack = std::any_of(setting.set.begin(), setting.set.end(),
                                      [](const std::string& path) { return path.starts_with("stack."); });
  if (!setting.trained.stack_given && !says_stack && plan.zero == 3) {
    formats::orrery::take_stack(of_zero_3(catalogue_directory(), plan.stack), plan);
    setting.set = read_plan(request.plan_file, plan, read);
  }
  if (setting.trained.stack_given) plan.stack = by_options.stack;
  if (setting.trained.stack_given || request.overlap) plan.overlap = by_options.overlap;
  setting.trained.stack_given = setting.trained.stack_given || setting.set.count("stack.name") > 0;
}

// An eager plan of software that compiles its loss keeps the logits that its kin keeps.
void keep_eager_logits(const std::set<std::string>& set, cluster::Plan& plan) {
  if (!plan.stack.eager || set.count("stack.eager") == 0 || set.count("stack.logit_bytes") > 0) return;
  const auto load = [](cluster::StackName name) {
    return formats::orrery::load_stack(catalogue_directory(), cluster::name_of(name, cluster::stacks())).stack;
  };
  if (!load(plan.stack.name).eager) plan.stack.logit_bytes = load(cluster::kin(plan.stack.name)).logit_bytes;
}

// A constant of the software or of the accelerator that is not what runs were predicted with; or nothing. Runs of
// PyTorch's FSDP in 16 bits were measured with and without compilation; what an accelerator or its host holds and costs
// changes no time.
std::string changed_constant(const base::Overrides& system, const std::set<std::string>& plan, TrainedModel& trained) {
  cluster::Stack usual =
      formats::orrery::load_stack(catalogue_directory(), cluster::name_of(trained.plan.stack.name, cluster::stacks()))
          .stack;
  suit_kernel(trained.system, usual);
  const bool both_ways = trained.plan.stack.name == cluster::StackName::kPytorchFsdp &&
                         machine::bytes_per_element(trained.plan.precision) >= 2;
  const base::Fields now = cluster::fields(trained.plan.stack);
  for (const base::Field& field : cluster::fields(usual))
    if (plan.count(field.path) > 0 && !(both_ways && field.path == "stack.eager") &&
        find_field(now, field.path)->get() != field.get())
      return "plan." + field.path;
  constexpr std::array<std::string_view, 5> kTimeless = {"accelerator.memory", "accelerator.power", "accelerator.pue",
                                                         "accelerator.price", "accelerator.host_memory"};
  for (const base::Override& set : system)
    if ((set.path.starts_with("accelerator.") || set.path.starts_with("calibration.")) &&
        std::find(kTimeless.begin(), kTimeless.end(), set.path) == kTimeless.end())
      return "system." + set.path;
  return "";
}

// A network that is more than twice as fast or as slow as the one that was described; or nothing.
std::string other_network(const TrainRequest& request, const base::Overrides& given, const cluster::System& system) {
  const auto sets_network = [](const base::Override& set) { return set.path.starts_with("networks."); };
  const auto first = std::find_if(given.begin(), given.end(), sets_network);
  if (first == given.end() || request.system == kThisMachine) return "";
  base::Overrides rest;
  std::remove_copy_if(given.begin(), given.end(), std::back_inserter(rest), sets_network);
  const collective::Fabric before =
      formats::orrery::load_system(catalogue_directory(), request.system, rest).system.fabric;
  const auto far = [](double a, double b) { return a > 2 * b || b > 2 * a; };
  for (int level = 0; level < std::min(before.count, system.fabric.count); ++level) {
    const collective::Network& was = before.levels[level];
    const collective::Network& now = system.fabric.levels[level];
    if (far(was.rate(), now.rate()) || far(was.latency_s, now.latency_s)) return "system." + first->path;
  }
  return before.count == system.fabric.count ? "" : "system." + first->path;
}

}  // namespace

void read_setting(const TrainRequest& asked, Setting& setting) {
  require(asked);
  SplitOverrides overrides = split(asked);
  setting.request = with_schedule(asked, overrides.plan);
  const TrainRequest& request = setting.request;
  TrainedModel& trained = setting.trained;
  read_model_and_system(catalogue_directory(), overrides, setting);
  refuse_contradictions(asked, overrides.plan);
  settle_stack(request, overrides.plan, catalogue_directory(), trained);
  if (!request.plan_file.empty()) take_plan_file(request, setting);
  std::sort(trained.inputs.begin(), trained.inputs.end());
  trained.inputs.erase(std::unique(trained.inputs.begin(), trained.inputs.end()), trained.inputs.end());
  trained.plan = requested_plan(request, trained.plan);
  base::Diagnostics found;
  const base::Fields known = cluster::fields(trained.plan);
  for (const base::Override& field : overrides.plan)
    if (formats::orrery::set_plan_field(trained.plan, known, field, found)) setting.asked.insert(field.path);
  setting.set.insert(setting.asked.begin(), setting.asked.end());
  found.throw_if_errors();
  keep_eager_logits(setting.set, trained.plan);
  setting.changed = changed_constant(overrides.system, setting.set, trained);
  if (setting.changed.empty()) setting.changed = other_network(request, overrides.system, trained.system);
  check_interleaving(request, trained.plan);
  check_chip(request, overrides.system, setting.machine, trained);
  setting.limits = request.limits;
  if (request.interruptible) setting.limits.stop = request.interruptible();
  if (setting.measurements) setting.products = formats::orrery::read_measured_products(setting.measurements);
  setting.array = attention_array(request, trained);
}

}  // namespace orrery::verbs
