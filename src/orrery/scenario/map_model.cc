// Reading is serial and cheap; searching is parallel over layers when there are several, and inside the
// search when there is one. Either way each layer's answer is a pure function of its inputs, so the order in
// which workers take layers does not show.
#include "orrery/scenario/map_model.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/parallel.h"
#include "orrery/base/stopwatch.h"
#include "orrery/nest/legality.h"
#include "orrery/nest/model.h"
#include "orrery/scenario/forced_choice.h"

namespace orrery::scenario {
namespace {

using formats::timeloop::Specification;

bool same_term(const workload::Term& a, const workload::Term& b) {
  return a.dimension == b.dimension && a.coefficient == b.coefficient;
}

// The name apart, which no cost depends on.
bool same_einsum(const workload::Einsum& a, const workload::Einsum& b) {
  const auto dimension = [](const workload::Dimension& x, const workload::Dimension& y) {
    return x.name == y.name && x.bound == y.bound;
  };
  const auto rank = [](const workload::Rank& x, const workload::Rank& y) {
    return std::equal(x.terms.begin(), x.terms.end(), y.terms.begin(), y.terms.end(), same_term);
  };
  const auto dataspace = [&](const workload::Dataspace& x, const workload::Dataspace& y) {
    return x.name == y.name && x.read_write == y.read_write &&
           std::equal(x.ranks.begin(), x.ranks.end(), y.ranks.begin(), y.ranks.end(), rank);
  };
  return std::equal(a.dimensions.begin(), a.dimensions.end(), b.dimensions.begin(), b.dimensions.end(), dimension) &&
         std::equal(a.dataspaces.begin(), a.dataspaces.end(), b.dataspaces.begin(), b.dataspaces.end(), dataspace);
}

// Diagnostics of several layers on one chip repeat each other; each is kept once.
class Gathered {
 public:
  void add(const std::vector<base::Diagnostic>& found) {
    for (const base::Diagnostic& diagnostic : found) {
      const base::Location& where = diagnostic.primary.where;
      const auto key = std::make_tuple(diagnostic.code, diagnostic.message, where.known() ? where.file->name : "",
                                       where.line, where.column);
      if (!seen_.insert(key).second) continue;
      const bool is_error = diagnostic.severity == base::Severity::kError;
      base::Diagnostic& copy = is_error ? all_.error("", "") : all_.warning("", "");
      copy = diagnostic;
    }
  }
  const base::Diagnostics& all() const { return all_; }

 private:
  std::set<std::tuple<std::string, std::string, std::string, int, int>> seen_;
  base::Diagnostics all_;
};

void sort_once(std::vector<std::pair<std::string, std::string>>& inputs) {
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
}

void require_parts(const Specification& specification, bool mapping, bool has_document = false) {
  base::Diagnostics missing;
  if (!specification.chip)
    missing.error("O1003", "no file has an `architecture`")
        .hint(
            "give the file that describes the chip, or `--chip NAME`; `orrery catalog` lists the chips that come "
            "along");
  if (!specification.problem)
    missing.error("O1003", "no file has a `problem`")
        .hint("give the file that describes the layer, or `--model NAME`; `orrery catalog` lists the models");
  // A mapping is read against chip and problem: where one of them is missing, it is not known yet.
  if (mapping && !specification.mapping && (!has_document || missing.all().empty()))
    missing.error("O1003", "no file has a `mapping`")
        .hint("give the mapping to evaluate, or let `orrery map` find the best one");
  missing.throw_if_errors();
}

constexpr const char* kTooLarge = "exceeds 9223372036854775807, the largest count of 64 bits";

[[noreturn]] void refuse_total(const std::string& what, const std::string& arithmetic, const std::string& hint) {
  base::Diagnostics found;
  found.error("O1004", fmt::format("{} cannot be counted in 64 bits", what))
      .note(fmt::format("{} {}", arithmetic, kTooLarge))
      .hint(hint);
  throw base::InputError(found.all());
}

// Of a layer that reads well but whose words, operations or cycles overflow: the numbers they are products of.
base::InputError uncountable(const MappedLayer& layer) {
  std::string bounds;
  for (const workload::Dimension& dimension : layer.einsum.dimensions)
    bounds += fmt::format("{}{} = {}", bounds.empty() ? "" : ", ", dimension.name, dimension.bound);
  base::Diagnostics found;
  found.error("O1004", fmt::format("the words or cycles of `{}` cannot be counted in 64 bits", layer.name))
      .note(fmt::format("a product of its bounds and coefficients {}: {}", kTooLarge, bounds))
      .note(fmt::format("the chip has {} x `{}`", layer.chip.compute.instances, layer.chip.compute.name))
      .hint("use smaller bounds");
  return base::InputError(found.all());
}

// That more memory might have proven the answer.
void warn_of_memory(const MappedLayer& layer, std::size_t memory, base::Diagnostics& found) {
  base::Diagnostic& warning =
      found.warning("O1007", fmt::format("the search for `{}` ran short of memory", layer.name));
  warning.note(fmt::format("it had {} MiB", memory >> 20));
  if (layer.found())
    warning.note(
        fmt::format("the best mapping is at most {:.2f} % better than this one", 100 * layer.optimum.certificate.gap));
  warning.hint("give it more with --memory");
}

// All that is asked about one layer, one search after the other. A limit in seconds is shared out over them:
// each takes at most its part of what is left.
void answer(const MapOptions& options, const nest::Mapspace& space, const std::optional<nest::Constraint>& forced,
            nest::SearchLimits limits, MappedLayer& layer) {
  const base::Stopwatch clock;
  int searches =
      1 + static_cast<int>(options.front) + static_cast<int>(forced.has_value()) + static_cast<int>(options.certify);
  const double seconds = limits.seconds;
  const auto share = [&] {
    // Not 0, which means no limit.
    if (seconds > 0) limits.seconds = std::max(1e-6, (seconds - clock.seconds()) / searches);
    --searches;
    return limits;
  };
  const nest::Model model(layer.einsum, layer.chip, options.model, layer.reuse);
  layer.optimum = nest::optimize(model, space, layer.objective, share());
  limits.progress = nullptr;  // what follows bounds other values
  if (options.certify) layer.certified = certify(model, space, layer.objective, layer.optimum, share());
  if (!layer.found()) return;
  if (forced) {
    nest::Mapspace narrower = space;
    narrower.constraints.push_back(*forced);
    layer.forced = Forced{options.why, nest::optimize(model, narrower, layer.objective, share())};
  }
  if (options.front) {
    layer.front = nest::pareto_front(model, space, share());
    if (!layer.front->complete) nest::include(layer.optimum, *layer.front);
  }
}

}  // namespace

Totals totals(const std::vector<MappedLayer>& layers) {
  Totals sum;
  for (const MappedLayer& layer : layers) {
    if (!layer.found()) continue;
    const nest::Evaluation& cost = layer.optimum.evaluation;
    const base::Count before = sum.cycles;
    sum.energy_pj += static_cast<double>(layer.instances) * cost.energy_pj;
    base::Count cycles = 0;
    if (__builtin_mul_overflow(layer.instances, cost.cycles, &cycles))
      refuse_total(fmt::format("the cycles of `{}`", layer.name),
                   fmt::format("{} instances * {} cycles", layer.instances, cost.cycles),
                   "use a smaller batch, fewer heads or smaller bounds");
    if (__builtin_add_overflow(sum.cycles, cycles, &sum.cycles))
      refuse_total("the cycles of all layers",
                   fmt::format("{} cycles of the layers before `{}` + {} of it", before, layer.name, cycles),
                   "map fewer layers at a time, with --layer");
    sum.edp_seed += static_cast<double>(layer.instances) * cost.edp_j_cycles;
  }
  sum.edp_j_cycles = sum.energy_pj * static_cast<double>(sum.cycles) / 1e12;
  return sum;
}

Totals times(const Totals& block, base::Count blocks) {
  Totals all;
  all.energy_pj = block.energy_pj * static_cast<double>(blocks);
  if (__builtin_mul_overflow(block.cycles, blocks, &all.cycles))
    refuse_total("the cycles of the model", fmt::format("{} blocks * {} cycles", blocks, block.cycles),
                 "use fewer blocks, or read the figures of one block");
  all.edp_j_cycles = all.energy_pj * static_cast<double>(all.cycles) / 1e12;
  all.edp_seed = block.edp_seed * static_cast<double>(blocks);
  return all;
}

MappedModel map_layers(const std::vector<LayerTask>& tasks, const MapOptions& options) {
  MappedModel result;
  result.layers.resize(tasks.size());
  std::vector<nest::Mapspace> spaces(tasks.size());
  std::vector<std::optional<nest::Constraint>> forced(tasks.size());
  std::vector<std::size_t> same_as(tasks.size());  // the task whose answer this one shares; itself otherwise
  Gathered gathered;
  Estimators estimators(options.estimators);
  int document_threads = 0;

  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const LayerTask& task = tasks[i];
    MappedLayer& layer = result.layers[i];
    layer.name = task.name;
    layer.instances = task.instances;
    same_as[i] = i;
    for (std::size_t earlier = 0; task.einsum && earlier < i; ++earlier) {
      if (tasks[earlier].documents == task.documents && tasks[earlier].einsum &&
          same_einsum(*tasks[earlier].einsum, *task.einsum)) {
        same_as[i] = same_as[earlier];
        break;
      }
    }
    if (same_as[i] != i) continue;
    try {
      Specification specification = task.einsum ? task.documents->read_for(*task.einsum) : task.documents->read();
      require_parts(specification, false);
      layer.estimates = complete(specification, estimators);
      layer.einsum = specification.problem->einsum;
      layer.chip = *specification.chip;
      layer.reuse = specification.problem->space.reuse;
      layer.objective = !options.objective.empty()                ? options.objective
                        : !specification.mapper.objective.empty() ? specification.mapper.objective
                                                                  : std::vector<nest::Metric>{nest::Metric::kEdp};
      if (layer.name.empty()) layer.name = layer.einsum.name;
      spaces[i] = std::move(specification.problem->space);
      if (!options.why.empty()) forced[i] = forced_choice(options.why, layer.einsum, layer.chip);
      document_threads = std::max(document_threads, specification.mapper.threads);
      gathered.add(specification.diagnostics.all());
      result.inputs.insert(result.inputs.end(), specification.inputs.begin(), specification.inputs.end());
    } catch (const base::InputError& error) {
      gathered.add(error.diagnostics);
    }
  }
  gathered.all().throw_if_errors();
  result.warnings = gathered.all();
  if (std::none_of(result.layers.begin(), result.layers.end(), [](const auto& layer) { return layer.estimates; }))
    mention_unused(options.estimators, result.warnings);
  sort_once(result.inputs);

  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (same_as[i] == i) work.push_back(i);

  const int cores = base::thread_count(0);
  int threads = options.limits.threads;
  if (threads <= 0) threads = document_threads > 0 ? std::min(document_threads, cores) : 1;
  const int workers = std::clamp(threads, 1, std::max(1, static_cast<int>(work.size())));

  std::mutex guard;  // of `done` and the progress callbacks
  std::size_t done = 0;
  base::parallel_for(work.size(), workers, [&](std::size_t at) {
    MappedLayer& layer = result.layers[work[at]];
    nest::SearchLimits limits = options.limits;
    limits.threads = workers == 1 ? threads : 1;
    limits.searches = workers;
    if (options.searching)
      limits.progress = [&](double best, double lower_bound) {
        const std::lock_guard<std::mutex> lock(guard);
        options.searching(layer.name, best, lower_bound);
      };
    try {
      answer(options, spaces[work[at]], forced[work[at]], limits, layer);
    } catch (const base::OverflowError&) {
      throw uncountable(layer);
    }
    const std::lock_guard<std::mutex> lock(guard);
    ++done;
    if (options.progress) options.progress(done, work.size(), layer.name);
  });

  for (const std::size_t i : work)
    if (result.layers[i].optimum.out_of_memory)
      warn_of_memory(result.layers[i], options.limits.memory, result.warnings);

  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (same_as[i] == i) continue;
    const MappedLayer& first = result.layers[same_as[i]];
    MappedLayer& layer = result.layers[i];
    const std::string name = layer.name;
    const base::Count instances = layer.instances;
    layer = first;
    layer.name = name;
    layer.instances = instances;
    layer.einsum = *tasks[i].einsum;
  }
  return result;
}

MappedModel evaluate_mapping(const std::string& name, const formats::timeloop::Documents& documents,
                             const nest::ModelOptions& options, bool strict, const EstimatorSetup& setup) {
  Specification specification = documents.read();
  require_parts(specification, true, documents.find("mapping") != nullptr);
  Estimators estimators(setup);
  const Estimates estimates = complete(specification, estimators);

  MappedModel result;
  result.inputs = specification.inputs;
  sort_once(result.inputs);
  Gathered gathered;
  gathered.add(specification.diagnostics.all());
  result.warnings = gathered.all();
  if (!estimates) mention_unused(setup, result.warnings);

  MappedLayer layer;
  layer.einsum = specification.problem->einsum;
  layer.chip = *specification.chip;
  layer.estimates = estimates;
  layer.reuse = specification.problem->space.reuse;
  layer.name = name.empty() ? layer.einsum.name : name;
  layer.searched = false;

  base::Diagnostics illegal;
  const nest::Mapping& mapping = *specification.mapping;
  nest::check_legal(layer.einsum, layer.chip, mapping, specification.mapping_places, illegal);
  if (strict && !illegal.has_errors())
    nest::check_allowed(layer.einsum, layer.chip, mapping, specification.problem->space, illegal);
  if (illegal.has_errors()) throw IllegalMapping(illegal.all());

  layer.optimum.mapping = mapping;
  try {
    layer.optimum.evaluation = nest::evaluate(layer.einsum, layer.chip, mapping, options, layer.reuse);
  } catch (const base::OverflowError&) {
    throw uncountable(layer);
  }
  layer.optimum.certificate.evaluated = 1;
  result.layers.push_back(std::move(layer));
  return result;
}

}  // namespace orrery::scenario
