#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/stopwatch.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/train_amped.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/perfetto_trace.h"
#include "orrery/report/train_json.h"
#include "orrery/report/train_table.h"
#include "orrery/scenario/train.h"

namespace orrery::cli {
namespace {

constexpr base::Count kMostEvents = 1'000'000;  // some 100 MB of trace; Perfetto opens no more with ease

// Options of AMPeD's interface mean nothing to the other one.
void refuse_amped_options(const TrainOptions& options) {
  base::Diagnostics found;
  const auto refuse = [&](bool given, const std::string& what) {
    if (given)
      found.error("O1375", fmt::format("{} belongs to AMPeD's interface", what))
          .hint("add `--equations amped`, or leave it out");
  };
  refuse(!options.files.empty(), options.files.empty() ? "" : fmt::format("the file `{}`", options.files.front()));
  refuse(!options.lookup_tables.empty(), "`--tables`");
  refuse(options.gemm, "`--gemm`");
  refuse(options.compute_graph, "`--compute-graph`");
  refuse(options.mat_dims, "`--mat-dims`");
  refuse(options.search, "`--search`");
  refuse(!options.compat.empty(), "`--compat amped`");
  found.throw_if_errors();
}

void write_trace(const std::string& path, const scenario::TrainedModel& trained) {
  const base::Count events = report::trace_events(trained.plan);
  if (events > kMostEvents) {
    base::Diagnostics found;
    found.error("O1376", fmt::format("the trace would have {} events, more than {}", events, kMostEvents))
        .note(fmt::format("{} stages x {} microbatches x {} chunks x forward and backward", trained.plan.pp,
                          cluster::microbatches(trained.plan), trained.plan.interleave))
        .hint("take a smaller `--global-batch`: the pipeline repeats itself");
    found.throw_if_errors();
  }
  write_file(path, report::perfetto_trace(trained));
}

}  // namespace

int run_train(const TrainOptions& options, const Console& console) {
  if (options.amped) return run_train_amped(options, console);
  const base::Stopwatch clock;
  refuse_amped_options(options);
  check_folder(options.directory, options.force, {"result.json"});
  const auto [trained, told_to_stop] = [&] {
    std::optional<InterruptGuard> interrupt;
    scenario::TrainRequest request = options.request;
    request.seconds = options.time_limit;
    request.interruptible = [&] { return interrupt.emplace().flag(); };
    scenario::TrainedModel result = scenario::train(request);
    return std::pair(std::move(result), interrupt->flag()->load());
  }();
  report(console, trained.warnings.all());
  if (!options.trace.empty()) write_trace(options.trace, trained);

  report::TrainDocument document;
  document.version = kVersion;
  document.trained = &trained;
  document.seconds = clock.seconds();
  if (!options.directory.empty()) {
    make_folder(options.directory);
    write_file((std::filesystem::path(options.directory) / "result.json").string(), report::train_json(document));
  }
  console.out << (options.json ? report::train_json(document) : report::train_table(trained));
  if (!trained.all_choices) {
    console.out.flush();
    return told_to_stop ? kInterrupted : kLimit;
  }
  if (trained.iteration.fits) return kDone;
  console.out.flush();
  report(console, {scenario::explain_no_fit(trained)});
  return kNo;
}

}  // namespace orrery::cli
