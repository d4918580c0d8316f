#include "orrery/verbs/train/options.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/compat.h"
#include "orrery/cli/number_text.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/file_kinds.h"
#include "orrery/verbs/train/amped/options.h"
#include "orrery/verbs/train/json.h"
#include "orrery/verbs/train/perfetto_trace.h"
#include "orrery/verbs/train/plan_map_text.h"
#include "orrery/verbs/train/plan_options.h"
#include "orrery/verbs/train/plan_rows_options.h"
#include "orrery/verbs/train/plans/plan_files.h"
#include "orrery/verbs/train/plans/plan_search.h"
#include "orrery/verbs/train/run.h"
#include "orrery/verbs/train/table.h"

namespace orrery::verbs {
namespace {

constexpr base::Count kMostEvents = 1'000'000;  // some 100 MB of trace; Perfetto opens no more with ease

// "0.6" or "0.91,2": a share of the peak, and the microbatch that reaches half of it.
void choose_efficiency(const std::string& text, TrainRequest& request) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto number = [&](const std::string& part) {
    const auto [value, rest] = decimal(part);
    return rest.empty() && value >= 1e-30 && value <= 1e6 ? value : 0.0;
  };
  request.efficiency = number(text.substr(0, comma));
  if (comma < text.size()) request.half_efficiency = number(text.substr(comma + 1));
  if (!(*request.efficiency > 0 && *request.efficiency <= 1) || (comma < text.size() && request.half_efficiency == 0))
    misuse("O1102", fmt::format("`--efficiency {}` is not a share of the peak", text),
           "write `--efficiency 0.6`, or `0.91,2` for 0.91 b / (b + 2) at microbatch b");
}

void choose_tokens(const std::string& text, TrainRequest& request) {
  request.tokens = amount_of_tokens(text);
  if (request.tokens == 0)
    misuse("O1102", fmt::format("`--tokens {}` is not a number of tokens", text), "write `--tokens 300e9` or `300B`");
}

void choose_overlap(const std::string& name, TrainRequest& request) {
  const std::vector<std::string> known = {"dp", "tp", "pp", "ep", "cp", "none"};
  if (std::find(known.begin(), known.end(), name) == known.end())
    misuse("O1102", fmt::format("`--overlap {}` names no class of communication", name),
           base::did_you_mean(name, known, "classes are dp, tp, pp, ep, cp; `none` overlaps nothing"));
  const bool none = name == "none";
  if (request.overlap && request.overlap->empty() != none)
    misuse("O1103", "`--overlap` is given `none` and classes of communication beside it",
           "give `none` alone, or the classes alone");
  if (!request.overlap) request.overlap.emplace();
  if (!none) request.overlap->push_back(name);
}

// Megatron-Core's modules, and the parts they are.
const std::vector<std::pair<std::string, bool cluster::Recomputed::*>>& modules() {
  using Parts = cluster::Recomputed;
  static const std::vector<std::pair<std::string, bool Parts::*>> names = {{"core_attn", &Parts::core},
                                                                           {"layernorm", &Parts::norms},
                                                                           {"mlp", &Parts::networks},
                                                                           {"moe", &Parts::mixtures},
                                                                           {"moe_act", &Parts::expert_activations},
                                                                           {"shared_experts", &Parts::shared_experts},
                                                                           {"mla_up_proj", &Parts::latents}};
  return names;
}

std::vector<std::string> recomputation_names() {
  std::vector<std::string> names;
  for (const auto& [name, how] : cluster::recomputations()) names.push_back(name);
  for (const auto& [name, part] : modules()) names.push_back(name);
  return names;
}

void choose_recomputation(const std::string& name, TrainRequest& request) {
  const bool module =
      std::any_of(modules().begin(), modules().end(), [&](const auto& one) { return one.first == name; });
  if (request.recompute && !(module && request.recomputed))
    misuse("O1103", fmt::format("`--recompute` is given `{}` beside another of its values", name),
           "modules alone go together: `--recompute moe,layernorm`");
  if (module) {
    request.recompute = cluster::Recompute::kSelective;
    if (!request.recomputed) request.recomputed = cluster::Recomputed{.core = false};
    for (const auto& [known, part] : modules())
      if (known == name) (*request.recomputed).*part = true;
    return;
  }
  for (const auto& [known, how] : cluster::recomputations())
    if (known == name) request.recompute = how;
  if (!request.recompute) {
    const std::vector<std::string> known = recomputation_names();
    misuse("O1102", fmt::format("`--recompute {}` is none of its values", name),
           base::did_you_mean(name, known, fmt::format("they are {}", base::joined(known, ", "))));
  }
}

void declare_plan(CommandLine& line, TrainRequest& request) {
  line.group("Plan");
  declare_sizes(line, request);
  declare_spread(line, request, "the best, or 1 where every degree is given",
                 "the best, as all else of the plan that is not given");
  declare_degree(line, "ep", request.ep, "Expert-parallel degree, inside dp");
  declare_degree(line, "cp", request.cp, "Context-parallel degree (ring attention)");
  declare_degree(line, "interleave", request.interleave,
                 "Chunks of layers per stage; searched with the degrees, else what is fastest and fits");
  line.choice(
      "--schedule", request.schedule, cluster::schedules(),
      "gpipe, 1f1b, interleaved, zero-bubble, dualpipe, zb-v, v-half, v-min; searched with the degrees, else 1f1b");
  line.meant_each("--recompute", "NAME|MODULE[,MODULE]",
                  "none, selective, full, or Megatron-Core's modules; searched with the degrees, else none", true,
                  [&request](const std::string& name) { choose_recomputation(name, request); });
  line.offer("--recompute", recomputation_names());
  line.text("--stack", request.stack, "NAME",
            "Software that `orrery catalog stacks` lists, such as megatron-core; default: the system's, with ZeRO 3 "
            "pytorch-fsdp");
  std::vector<std::string> stacks;
  for (const auto& [name, stack] : cluster::stacks()) stacks.push_back(name);
  line.offer("--stack", stacks);
  line.meant_each("--overlap", "CLASS[,CLASS]",
                  "Communication that runs beside work: tp, pp, dp, ep, cp, or none; default: what the software does",
                  true, [&request](const std::string& name) { choose_overlap(name, request); });
  line.offer("--overlap", {"dp", "tp", "pp", "ep", "cp", "none"});
  line.toggle("--sequence-parallel", request.sequence_parallel, "Split norms and dropouts over tp as well");
  cluster::Plan plan;
  line.digit("--zero", request.zero, static_cast<int>(base::find_field(cluster::fields(plan), "zero")->most),
             "Sharded over dp: 1 the optimiser's state, 2 gradients as well, 3 weights as well",
             "is none of ZeRO's stages 0 to 3");
}

// Names for what --set reaches, too.
void declare_named_fields(CommandLine& line, base::Overrides& set) {
  const auto add = [&set](const std::string& option, const std::string& path, const std::string& value) {
    for (const base::Override& known : set)
      if (known.path == path)
        misuse("O1103", fmt::format("both `{}` and `--set {}={}`", option, path, known.value),
               "leave one of the two out");
    set.push_back({path, value});
  };
  const auto adapters = [add](const std::string& option, const std::string& text) {
    if (!base::parse_number<base::Count>(text, 1, 65536))
      misuse("O1102", fmt::format("{}: `{}` is not a whole number from 1 to 65536", option, text),
             fmt::format("write `{} 16`", option));
    add(option, "plan.lora_rank", text);
  };
  line.meant("--lora", "RANK", "Train adapters of this rank beside frozen matrices (LoRA); default: all weights",
             [adapters](const std::string& text) { adapters("--lora", text); });
  line.meant("--qlora", "RANK", "The same beside frozen matrices in 4 bits (NF4)",
             [adapters, add](const std::string& text) {
               adapters("--qlora", text);
               add("--qlora", "plan.frozen_bits", "4");
             });
  line.meant_each("--offload", "NAME[=SHARE][,NAME]",
                  "activations, optimizer: what lies in the host's memory, all of it or a share", true,
                  [add](const std::string& text) {
                    const std::size_t equals = std::min(text.find('='), text.size());
                    const std::string name = text.substr(0, equals);
                    if (name != "activations" && name != "optimizer")
                      misuse("O1102", fmt::format("`--offload {}` names nothing that can be offloaded", name),
                             "write `--offload activations`, `--offload optimizer=0.5`, or both");
                    add("--offload", "plan.offload_" + name, equals < text.size() ? text.substr(equals + 1) : "1");
                  });
  line.meant("--price", "USD", "US dollars of an accelerator for an hour; default: as the system's file has it",
             [add](const std::string& text) {
               const auto [value, rest] = decimal(text);
               if (!rest.empty() || !(value > 0))
                 misuse("O1102", fmt::format("--price: `{}` is not a number of dollars above 0", text),
                        "write `--price 2.5`");
               add("--price", "system.accelerator.price", text + "USD/h");
             });
}

void declare_amped(CommandLine& line, TrainOptions& options) {
  line.group("AMPeD's equations");
  line.meant("--equations", "NAME", "amped: AMPeD's interface and equations", [&options](const std::string& name) {
    if (name != "amped")
      misuse("O1102", fmt::format("`--equations {}` names no equations", name),
             "write `--equations amped`, or leave it out for Orrery's model");
    options.amped = true;
  });
  line.offer("--equations", {"amped"});
  line.text("--tables", options.lookup_tables, "FILE", "AMPeD's lookup_tables.json");
  line.text("--config-flat", options.config_flat, "FILE", "AMPeD's parameters by name");
  line.toggle("--gemm", options.gemm, "AMPeD: write or print gemm_breakdown.txt");
  line.toggle("--compute-graph", options.compute_graph, "AMPeD: write or print compute_graph.txt");
  line.toggle("--mat-dims", options.mat_dims, "AMPeD: write or print mat_dims.txt, for DeepFlow");
  line.toggle("--search", options.search, "AMPeD: find the best of all batch sizes and degrees");
  line.meant_each("--compat", "NAME[,NAME]", "amped: AMPeD's equations, defects included", true,
                  [&options](const std::string& name) {
                    if (!reproduces(amped::kDefects, name, options.compat))
                      refuse_compat(name, "no original that `orrery train` reproduces", amped::kDefects);
                  });
  line.offer("--compat", base::original_names(amped::kDefects));
}

bool read(const Arguments& arguments, Console& console, TrainOptions& options) {
  TrainRequest& request = options.request;
  CommandLine line("train", "Time and memory of one iteration of a training run on a cluster",
                   "orrery train --model gpt3-175b --system a100-selene --gpus 1024 --global-batch 1536 --tp 8 --pp 8");
  line.words("FILES", options.files, "AMPeD's config.json, with --equations amped");
  line.group("Question");
  declare_run(line, request);
  declare_mtp(line, request.mtp, true);
  line.toggle("--by-operator", request.by_operator, "List the operators with their times, as a run on a chip does");
  line.choice("--attention", request.attention, cluster::attentions(),
              "materialised or flash; default: what was usual when the model was published");
  line.text("--operators", request.measurements, "FILE.csv", "Timings of GEMMs, used in preference to the roofline");
  line.text("--attention-array", request.attention_array, "FILE.json",
            "A simulated array beside each accelerator does attention forwards: an answer of `sparse simulate`");
  line.meant("--efficiency", "E[,B]",
             "Instead of the roofline: GEMMs reach E (or, at microbatch b, E b / (b + B)) of the peak",
             [&request](const std::string& text) { choose_efficiency(text, request); });
  line.meant("--tokens", "N", "Also print the time to train on so many tokens, such as 300e9 or 1.4T",
             [&request](const std::string& text) { choose_tokens(text, request); });
  line.settings(options.overrides,
                "Override any field (repeatable). Of the model: model.layers=30, model.hidden=8192; of the plan: "
                "plan.lora_rank=16, plan.reduce_fp32=true, plan.overlap.dp=1; of the system: "
                "system.accelerator.memory=64GB, system.networks.1.bandwidth=25e9; of a chip: arch.PE.meshX=64. All "
                "paths: docs/model/cluster.md");
  declare_named_fields(line, options.overrides);
  declare_plan(line, request);
  line.text("--plan", request.plan_file, "FILE", "Take what is not given from this file, as `-o` writes it");
  line.text("--plans", options.plans, "FILE|-",
            "Evaluate every plan of a CSV or of JSON lines; CSV (with --json JSON lines) is printed");
  declare_plan_question(line, request.plans);
  line.output_file("--svg", options.svg, "FILE", "Draw the best time of every tp x pp there");
  line.group("Search");
  declare_search(
      line, request.limits,
      "Threads that search plans and map a chip's GEMMs; they change the time only; default: one for each core",
      "Seconds for the search of plans and a chip's mappings; the best so far is taken");
  request.limits.memory = base::kDefaultMemory;
  line.memory(request.limits.memory);
  declare(line, options, "Write result.json, plan.yaml and, of a search, plans.csv, or AMPeD's files, there");
  line.output_file("--trace", options.trace, "FILE", "Write the pipeline of one iteration there, for Perfetto");
  declare_amped(line, options);
  line.pictures();
  if (!line.read(arguments, console)) return false;
  if (request.plans.front && request.plans.objective.size() < 2)
    misuse("O1102", "`--pareto` is given one objective: there is nothing to weigh it against",
           "name two or more, such as `--pareto time,memory`, or give `--objective` one");
  options.amped = options.amped || !options.config_flat.empty();
  request.overrides = options.overrides;
  request.plans.map = request.plans.map || !options.svg.empty();
  return true;
}

// Options of AMPeD's interface mean nothing to the other one.
void refuse_amped_options(const TrainOptions& options) {
  base::Diagnostics found;
  const auto refuse = [&](bool given, const std::string& what) {
    if (given)
      found.error("O1375", fmt::format("{} belongs to AMPeD's interface", what))
          .hint("add `--equations amped`, or leave it out");
  };
  for (const std::string& file : options.files) {
    if (!verbs::is_transformer(file)) {
      refuse(true, fmt::format("the file `{}`", file));
      continue;
    }
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    found.error("O1375", fmt::format("the model `{}` is given without its option", file))
        .note("files without an option are those of AMPeD's interface")
        .hint(options.request.model.empty()
                  ? fmt::format("write `--model {}`", path)
                  : fmt::format("leave it out: `--model {}` is given", options.request.model));
  }
  refuse(!options.lookup_tables.empty(), "`--tables`");
  refuse(options.gemm, "`--gemm`");
  refuse(options.compute_graph, "`--compute-graph`");
  refuse(options.mat_dims, "`--mat-dims`");
  refuse(options.search, "`--search`");
  refuse(!options.compat.names.empty(), fmt::format("`--compat {}`", base::joined(options.compat.names, ",")));
  found.throw_if_errors();
}

std::string trace_of(const TrainedModel& trained) {
  const base::Count events = verbs::trace_events(trained.plan);
  if (events > kMostEvents) {
    base::Diagnostics found;
    found.error("O1376", fmt::format("the trace would have {} events, more than {}", events, kMostEvents))
        .note(fmt::format("{} stages x {} microbatches x {} chunks x forward and backward", trained.plan.pp,
                          cluster::microbatches(trained.plan), trained.plan.interleave))
        .hint("take a smaller `--global-batch`: the pipeline repeats itself");
    found.throw_if_errors();
  }
  return perfetto_trace(trained);
}

std::string picture_of_map(const TrainedModel& trained) {
  return trained.search && !trained.search->cells.empty() ? plan_map_svg(trained) : "";
}

std::vector<OutputFile> files_of(const TrainedModel& trained) {
  std::vector<OutputFile> files{{"plan.yaml", plan_text(trained.plan)}};
  if (trained.search) files.push_back({"plans.csv", plans_csv(*trained.search)});
  return files;
}

Outcome outcome_of_training(const TrainedModel& trained, const Run& run) {
  if (!trained.all_choices || !trained.unproven.empty() || (trained.fused && !trained.fused->searched()))
    return {run.cut_short()};
  Outcome out;
  if (trained.iteration.surely_not() && !trained.is_published) out.reasons.push_back(explain_no_fit(trained));
  if (trained.search && trained.search->top.empty()) out.reasons.push_back(explain_conflict(trained));
  if (!out.reasons.empty()) out.code = kNo;
  return out;
}

}  // namespace

TrainRequest train_request(const Arguments& arguments) {
  TrainOptions options;
  QuietConsole console;
  if (!read(arguments, console, options)) refuse_help();
  refuse_amped_options(options);
  if (options.amped || !options.plans.empty())
    misuse("O1103", fmt::format("`{}` asks for more than one run", options.amped ? "--equations amped" : "--plans"),
           "leave it out");
  return options.request;
}

int run_train(const Arguments& arguments, Console& console) {
  TrainOptions options;
  if (!read(arguments, console, options)) return kDone;
  if (options.amped) return run_train_amped(options, console);
  refuse_amped_options(options);
  if (!options.plans.empty()) {
    for (const auto& [name, value] : {std::pair{"--output", options.directory}, std::pair{"--trace", options.trace},
                                      std::pair{"--svg", options.svg}, std::pair{"--html", console.html}})
      if (!value.empty())
        misuse("O1103", fmt::format("`--plans` writes its rows to the standard output, nothing by `{}`", name),
               "leave it out, and send the rows to a file: `> rows.csv`");
    return run_plan_rows(options.request, options.plans, console);
  }
  TrainRequest& request = options.request;
  return run_verb<TrainedModel>(console, {.answer =
                                              [&](Run& run) {
                                                request.interruptible = run.interruptible();
                                                request.plans.beside = true;
                                                request.searching = [&](std::size_t done, std::size_t all) {
                                                  run.show("{} of {} products mapped", done, all);
                                                };
                                                request.plans.progress = [&](double best, double bound) {
                                                  run.show("best {:.6g}, bound {:.6g}, gap {:.2f} %", best, bound,
                                                           100 * base::gap(best, bound));
                                                };
                                                return train(request);
                                              },
                                          .document = train_document,
                                          .table = train_table,
                                          .folder = options,
                                          .names = {"result.json", "plan.yaml", "plans.csv"},
                                          .folder_files = files_of,
                                          .files = {{options.trace, trace_of}, {options.svg, picture_of_map}},
                                          .outcome = outcome_of_training});
}

}  // namespace orrery::verbs
