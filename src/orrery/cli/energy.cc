#include <filesystem>

#include "orrery/base/stopwatch.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/requests.h"
#include "orrery/cli/results.h"
#include "orrery/cli/shared_options.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/energy_json.h"
#include "orrery/report/energy_table.h"
#include "orrery/scenario/estimate_chip.h"
#include "orrery/scenario/timeloop_files.h"

namespace orrery::cli {
namespace {

struct Options : OutputFolder {
  scenario::DocumentRequest request;
};

bool read(const Arguments& arguments, Console& console, Options& options) {
  CommandLine line("energy",
                   "Energy and area of a chip's components by their descriptions, with the origin of each figure",
                   "orrery energy arch.yaml components variables.yaml --tables my_tables -o tables");
  line.words("FILES", options.request.files, "Timeloop documents and folders of them; problems are ignored");
  line.group("Question");
  declare_chips(line, options.request);
  declare_templates(line, options.request);
  declare_estimation(line, options.request);
  declare(line, options,
          "Write ERT.yaml, ART.yaml, their summaries, flattened_architecture.yaml and result.json there");
  return line.read(arguments, console);
}

}  // namespace

scenario::DocumentRequest energy_request(const Arguments& arguments) {
  Options options;
  QuietConsole console;
  if (!read(arguments, console, options)) refuse_help();
  return options.request;
}

int run_energy(const Arguments& arguments, Console& console) {
  Options options;
  if (!read(arguments, console, options)) return kDone;
  const base::Stopwatch clock;
  check_folder(
      options.directory, options.force,
      {"ERT.yaml", "ART.yaml", "ERT_summary.yaml", "ART_summary.yaml", "flattened_architecture.yaml", "result.json"});
  const scenario::EstimatedChip chip = scenario::estimate_chip(options.request);
  report(console, chip.warnings.all());
  std::string json;
  if (console.json || !options.directory.empty()) {
    report::EnergyDocument document;
    document.version = kVersion;
    document.inputs = chip.inputs;
    document.components = &chip.components;
    document.warnings = &chip.warnings;
    document.seconds = clock.seconds();
    document.compat = options.request.estimators.reproduced.names;
    json = report::energy_json(document);
  }
  if (!options.directory.empty()) {
    std::vector<scenario::OutputFile> files = scenario::energy_files(chip.components);
    files.push_back({"flattened_architecture.yaml", chip.flattened});
    files.push_back({"result.json", json});
    write_files(options.directory, files);
  }
  console.out << (console.json ? json : report::energy_table(chip.components));
  return kDone;
}

}  // namespace orrery::cli
