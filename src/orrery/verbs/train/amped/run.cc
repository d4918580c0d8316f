#include "orrery/verbs/train/amped/run.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/formats/amped/equation_options.h"
#include "orrery/formats/amped/output_files.h"
#include "orrery/inputs/inputs.h"

namespace orrery::verbs {
namespace {

namespace files = formats::amped;

constexpr std::int64_t kMostCandidates = 5'000'000;  // some seconds, and half a gigabyte

files::Resolved resolve(const AmpedRequest& request, const File& config, const File& lookup_tables,
                        const files::Overrides& overrides, const amped::Defects& defects, base::Diagnostics& found) {
  if (request.flat) return files::resolve_flat(config, overrides, defects, found);
  const files::Config parameters = files::read_config(config, overrides, found);
  const files::LookupTables tables =
      lookup_tables ? files::read_lookup_tables(lookup_tables, found) : files::LookupTables{};
  return files::resolve(parameters, tables, defects, found);
}

void search(AmpedRun& run) {
  const amped::Quantities& q = run.resolved.quantities;
  amped::Space space;
  // Above this the counts below would take long to factor, and the candidates longer.
  constexpr double kLargest = 1e9;
  const double counts[] = {q.node_accelerators, q.nodes, q.batch_size};
  for (const double count : counts)
    if (count > kLargest)
      base::fail("O1339", fmt::format("a search among {} is too large", count), {}, "at most 1e9 of anything");
  space.node_accelerators = static_cast<base::Count>(q.node_accelerators);
  space.nodes = static_cast<base::Count>(q.nodes);
  space.largest_batch = static_cast<base::Count>(q.batch_size);
  space.memory_gb = run.capacity_gb();
  const auto bound = [](std::int64_t count, const char* what, const char* way) {
    if (count > kMostCandidates)
      base::fail("O1339", fmt::format("the search has {} {}, more than {}", count, what, kMostCandidates), {}, way);
  };
  bound(amped::splits(space), "splits", "take a number of nodes with fewer divisors");
  bound(amped::effort(q, run.resolved.keep, run.model, space).evaluations, "candidates",
        "take a smaller `batch_size`: all sizes up to it are tried");
  run.search = amped::search(q, run.resolved.keep, run.model, space);
  run.space = space;
}

}  // namespace

double AmpedRun::capacity_gb() const {
  const double bytes = resolved.quantities.accelerator_memory;
  return std::isnan(bytes) ? 0 : bytes / 1e9;
}

bool AmpedRun::fits() const {
  return capacity_gb() == 0 || resolved.quantities.memory_gb <= capacity_gb();
}

AmpedRun train_amped(const AmpedRequest& request) {
  AmpedRun run;
  run.model.defects = request.defects;
  const files::Overrides overrides = files::take_equation_options(request.overrides, run.model);
  const File config = read_files({request.config}).at(0);
  const File tables = request.lookup_tables.empty() ? nullptr : read_files({request.lookup_tables}).at(0);
  run.resolved = resolve(request, config, tables, overrides, run.model.defects, run.warnings);
  run.times = amped::times_of(run.resolved.quantities, run.model);
  if (!std::isfinite(run.times.total_s))
    base::fail("O1333", "the time to train is beyond what a double can carry", {config, 0, 0, 1},
               "some parameter is out of all measure");
  if (request.search) search(run);
  for (const File& file : {config, tables})
    if (file) run.inputs.push_back(base::file_input(*file));
  for (const auto& [path, value] : request.overrides) run.inputs.push_back(base::setting_input(path, value));
  return run;
}

std::vector<base::Diagnostic> explain_no_amped_run(const AmpedRun& run) {
  base::Diagnostics found;
  const amped::Quantities& q = run.resolved.quantities;
  if (run.space) {
    if (run.search.valid.empty())
      found
          .error("O1340",
                 fmt::format("none of {} permutations of batch size and degrees is valid", run.search.considered))
          .hint("the table above says why");
  } else if (!run.fits()) {
    const bool weights = q.weights_gb >= q.activations_gb;
    found
        .error("O1340", fmt::format("an accelerator lacks {:.2f} GB: {:.2f} GB are needed where {:.2f} GB are",
                                    q.memory_gb - run.capacity_gb(), q.memory_gb, run.capacity_gb()))
        .note(fmt::format("largest: {:.2f} GB of {}", weights ? q.weights_gb : q.activations_gb,
                          weights ? "weights, gradients and optimizer state" : "activations"))
        .hint(weights ? "spread the model over more accelerators" : "use more microbatches or tensor parallelism");
  }
  return found.all();
}

std::vector<OutputFile> amped_files(const AmpedRun& run) {
  return {{"config_summary.txt", files::config_summary(run.resolved)},
          {"training_time_breakdown.txt", files::training_time_breakdown(run.resolved.quantities, run.times)}};
}

std::vector<OutputFile> amped_details(const AmpedRun& run, bool gemm, bool compute_graph, bool mat_dims) {
  const amped::Quantities& q = run.resolved.quantities;
  std::vector<OutputFile> out;
  if (gemm) out.push_back({"gemm_breakdown.txt", files::gemm_breakdown(q, run.model)});
  if (compute_graph) out.push_back({"compute_graph.txt", files::compute_graph(q, run.model)});
  if (mat_dims) out.push_back({"mat_dims.txt", files::mat_dims(q, run.model.defects)});
  return out;
}

}  // namespace orrery::verbs
