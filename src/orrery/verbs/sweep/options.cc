#include "orrery/verbs/sweep/options.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/grouped.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/catalogue/program_file.h"
#include "orrery/verbs/energy/options.h"
#include "orrery/verbs/map/fuse/options.h"
#include "orrery/verbs/map/options.h"
#include "orrery/verbs/place/options.h"
#include "orrery/verbs/serve/options.h"
#include "orrery/verbs/sparse/simulate/options.h"
#include "orrery/verbs/sweep/points/arguments.h"
#include "orrery/verbs/sweep/points/build.h"
#include "orrery/verbs/sweep/points/parts.h"
#include "orrery/verbs/sweep/points/slurm.h"
#include "orrery/verbs/sweep/points/study_check.h"
#include "orrery/verbs/sweep/points/study_document.h"
#include "orrery/verbs/sweep/report.h"
#include "orrery/verbs/sweep/seed_output.h"
#include "orrery/verbs/sweep/store/merge_stores.h"
#include "orrery/verbs/sweep/store/store.h"
#include "orrery/verbs/train/options.h"
#include "orrery/verbs/tune/select/options.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

// A verb that studies ask: its question, and itself.
struct SweptVerb {
  const char* name;
  sweep::Request (*request)(const Arguments& arguments);
  VerbFunction* run;
};
constexpr SweptVerb kSwept[] = {
    {"map", [](const Arguments& a) -> sweep::Request { return map_request(a); }, run_map},
    {"map --fuse", [](const Arguments& a) -> sweep::Request { return block_request(a); }, run_map_fuse},
    {"energy", [](const Arguments& a) -> sweep::Request { return energy_request(a); }, run_energy},
    {"train", [](const Arguments& a) -> sweep::Request { return train_request(a); }, run_train},
    {"place", [](const Arguments& a) -> sweep::Request { return place_request(a); }, run_place},
    {"serve", [](const Arguments& a) -> sweep::Request { return serve_request(a); }, run_serve},
    {"sparse simulate", [](const Arguments& a) -> sweep::Request { return simulate_request(a); }, run_sparse_simulate},
    {"tune select", [](const Arguments& a) -> sweep::Request { return select_request(a); }, run_tune_select},
};

const SweptVerb& swept(const std::string& verb) {
  const auto* const found =
      std::find_if(std::begin(kSwept), std::end(kSwept), [&](const SweptVerb& each) { return verb == each.name; });
  ORRERY_CHECK(found != std::end(kSwept), "a verb with an engine has a row here");
  return *found;
}

// "12,345 of 100,000 points, 2,100 a second, 42 s left; best edp 1.234e+06".
std::string progress_text(const sweep::Progress& at) {
  const double rate = at.seconds > 0 ? static_cast<double>(at.now) / at.seconds : 0;
  std::string out = fmt::format("{} of {} points", base::grouped(static_cast<double>(at.done)),
                                base::grouped(static_cast<double>(at.all)));
  if (rate > 0)
    out += fmt::format(", {:.3g} a second, {:.0f} s left", rate, static_cast<double>(at.all - at.done) / rate);
  return at.best.empty() ? out : out + "; best " + at.best;
}

// The document, piece by piece into a file without a name, and from there out as soon as it is whole: where a point
// cannot be read, the error is the only document.
void print_whole(const SweepPrinted& printed, std::ostream& out) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  bool whole = file != nullptr;
  verbs::sweep_json(printed, [&](const std::string& piece) {
    whole = whole && std::fwrite(piece.data(), 1, piece.size(), file.get()) == piece.size();
  });
  if (!whole || std::fflush(file.get()) != 0)
    base::fail("O1105", "the document cannot be written to a temporary file", {}, "is there room in /tmp?");
  std::rewind(file.get());
  std::string piece(std::size_t{1} << 16, '\0');
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), file.get()))
    out.write(piece.data(), static_cast<std::streamsize>(size));
}

void export_points(const std::string& path, const sweep::SweepAnswer& answer) {
  if (path.ends_with(".jsonl"))
    write_file(path, [&](const Pieces& write) { verbs::sweep_json_lines(answer, write); });
  else
    write_file(path, [&](const Pieces& write) { verbs::sweep_csv(answer, write); });
}

// The best point by each objective: its command, and the files that the verb writes for it.
void write_best(const SweepArguments& asked, const sweep::SweepAnswer& answer) {
  const SweptVerb& verb = swept(answer.study.verb);
  for (std::size_t o = 0; o < answer.ranking.best.size(); ++o) {
    if (answer.ranking.best[o] == sweep::Ranking::kNone) continue;
    const fs::path folder = fs::path(asked.directory) / ("best_" + answer.study.objectives[o].name);
    const base::Overrides point = answer.study.at(answer.points.number(answer.ranking.best[o]));
    if (answer.commands[o].empty()) {  // the values are all that can be said of it
      std::string text;
      for (const base::Override& set : point) text += set.path + "=" + set.value + "\n";
      make_folder(folder.string());
      write_file((folder / "point.txt").string(), text);
      continue;
    }
    const sweep::SplitPoint parts = sweep::split(point);
    Arguments arguments = answer.study.arguments;
    arguments.insert(arguments.end(), parts.options.begin(), parts.options.end());
    for (const base::Override& set : parts.settings) {
      arguments.emplace_back("--set");
      arguments.push_back(set.path + "=" + set.value);
    }
    make_folder(folder.string());
    const bool served = answer.study.verb == "serve";         // has no -o
    const bool layouts = answer.study.verb == "tune select";  // whose -o is a file
    arguments.emplace_back("--quiet");
    if (served)
      arguments.emplace_back("--json");
    else
      for (const std::string& more :
           {std::string("--force"), std::string("-o"), (layouts ? folder / "layouts.json" : folder).string()})
        arguments.push_back(more);
    QuietConsole console;
    console.command = sweep::verb_words(answer.study.verb, arguments);
    verb.run(arguments, console);
    if (served) write_file((folder / "answer.json").string(), console.text());
    write_file((folder / "command.txt").string(), answer.commands[o] + "\n");
  }
}

// The parts of the study by Slurm, into its store. False: it was told to stop.
bool run_parts(const SweepArguments& asked, const Console& console) {
  sweep::SlurmJob job;
  std::error_code ignored;
  job.command = {program_file().string(), "sweep"};
  job.command.insert(job.command.end(), asked.shards.begin(), asked.shards.end());
  job.command.emplace_back("--quiet");
  job.store = fs::absolute(asked.store, ignored).string();
  job.options = asked.slurm_options;
  job.parts = static_cast<unsigned>(asked.parts);
  const InterruptGuard interrupt;
  job.stop = interrupt.flag();
  ProgressLine line(console);
  job.progress = [&](unsigned done, unsigned parts, const std::string& id) {
    if (line.wanted()) line.show(fmt::format("job {}: {} of {} parts done", id, done, parts));
  };
  const std::vector<std::string> stores = sweep::run_on_slurm(job);
  if (stores.empty()) return false;
  store::merge(asked.store, stores, sweep::this_build());
  for (const std::string& each : stores)
    for (const char* end : {"", "-wal", "-shm", ".done"}) fs::remove(each + end, ignored);
  return true;
}

int tell_status(const SweepArguments& asked, const Console& console) {
  if (!console.html.empty())
    misuse("O1103", "`--status` evaluates nothing, and has no page for `--html`",
           fmt::format("make a page of what is stored: `orrery report {}`", asked.store));
  store::Store store(asked.store, store::Store::Mode::kRead, sweep::this_build());
  const StoreStatus status{asked.store, store.check(), store.studies()};
  if (console.json)
    console.out << sweep_status_document().json(status, 0, console.command);
  else
    print(console, verbs::sweep_status_table(status));
  return status.integrity == "ok" ? kDone : kNo;
}

}  // namespace

sweep::Request swept_request(const std::string& verb, const Arguments& arguments) {
  return swept(verb).request(arguments);
}

std::optional<std::string> checked_study(const std::shared_ptr<const base::SourceFile>& file) {
  if (!sweep::is_study(*file)) return std::nullopt;
  return sweep::checked(sweep::read_study(file), swept_request);
}

int run_sweep(const Arguments& arguments, Console& console) {
  SweepArguments asked;
  if (!read_sweep(arguments, console, asked)) return kDone;
  if (asked.status) return tell_status(asked, console);
  asked.study.check();
  const base::Stopwatch clock;
  check_folder(asked.directory, asked.force, {"result.json", "points.csv", "front.svg"});
  for (const std::string* const file : {&asked.export_to, &asked.svg}) check_file(*file, asked.force);
  check_page(console);

  if (asked.slurm && !run_parts(asked, console)) return kInterrupted;
  store::Store store(asked.store, store::Store::Mode::kWrite, sweep::this_build());
  sweep::RunOptions options;
  options.all = asked.all;
  options.shard = asked.shard;
  options.seconds = asked.seconds;
  options.engine.threads = base::thread_count(asked.threads);
  std::optional<sweep::SweepAnswer> answered;
  {
    const InterruptGuard interrupt;
    options.engine.stop = interrupt.flag();
    ProgressLine line(console);
    options.progress = [&](const sweep::Progress& at) {
      if (line.wanted()) line.show(progress_text(at));
    };
    answered = sweep::run(asked.study, swept_request, store, options);
  }
  const sweep::SweepAnswer& answer = *answered;
  report(console, asked.warnings.all());
  report(console, answer.warnings.all());

  std::vector<base::Input> inputs = answer.inputs;
  inputs.push_back({asked.configs, ""});
  std::vector<std::string> written = {asked.export_to, asked.svg};
  if (!asked.directory.empty())
    for (const char* const name : {"result.json", "points.csv", "front.svg"})
      written.push_back((fs::path(asked.directory) / name).string());
  for (const std::string& file : written) keep_inputs(file, inputs);

  const auto layers = [&](std::size_t at) { return sweep::parts_of(store, answer.row, answer.points.number(at)); };
  const SweepPrinted printed{&answer, layers, clock.seconds(), console.command};
  if (!asked.directory.empty()) {
    make_folder(asked.directory);
    const fs::path folder = asked.directory;
    write_file((folder / "result.json").string(), [&](const Pieces& write) { verbs::sweep_json(printed, write); });
    export_points((folder / "points.csv").string(), answer);
    write_file((folder / "front.svg").string(), verbs::sweep_svg(answer));
    write_best(asked, answer);
  }
  const bool seed = !asked.configs.empty();
  std::vector<SeedMetrics> metrics;
  if (seed) metrics = verbs::seed_metrics(printed, asked.ignore_heads);
  if (seed && !asked.directory.empty())
    for (const SeedMetrics& each : metrics) {
      const fs::path folder = fs::path(asked.directory) / fmt::format("{}", each.at);
      make_folder(folder.string());
      keep_inputs((folder / "hw_config.json").string(), inputs);
      write_file((folder / "hw_config.json").string(), verbs::seed_config_json(answer, each));
    }
  if (!asked.export_to.empty()) export_points(asked.export_to, answer);
  if (!asked.svg.empty()) write_file(asked.svg, verbs::sweep_svg(answer));
  std::string document;
  if (!console.html.empty() || console.plot)
    verbs::sweep_json(printed, [&](const std::string& piece) { document += piece; });
  write_page(console, document, inputs);
  if (console.json)
    print_whole(printed, console.out);
  else if (seed && (asked.summary || asked.table))
    print(console, verbs::seed_summary(answer, metrics, asked.table));
  else
    print(console, verbs::sweep_table(answer));
  print_plots(console, document);
  console.out.flush();
  if (answer.interrupted) return kInterrupted;
  if (!answer.finished) return kLimit;
  if (answer.ranking.ranked > 0) return kDone;
  report(console, {verbs::explain_no_point(answer)});
  return kNo;
}

}  // namespace orrery::verbs
