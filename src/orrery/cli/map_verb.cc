#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/content_hash.h"
#include "orrery/base/edit_distance.h"
#include "orrery/base/stopwatch.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/results.h"
#include "orrery/cli/verbs.h"
#include "orrery/formats/timeloop/documents.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/map_model.h"
#include "orrery/workload/transformer.h"

namespace orrery::cli {
namespace {

using formats::timeloop::Documents;

constexpr base::Count kLongestDefaultSequence = 4096;
constexpr base::Count kUnknownSequence = 512;

// Layers to map and the documents they borrow.
struct Plan {
  std::deque<Documents> documents;  // a deque: tasks point into it while it grows
  std::vector<scenario::LayerTask> tasks;
  std::vector<std::string> stems;  // per task, tells layers of one name apart
  std::string title;
  base::Count blocks = 0;
  File model;                                                // null without --model
  std::vector<std::pair<std::string, std::string>> ignored;  // of it: --ignore
  base::Diagnostics warnings;                                // of the catalogue's files
};

formats::timeloop::ReadOptions search_options(const MapOptions& options) {
  formats::timeloop::ReadOptions read = read_options(options);
  read.mapping_wanted = false;
  return read;
}

struct Chips {
  std::vector<scenario::ChipFile> files;

  std::vector<File> for_role(workload::OperatorRole role) const {
    std::vector<File> out;
    for (const scenario::ChipFile& chip : files) out.push_back(chip.for_role(role).file);
    return out;
  }
  std::string names() const {
    std::string out;
    for (const scenario::ChipFile& chip : files) out += (out.empty() ? "" : " + ") + chip.entry.name;
    return out;
  }
};

Chips load_chips(const std::vector<std::string>& names) {
  Chips chips;
  if (names.empty()) return chips;
  const std::string directory = scenario::catalogue_directory();
  for (const std::string& name : names) chips.files.push_back(scenario::load_chip(directory, name));
  return chips;
}

std::vector<File> joined(std::vector<File> files, const std::vector<File>& more) {
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

base::Count default_sequence(const workload::TransformerConfig& config) {
  return std::min(config.max_positions.value_or(kUnknownSequence), kLongestDefaultSequence);
}

void plan_model(const MapOptions& options, const Chips& chips, const std::vector<File>& files, Plan& plan) {
  const SplitFiles split = split_by_problem(files);
  if (!split.layers.empty())
    base::fail("O1103", fmt::format("both --model and a `problem` in `{}`", split.layers[0]->name), {},
               "name a model, or give problems, not both");
  const scenario::ModelFile model =
      scenario::load_model(scenario::catalogue_directory(), options.model, {options.ignored, false});
  const base::Count sequence = options.sequence.value_or(default_sequence(model.config));
  const std::vector<workload::Operator> block = workload::transformer_block(model.config, options.batch, sequence);

  std::map<std::vector<const base::SourceFile*>, const Documents*> gathered;
  for (const workload::Operator& op : block) {
    const std::vector<File> all = joined(chips.for_role(op.role), files);
    std::vector<const base::SourceFile*> key;
    for (const File& file : all) key.push_back(file.get());
    const Documents*& documents = gathered[key];
    if (!documents) documents = &plan.documents.emplace_back(Documents::gather(all, search_options(options)));
    scenario::LayerTask task;
    task.name = op.name;
    task.instances = op.instances;
    task.documents = documents;
    task.einsum = op.einsum;
    plan.tasks.push_back(std::move(task));
    plan.stems.push_back(op.name);
  }
  plan.blocks = model.config.layers;
  plan.model = model.file;
  plan.ignored = model.ignored;
  plan.warnings.append(model.diagnostics);
  const std::string where = chips.files.empty() ? "the given chip" : chips.names();
  plan.title = fmt::format("{} on {}: {} block{}, batch {}, sequence {}", model.entry.name, where, plan.blocks,
                           plan.blocks == 1 ? "" : "s", options.batch, sequence);
}

void plan_files(const MapOptions& options, const Chips& chips, const std::vector<File>& files, Plan& plan) {
  const SplitFiles split = split_by_problem(files);
  const std::vector<File> shared = joined(chips.for_role(workload::OperatorRole::kMatmul), split.shared);
  std::vector<File> layers = split.layers;
  if (layers.empty()) layers.push_back(nullptr);  // the reader says that a problem is missing
  base::Diagnostics found;
  for (const File& file : layers) {
    std::vector<File> all = shared;
    if (file) all.push_back(file);
    try {
      const Documents& documents = plan.documents.emplace_back(Documents::gather(all, search_options(options)));
      scenario::LayerTask task;
      task.documents = &documents;
      plan.tasks.push_back(std::move(task));
      plan.stems.push_back(file ? stem(file->name) : "");
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& diagnostic : error.diagnostics) found.error("", "") = diagnostic;
    }
  }
  found.throw_if_errors();
}

void plan_gemms(const MapOptions& options, const Chips& chips, const std::vector<File>& files, Plan& plan) {
  const SplitFiles split = split_by_problem(files);
  if (!split.layers.empty())
    base::fail("O1103", fmt::format("both --gemm and a `problem` in `{}`", split.layers[0]->name), {},
               "give matrix products with --gemm, or problems, not both");
  const Documents& documents = plan.documents.emplace_back(Documents::gather(
      joined(chips.for_role(workload::OperatorRole::kMatmul), split.shared), search_options(options)));
  for (const Gemm& gemm : options.gemms) {
    scenario::LayerTask task;
    task.name = fmt::format("GEMM {}x{}x{}", gemm.m, gemm.k, gemm.n);
    task.documents = &documents;
    task.einsum = workload::matmul(task.name, gemm.m, gemm.k, gemm.n);
    plan.stems.push_back(fmt::format("{}", plan.tasks.size() + 1));
    plan.tasks.push_back(std::move(task));
  }
}

// The shape names a layer of a file; where several files use one shape, the file's name is added.
void name_layers(const std::vector<std::string>& stems, std::vector<scenario::MappedLayer>& layers) {
  std::map<std::string, int> uses;
  for (const scenario::MappedLayer& layer : layers) ++uses[layer.name];
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (uses[layers[i].name] > 1) layers[i].name += fmt::format(" ({})", stems[i]);
}

[[noreturn]] void no_such_layer(const std::string& wanted, const std::vector<std::string>& known) {
  base::fail("O1106", fmt::format("there is no layer `{}`", wanted), {},
             base::did_you_mean(wanted, known, fmt::format("layers are {}", fmt::join(known, ", "))));
}

// Keeps the one task that --layer names: by operator, by file stem, or by shape name.
void keep_layer(const std::string& wanted, Plan& plan) {
  if (wanted.empty()) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    std::string name = plan.tasks[i].name;
    if (name.empty()) {
      const formats::timeloop::Specification specification = plan.tasks[i].documents->read();
      if (specification.problem) name = specification.problem->einsum.name;
    }
    if (wanted == name || wanted == plan.stems[i] || wanted == fmt::format("{} ({})", name, plan.stems[i])) {
      const scenario::LayerTask task = plan.tasks[i];
      const std::string kept_stem = plan.stems[i];
      plan.tasks = {task};
      plan.stems = {kept_stem};
      return;
    }
    names.push_back(name);
  }
  no_such_layer(wanted, names);
}

// The unit in which `objective` is reported, as of Certificate::lower_bound.
std::string shown(const std::vector<nest::Metric>& objective, double value) {
  const nest::Metric first = objective.empty() ? nest::Metric::kEdp : objective[0];
  return first == nest::Metric::kEnergy  ? fmt::format("{:.6g} pJ", value)
         : first == nest::Metric::kDelay ? fmt::format("{:.6g} cycles", value)
                                         : fmt::format("{:.6g} J*cycle", value);
}

// The best found and the bound below which nothing lies.
std::string progress_text(const std::string& name, const std::vector<nest::Metric>& objective, double best,
                          double bound) {
  if (!std::isfinite(best)) return fmt::format("{}: no mapping yet", name);
  return fmt::format("{}: best {}, bound {}, gap {:.2f} %", name, shown(objective, best), shown(objective, bound),
                     best > 0 ? 100 * (best - bound) / best : 0);
}

}  // namespace

int run_map(const MapOptions& options, const Console& console) {
  const base::Stopwatch clock;
  if (!options.gemms.empty() && !options.model.empty())
    base::fail("O1103", fmt::format("both --gemm and --model {}", options.model), {},
               "give matrix products, or a model, not both");
  if (options.files.empty() && options.chips.empty() && !options.gemms.empty())
    base::fail("O1103", "--gemm has no chip to run on", {},
               "name one with --chip, or give its files; `orrery catalog` lists the chips that come along");
  if (options.files.empty() && options.chips.empty() && !options.model.empty())
    base::fail("O1103", fmt::format("`{}` has no chip to run on", options.model), {},
               "name one with --chip, or give its files; `orrery catalog` lists the chips that come along");
  if (options.files.empty() && options.chips.empty())
    base::fail("O1103", "there is nothing to map", {},
               "give Timeloop documents, or --chip and --model; see `orrery map --help`");
  if (options.model.empty() && (options.sequence || options.batch != 1))
    base::fail("O1103", "--seq and --batch size a model, but no --model is given", {},
               "name a model; a problem's bounds are set with --set");
  check_directory(options);

  Plan plan;
  const std::vector<File> files = read_files(options.files);
  const Chips chips = load_chips(options.chips);
  if (!options.gemms.empty()) {
    plan_gemms(options, chips, files, plan);
  } else if (options.model.empty()) {
    plan_files(options, chips, files, plan);
  } else {
    plan_model(options, chips, files, plan);
  }
  for (const scenario::ChipFile& chip : chips.files) plan.warnings.append(chip.diagnostics);
  keep_layer(options.layer, plan);

  scenario::MapOptions search;
  search.model = options.model_options;
  search.estimators = options.estimators;
  search.objective = options.objective;
  search.limits.seconds = options.time_limit;
  search.limits.memory = std::min(options.memory, cost::memory_allowed().value_or(options.memory));
  search.limits.threads = options.threads;
  search.front = options.pareto;
  search.why = options.why;
  search.certify = options.certify;
  Results results;
  {
    const InterruptGuard interrupt;
    search.limits.stop = interrupt.flag();
    ProgressLine line(console);
    search.progress = [&](std::size_t done, std::size_t all, const std::string& name) {
      if (line.wanted()) line.show(fmt::format("{}/{} layers mapped, last {}", done, all, name));
    };
    search.searching = [&](const std::string& name, double best, double bound) {
      if (line.wanted()) line.show(progress_text(name, options.objective, best, bound));
    };
    results.mapped = scenario::map_layers(plan.tasks, search);
  }
  for (const scenario::MappedLayer& layer : results.mapped.layers)
    if (layer.certified && layer.certified->finished && !layer.certified->agrees)
      throw base::InternalError(fmt::format("`{}` is not certified: {}", layer.name, layer.certified->complaint));
  if (plan.model) {
    results.mapped.inputs.emplace_back(plan.model->name, base::content_hash(plan.model->text));
    results.mapped.inputs.insert(results.mapped.inputs.end(), plan.ignored.begin(), plan.ignored.end());
    std::sort(results.mapped.inputs.begin(), results.mapped.inputs.end());
  }
  results.mapped.warnings.append(plan.warnings);
  name_layers(plan.stems, results.mapped.layers);
  results.verb = "map";
  results.title = plan.title;
  results.blocks = plan.blocks;
  if (!options.model.empty() && !options.layer.empty()) {
    results.selected = results.mapped.layers.front().name;
    results.title += fmt::format(", layer {} only", results.selected);
  }
  results.close_look = results.mapped.layers.size() == 1;
  results.seconds = clock.seconds();
  return present(results, options, console);
}

}  // namespace orrery::cli
