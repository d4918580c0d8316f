#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "orrery/cli/inputs.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/formats/timeloop/documents.h"
#include "orrery/formats/timeloop/energy_components.h"
#include "orrery/nest/legality.h"
#include "orrery/report/warnings_json.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/estimators.h"
#include "orrery/scenario/map_model.h"
#include "orrery/scenario/place.h"

namespace orrery::cli {
namespace {

using formats::timeloop::Specification;

// What the documents hold, one line each.
std::vector<std::string> contents(const Specification& specification, const std::string& energies) {
  std::vector<std::string> lines;
  if (specification.chip) {
    const machine::Chip& chip = *specification.chip;
    const auto stores = std::count_if(chip.storages.begin(), chip.storages.end(),
                                      [](const machine::Storage& storage) { return !storage.pass_through; });
    lines.push_back(
        fmt::format("chip: {} storages, {} x {}{}", stores, chip.compute.instances, chip.compute.name, energies));
  }
  if (specification.problem) {
    std::string bounds;
    for (const workload::Dimension& dimension : specification.problem->einsum.dimensions)
      if (dimension.bound > 1) bounds += fmt::format(" {}={}", dimension.name, dimension.bound);
    lines.push_back(fmt::format("problem: {}{}", specification.problem->einsum.name, bounds));
    lines.push_back(fmt::format("constraints: {}", specification.problem->space.constraints.size()));
  }
  if (specification.mapping) lines.push_back("mapping: can run on the chip");
  return lines;
}

struct Checked {
  Specification specification;
  std::string energies;  // where they come from, if not from an ERT
};

// Estimates where there is no ERT. Parts of a chip's documents, without what every estimate needs, are checked as far
// as they go. Throws InputError.
Checked read_and_price(const std::vector<File>& files, formats::timeloop::ReadOptions options,
                       scenario::Estimators& estimators) {
  options.energies_required = false;
  Checked checked{formats::timeloop::Documents::gather(files, options).read(), ""};
  if (checked.specification.has_energy_tables || !checked.specification.chip) return checked;
  for (const char* key : {"technology", "global_cycle_seconds"}) {
    if (formats::timeloop::lacking(checked.specification.components, key).empty()) continue;
    checked.energies = fmt::format("; no energies: neither an ERT nor a `{}`", key);
    return checked;
  }
  options.energies_required = true;
  checked.specification = formats::timeloop::Documents::gather(files, options).read();
  scenario::complete(checked.specification, estimators);
  checked.energies = "; energies estimated";
  return checked;
}

// Whether a window of attention matters depends on the sequence, which a check does not know.
void warn_of_window(const scenario::ModelFile& model, base::Diagnostics& found) {
  const workload::TransformerConfig& config = model.config;
  if (!config.window || (config.max_positions && *config.max_positions <= *config.window)) return;
  const auto place = config.places.find("window");
  found
      .warning("O0918", fmt::format("attention sees {} tokens, and sequences may be longer", *config.window),
               place == config.places.end() ? base::Location{} : place->second)
      .note("of sequences up to that length the window makes no difference; longer ones are not modelled")
      .hint("the model with attention to all tokens: `--ignore sliding_window`");
}

bool is_json(const std::string& path) {
  return path.size() > 5 && path.compare(path.size() - 5, 5, ".json") == 0;
}

}  // namespace

int run_check(const CheckOptions& options, const Console& console) {
  std::vector<std::string> document_paths, lines;
  base::Diagnostics found;
  for (const std::string& path : options.files) {
    if (formats::dfmodel::is_setup(path)) {
      try {
        scenario::CheckedSetup checked = scenario::check_setup(path, options.overrides);
        found.append(checked.warnings);
        lines.insert(lines.end(), checked.contents.begin(), checked.contents.end());
      } catch (const base::InputError& error) {
        for (const base::Diagnostic& diagnostic : error.diagnostics) found.error("", "") = diagnostic;
      }
      continue;
    }
    if (!is_json(path)) {
      document_paths.push_back(path);
      continue;
    }
    const scenario::ModelFile model = scenario::load_model("", path, {options.ignored});
    found.append(model.diagnostics);
    warn_of_window(model, found);
    lines.push_back(fmt::format("model: {}: {} blocks, width {}, {} heads", path, model.config.layers,
                                model.config.hidden, model.config.heads));
  }

  if (!document_paths.empty()) {
    const SplitFiles split = split_by_problem(read_files(document_paths));
    std::vector<File> layers = split.layers;
    if (layers.empty()) layers.push_back(nullptr);
    scenario::Estimators estimators(options.estimators);
    for (const File& file : layers) {
      std::vector<File> all = split.shared;
      if (file) all.push_back(file);
      try {
        const auto [specification, energies] = read_and_price(all, read_options(options), estimators);
        found.append(specification.diagnostics);
        if (specification.mapping && specification.chip && specification.problem) {
          base::Diagnostics illegal;
          nest::check_legal(specification.problem->einsum, *specification.chip, *specification.mapping,
                            specification.mapping_places, illegal);
          if (illegal.has_errors()) throw scenario::IllegalMapping(illegal.all());
        }
        for (std::string& line : contents(specification, energies))
          if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
      } catch (const scenario::IllegalMapping&) {
        throw;
      } catch (const base::InputError& error) {
        for (const base::Diagnostic& diagnostic : error.diagnostics) found.error("", "") = diagnostic;
      }
    }
  }
  found.throw_if_errors();
  report(console, found.all());
  if (options.json) {
    const nlohmann::ordered_json out{{"schema", "orrery.check/1"},
                                     {"version", kVersion},
                                     {"result", {{"ok", true}, {"contents", lines}}},
                                     {"warnings", nlohmann::ordered_json::parse(report::warnings_json(found))}};
    console.out << out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return kDone;
  }
  for (const std::string& line : lines) console.out << line << "\n";
  console.out << "ok\n";
  return kDone;
}

}  // namespace orrery::cli
