#include "orrery/verbs/energy/options.h"

#include <filesystem>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/program_version.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/shared_options.h"
#include "orrery/inputs/layers/timeloop_files.h"
#include "orrery/program/verbs.h"
#include "orrery/verbs/energy/json.h"
#include "orrery/verbs/energy/run.h"
#include "orrery/verbs/energy/table.h"
#include "orrery/verbs/map/results_output.h"

namespace orrery::verbs {
namespace {

struct Options : OutputFolder {
  DocumentRequest request;
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

DocumentRequest energy_request(const Arguments& arguments) {
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
  const EstimatedChip chip = verbs::estimate_chip(options.request);
  report(console, chip.warnings.all());
  std::string json;
  if (console.json || !options.directory.empty()) {
    EnergyDocument document;
    document.version = kVersion;
    document.inputs = chip.inputs;
    document.components = &chip.components;
    document.warnings = &chip.warnings;
    document.seconds = clock.seconds();
    document.compat = options.request.estimators.reproduced.names;
    json = verbs::energy_json(document);
  }
  if (!options.directory.empty()) {
    std::vector<OutputFile> files = verbs::energy_files(chip.components);
    files.push_back({"flattened_architecture.yaml", chip.flattened});
    files.push_back({"result.json", json});
    write_files(options.directory, files);
  }
  console.out << (console.json ? json : verbs::energy_table(chip.components));
  return kDone;
}

}  // namespace orrery::verbs
