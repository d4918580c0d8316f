#include "orrery/verbs/train/amped/options.h"
#include "orrery/cli/run_verb.h"

#include <fmt/format.h>

#include "orrery/verbs/train/amped/report.h"
#include "orrery/verbs/train/amped/run.h"

namespace orrery::verbs {
namespace {

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
  const TrainRequest& request = options.request;
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

}  // namespace

int run_train_amped(const TrainOptions& options, const Console& console) {
  check_options(options);
  const bool flat = !options.config_flat.empty();
  const auto details = [&](const AmpedRun& run) {
    return amped_details(run, options.gemm, options.compute_graph, options.mat_dims);
  };
  return run_verb<AmpedRun>(
      console, {.answer =
                    [&](Run&) {
                      AmpedRun run =
                          train_amped({flat ? options.config_flat : options.files.front(), flat, options.lookup_tables,
                                       options.overrides, options.compat.defects, options.search});
                      run.compat = options.compat.names;
                      return run;
                    },
                .document = amped_document,
                .table =
                    [&](const AmpedRun& run) {
                      std::string out = amped_table(run);
                      if (options.directory.empty())
                        for (const OutputFile& output : details(run)) out += "\n" + output.text;
                      return out;
                    },
                .folder = options,
                .names = {"config_summary.txt", "training_time_breakdown.txt", "gemm_breakdown.txt",
                          "compute_graph.txt", "mat_dims.txt", "search.csv", "result.json"},
                .folder_files =
                    [&](const AmpedRun& run) {
                      std::vector<OutputFile> files = amped_files(run);
                      for (OutputFile& file : details(run)) files.push_back(std::move(file));
                      if (run.space) files.push_back({"search.csv", amped_search_csv(run.search)});
                      return files;
                    },
                .outcome = [](const AmpedRun& run, const Run&) -> Outcome {
                  std::vector<base::Diagnostic> no = explain_no_amped_run(run);
                  return {no.empty() ? kDone : kNo, std::move(no)};
                }});
}

}  // namespace orrery::verbs
