#include "orrery/verbs/energy/options.h"

#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/checkout.h"
#include "orrery/inputs/layers/timeloop_files.h"
#include "orrery/verbs/energy/json.h"
#include "orrery/verbs/energy/run.h"
#include "orrery/verbs/energy/table.h"

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
  line.pictures();
  if (!line.read(arguments, console)) return false;
  enter_checkout(options.request, false);
  return true;
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
  return run_verb<EstimatedChip>(
      console, {.answer = [&](Run&) { return estimate_chip(options.request); },
                .document = energy_document,
                .table = [](const EstimatedChip& chip) { return energy_table(chip.components); },
                .folder = options,
                .names = {"ERT.yaml", "ART.yaml", "ERT_summary.yaml", "ART_summary.yaml", "flattened_architecture.yaml",
                          "result.json"},
                .folder_files =
                    [](const EstimatedChip& chip) {
                      std::vector<OutputFile> files = energy_files(chip.components);
                      files.push_back({"flattened_architecture.yaml", chip.flattened});
                      return files;
                    }});
}

}  // namespace orrery::verbs
