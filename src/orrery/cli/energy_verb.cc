#include <filesystem>

#include "orrery/base/stopwatch.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/formats/timeloop/documents.h"
#include "orrery/formats/timeloop/energy_table_text.h"
#include "orrery/report/energy_json.h"
#include "orrery/report/energy_table.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/estimators.h"

namespace orrery::cli {
namespace {

using formats::timeloop::Documents;
using formats::timeloop::Specification;

// What was given is not looked at: the verb tells what the descriptions come to.
void mention_tables(const Documents& documents, base::Diagnostics& found) {
  for (const char* key : {"ERT", "ART"}) {
    const auto* table = documents.find(key);
    if (table == nullptr) continue;
    auto& note = found.warning("O1260", "the " + std::string(key) + " is left aside", table->where);
    note.severity = base::Severity::kNote;
    note.note("`orrery energy` estimates every figure from the components' descriptions")
        .hint("`orrery map` and `orrery eval` take the figures given");
  }
}

void write_tables(const std::string& directory, const std::vector<energy::EstimatedComponent>& components,
                  const std::string& json) {
  const std::filesystem::path folder = directory;
  make_folder(directory);
  const auto write = [&](const char* name, const std::string& content) {
    write_file((folder / name).string(), content);
  };
  write("ERT.yaml", formats::timeloop::energy_table_text(components));
  write("ART.yaml", formats::timeloop::area_table_text(components));
  write("ERT_summary.yaml", formats::timeloop::energy_summary_text(components));
  write("ART_summary.yaml", formats::timeloop::area_summary_text(components));
  write("result.json", json);
}

}  // namespace

int run_energy(const EnergyOptions& options, const Console& console) {
  const base::Stopwatch clock;
  if (options.files.empty() && options.chips.empty())
    base::fail("O1103", "there is nothing to estimate", {},
               "give the documents of a chip, or --chip; see `orrery energy --help`");
  check_folder(options.directory, options.force,
               {"ERT.yaml", "ART.yaml", "ERT_summary.yaml", "ART_summary.yaml", "result.json"});

  std::vector<File> files = split_by_problem(read_files(options.files)).shared;
  base::Diagnostics warnings;
  for (const std::string& name : options.chips) {
    const scenario::ChipFile chip = scenario::load_chip(scenario::catalogue_directory(), name);
    files.push_back(chip.file);
    warnings.append(chip.diagnostics);
  }
  formats::timeloop::ReadOptions read = read_options(options);
  read.tables_wanted = false;
  read.mapping_wanted = false;
  const Documents documents = Documents::gather(files, read);
  mention_tables(documents, warnings);
  Specification specification = documents.read();
  if (!specification.chip)
    base::fail("O1003", "no file has an `architecture`", {},
               "give the file that describes the chip, or `--chip NAME`; `orrery catalog` lists the chips that come "
               "along");
  scenario::Estimators estimators(options.estimators);
  const scenario::Estimates estimates = scenario::complete(specification, estimators);
  warnings.append(specification.diagnostics);
  const std::vector<energy::EstimatedComponent> nothing;
  const std::vector<energy::EstimatedComponent>& components = estimates ? *estimates : nothing;

  report(console, warnings.all());
  std::string json;
  if (options.json || !options.directory.empty()) {
    report::EnergyDocument document;
    document.version = kVersion;
    document.inputs = specification.inputs;
    document.components = &components;
    document.warnings = &warnings;
    document.seconds = clock.seconds();
    if (options.estimators.accelergy) document.compat = {"accelergy-0.4"};
    json = report::energy_json(document);
  }
  if (!options.directory.empty()) write_tables(options.directory, components, json);
  console.out << (options.json ? json : report::energy_table(components));
  return kDone;
}

}  // namespace orrery::cli
