#include "orrery/cli/train_amped.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/content_hash.h"
#include "orrery/base/stopwatch.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/version.h"
#include "orrery/formats/amped/equation_options.h"
#include "orrery/formats/amped/output_files.h"
#include "orrery/report/amped_run.h"

namespace orrery::cli {
namespace {

namespace amped = formats::amped;

constexpr std::int64_t kMostCandidates = 5'000'000;  // some seconds, and half a gigabyte

void check_options(const TrainOptions& options) {
  base::Diagnostics found;
  if (options.files.size() + (options.config_flat.empty() ? 0 : 1) != 1) {
    const bool none = options.files.empty() && options.config_flat.empty();
    found
        .error("O1342", none ? "there is no configuration to train by"
                             : fmt::format("AMPeD's equations take one configuration, not {}",
                                           options.files.size() + (options.config_flat.empty() ? 0 : 1)))
        .hint(
            "write `orrery train config.json --tables lookup_tables.json --equations amped`, or `--config-flat FILE`");
  }
  const scenario::TrainRequest& request = options.request;
  const auto refuse = [&](bool given, const char* option) {
    if (given)
      found.error("O1342", fmt::format("`{}` belongs to Orrery's own model, not to AMPeD's equations", option))
          .hint("parameters are set in the configuration, or by `--set NAME=VALUE`");
  };
  refuse(!request.model.empty(), "--model");
  refuse(!request.system.empty(), "--system");
  refuse(request.gpus.has_value(), "--gpus");
  refuse(request.global_batch.has_value(), "--global-batch");
  refuse(request.micro_batch.has_value(), "--micro-batch");
  refuse(request.tp.has_value(), "--tp");
  refuse(request.pp.has_value(), "--pp");
  refuse(request.dp.has_value(), "--dp");
  refuse(request.ep.has_value(), "--ep");
  refuse(request.cp.has_value(), "--cp");
  refuse(request.interleave.has_value(), "--interleave");
  refuse(request.seq.has_value(), "--seq");
  refuse(request.schedule.has_value(), "--schedule");
  refuse(request.recompute.has_value(), "--recompute");
  refuse(request.precision.has_value(), "--precision");
  refuse(request.attention.has_value(), "--attention");
  refuse(request.sequence_parallel, "--sequence-parallel");
  refuse(request.zero > 0, "--zero");
  refuse(!request.measurements.empty(), "--operators");
  refuse(request.efficiency.has_value(), "--efficiency");
  refuse(request.tokens > 0, "--tokens");
  refuse(!options.trace.empty(), "--trace");
  if (!options.config_flat.empty() && !options.lookup_tables.empty())
    found.error("O1342", "the flat form looks nothing up: `--tables` means nothing to it")
        .hint("leave out `--tables`, or give AMPeD's own config.json in place of `--config-flat`");
  found.throw_if_errors();
}

struct Files {
  File config, tables;

  std::vector<std::pair<std::string, std::string>> hashes() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const File& file : {config, tables})
      if (file) out.emplace_back(file->name, base::content_hash(file->text));
    return out;
  }
};

Files read(const TrainOptions& options) {
  Files files;
  files.config = read_files({options.files.empty() ? options.config_flat : options.files.front()}).at(0);
  if (!options.lookup_tables.empty()) files.tables = read_files({options.lookup_tables}).at(0);
  return files;
}

amped::Resolved resolve(const TrainOptions& options, const Files& files, const amped::Overrides& overrides,
                        const cluster::AmpedDefects& defects, base::Diagnostics& found) {
  if (!options.config_flat.empty()) return amped::resolve_flat(files.config, overrides, defects, found);
  const amped::Config config = amped::read_config(files.config, overrides, found);
  const amped::LookupTables tables =
      files.tables ? amped::read_lookup_tables(files.tables, found) : amped::LookupTables{};
  return amped::resolve(config, tables, defects, found);
}

void search(report::AmpedRun& run) {
  const cluster::AmpedQuantities& q = run.resolved.quantities;
  cluster::AmpedSpace space;
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
  bound(cluster::amped_splits(space), "splits", "take a number of nodes with fewer divisors");
  bound(cluster::amped_effort(q, run.resolved.keep, run.model, space).evaluations, "candidates",
        "take a smaller `batch_size`: all sizes up to it are tried");
  run.search = cluster::amped_search(q, run.resolved.keep, run.model, space);
  run.space = space;
}

struct Output {
  const char* name;
  bool wanted;
  std::string content;
};

std::vector<Output> outputs(const TrainOptions& options, const report::AmpedRun& run) {
  const cluster::AmpedQuantities& q = run.resolved.quantities;
  return {{"gemm_breakdown.txt", options.gemm, amped::gemm_breakdown(q, run.model)},
          {"compute_graph.txt", options.compute_graph, amped::compute_graph(q, run.model)},
          {"mat_dims.txt", options.mat_dims, amped::mat_dims(q, run.model.defects)}};
}

void write(const TrainOptions& options, const report::AmpedRun& run, const std::string& json) {
  const std::filesystem::path folder = options.directory;
  make_folder(options.directory);
  const auto file = [&](const char* name, const std::string& content) {
    write_file((folder / name).string(), content);
  };
  file("config_summary.txt", amped::config_summary(run.resolved));
  file("training_time_breakdown.txt", amped::training_time_breakdown(run.resolved.quantities, run.times));
  for (const Output& output : outputs(options, run))
    if (output.wanted) file(output.name, output.content);
  if (run.space) file("search.csv", report::amped_search_csv(run.search));
  file("result.json", json);
}

// What the answer "no" is.
std::vector<base::Diagnostic> refusals(const report::AmpedRun& run) {
  base::Diagnostics found;
  const cluster::AmpedQuantities& q = run.resolved.quantities;
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

}  // namespace

int run_train_amped(const TrainOptions& options, const Console& console) {
  const base::Stopwatch clock;
  check_options(options);
  check_folder(options.directory, options.force,
               {"config_summary.txt", "training_time_breakdown.txt", "gemm_breakdown.txt", "compute_graph.txt",
                "mat_dims.txt", "search.csv", "result.json"});
  report::AmpedRun run;
  if (options.compat == "amped") run.model = cluster::AmpedModel::original();
  const amped::Overrides overrides = amped::take_equation_options(options.overrides, run.model);
  const Files files = read(options);
  base::Diagnostics warnings;
  run.resolved = resolve(options, files, overrides, run.model.defects, warnings);
  run.times = cluster::amped_times(run.resolved.quantities, run.model);
  if (!std::isfinite(run.times.total_s))
    base::fail("O1333", "the time to train is beyond what a double can carry", {files.config, 0, 0, 1},
               "some parameter is out of all measure");
  if (options.search) search(run);
  report(console, warnings.all());

  report::AmpedDocument document;
  document.version = kVersion;
  document.run = &run;
  document.compat = options.compat == "amped";
  document.inputs = files.hashes();
  for (const auto& [path, value] : options.overrides) document.inputs.push_back(base::setting_input(path, value));
  document.warnings = &warnings;
  document.seconds = clock.seconds();
  const std::string json = options.json || !options.directory.empty() ? report::amped_json(document) : "";
  if (!options.directory.empty()) write(options, run, json);
  if (options.json) {
    console.out << json;
  } else {
    console.out << report::amped_table(run);
    if (options.directory.empty())
      for (const Output& output : outputs(options, run))
        if (output.wanted) console.out << "\n" << output.content;
  }
  const std::vector<base::Diagnostic> no = refusals(run);
  console.out.flush();
  report(console, no);
  return no.empty() ? kDone : kNo;
}

}  // namespace orrery::cli
