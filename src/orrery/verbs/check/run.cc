#include "orrery/verbs/check/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/formats/timeloop/components/energy_components.h"
#include "orrery/formats/timeloop/documents/chip_reading.h"
#include "orrery/inputs/file_kinds.h"
#include "orrery/inputs/layers/evaluate_layer.h"
#include "orrery/inputs/layers/read_layers.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/verbs/place/run.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Specification;

// "zeros: Weights 0.25; formats at DRAM, Buffer; Buffer skips; MAC gates".
std::string zeros(const Specification& specification, const nest::SparseDesign& design) {
  const machine::Chip& chip = *specification.chip;
  std::string densities, formats, acts;
  const auto add = [](std::string& list, const std::string& item, const char* between) {
    list += (list.empty() ? "" : between) + item;
  };
  for (std::size_t s = 0; s < design.densities.size(); ++s)
    if (!design.densities[s].dense())
      add(densities,
          fmt::format("{} {:.4g}", specification.problem->einsum.dataspaces[s].name, design.densities[s].share()),
          ", ");
  for (std::size_t level = chip.storages.size(); level-- > 0;) {
    const nest::SparseStorage& storage = design.storages[level];
    bool gates = false, skips = false;
    for (const nest::AccessSaving& saving : storage.savings) (saving.skips ? skips : gates) = true;
    if (std::any_of(storage.formats.begin(), storage.formats.end(),
                    [](const auto& format) { return format.has_value(); }))
      add(formats, chip.storages[level].name, ", ");
    if (gates || skips)
      add(acts,
          fmt::format("{} {}", chip.storages[level].name,
                      gates && skips ? "gates and skips"
                      : gates        ? "gates"
                                     : "skips"),
          "; ");
  }
  if (design.gates_compute || design.aligns_compute)
    add(acts,
        fmt::format("{} {}", chip.compute.name,
                    design.gates_compute && design.aligns_compute ? "gates and skips"
                    : design.gates_compute                        ? "gates"
                                                                  : "skips"),
        "; ");
  std::string line = densities.empty() ? "all dense" : densities;
  if (!formats.empty()) line += "; formats at " + formats;
  if (!acts.empty()) line += "; " + acts;
  return "zeros: " + line;
}

// What the documents hold, one line each.
std::vector<std::string> contents(const Specification& specification, const nest::SparseDesign* sparse,
                                  const std::string& energies) {
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
  if (sparse != nullptr) lines.push_back(zeros(specification, *sparse));
  if (specification.mapping) lines.push_back("mapping: can run on the chip");
  return lines;
}

// Throws InputError O0114 where all that the documents say is unknown here: they are of another program.
void demand_something(const formats::timeloop::Documents& documents) {
  const std::vector<base::Diagnostic>& said = documents.diagnostics().all();
  const auto unknown = [](const base::Diagnostic& one) { return one.code == "O0112"; };
  if (!documents.top().empty() || std::none_of(said.begin(), said.end(), unknown)) return;
  base::Diagnostics found;
  for (const base::Diagnostic& one : said)
    if (!unknown(one)) found.warning("", "") = one;
  const base::Diagnostic& first = *std::find_if(said.begin(), said.end(), unknown);
  found.error("O0114", "this is no Timeloop document: none of its keys is known", first.primary.where)
      .note(first.notes.empty() ? "" : first.notes.front())
      .hint("a chip stands under `architecture`, a layer under `problem`; the chips that come along: `orrery catalog`");
  throw base::InputError(found.all());
}

struct Priced {
  Specification specification;
  std::shared_ptr<const nest::SparseDesign> sparse;  // what the chip does about zeros, without prices; null: nothing
  std::string energies;                              // where they come from, if not from an ERT
};

// Estimates where there is no ERT. Parts of a chip's documents, without what every estimate needs, are checked as far
// as they go. Throws InputError.
Priced read_and_price(const std::vector<File>& files, formats::timeloop::ReadOptions options, Estimators& estimators) {
  options.energies_required = false;
  const auto documents = formats::timeloop::Documents::gather(files, options);
  demand_something(documents);
  Priced priced{documents.read(), nullptr, ""};
  if (priced.specification.chip && priced.specification.problem)
    priced.sparse = formats::timeloop::ChipReading(documents).layer(nullptr).sparse;
  if (priced.specification.has_energy_tables || !priced.specification.chip) return priced;
  if (priced.specification.components.empty()) {
    priced.energies = "; energies are ratios";
    return priced;
  }
  for (const char* key : {"technology", "global_cycle_seconds"}) {
    if (formats::timeloop::lacking(priced.specification.components, key).empty()) continue;
    priced.energies = fmt::format("; no energies: neither an ERT nor a `{}`", key);
    return priced;
  }
  options.energies_required = true;
  priced.specification = formats::timeloop::Documents::gather(files, options).read();
  complete(priced.specification, estimators);
  priced.energies = "; energies estimated";
  return priced;
}

// "32 blocks, width 4096, 32 heads".
std::string outline(const workload::Transformer& transformer) {
  std::string out;
  for (const workload::Stack& stack : transformer.stacks) {
    out += fmt::format("{}{} block{}, width {}", out.empty() ? "" : "; ", stack.layers.size(),
                       stack.layers.size() == 1 ? "" : "s", stack.width);
    for (const workload::Block& block : stack.kinds)
      if (const auto* attention = std::get_if<workload::Attention>(&block.mixer)) {
        out += fmt::format(", {} heads", attention->heads);
        break;
      }
  }
  return out;
}

// What a system of a file is; its problems go to `found`.
void check_system(const std::string& path, std::vector<std::string>& lines, base::Diagnostics& found) {
  try {
    const std::string own = path.find('/') == std::string::npos ? "./" + path : path;
    const SystemReading read = read_system(catalogue_directory(), own);
    found.append(read.warnings);
    lines.push_back(fmt::format("system: {}: nodes of {} x {}, {} network{}", path, read.system.node_size,
                                read.system.accelerator.name, read.system.fabric.count,
                                read.system.fabric.count == 1 ? "" : "s"));
  } catch (const base::InputError& error) {
    found.append(error.diagnostics);
  }
}

}  // namespace

Checked check(const CheckRequest& request) {
  Checked checked;
  std::vector<std::string>& lines = checked.contents;
  base::Diagnostics& found = checked.warnings;
  std::vector<std::string> document_paths;
  for (const std::string& path : request.files) {
    if (formats::dfmodel::is_setup(path)) {
      try {
        const CheckedSetup setup = check_setup(path, request.overrides);
        found.append(setup.warnings);
        lines.insert(lines.end(), setup.contents.begin(), setup.contents.end());
      } catch (const base::InputError& error) {
        found.append(error.diagnostics);
      }
      continue;
    }
    if (is_system(path)) {
      check_system(path, lines, found);
      continue;
    }
    if (!is_json(path)) {
      document_paths.push_back(path);
      continue;
    }
    if (is_amped(path))
      base::fail("O0117", fmt::format("`{}` is an input of AMPeD, which `check` does not read", path), {},
                 "it is checked when it is run: `orrery train CONFIG --tables TABLES --equations amped`");
    const ModelFile model = load_model("", path, {request.ignored, formats::huggingface::Outside::kWarned});
    found.append(model.diagnostics);
    lines.push_back(fmt::format("model: {}: {}", path, outline(model.transformer)));
  }

  if (!document_paths.empty()) {
    const std::vector<File> documents = read_files(document_paths);
    demand_templates(request, documents);
    const SplitFiles split = split_by_problem(documents, request.templates);
    std::vector<File> layers = split.layers;
    if (layers.empty()) layers.push_back(nullptr);
    Estimators estimators(request.estimators);
    for (const File& file : layers) {
      std::vector<File> all = split.shared;
      if (file) all.push_back(file);
      try {
        const auto [specification, sparse, energies] = read_and_price(all, reading(request), estimators);
        found.append(specification.diagnostics);
        if (specification.mapping && specification.chip && specification.problem) {
          demand_fit(specification.problem->einsum, *specification.chip, sparse.get(), *specification.mapping,
                     specification.mapping_places);
        }
        for (std::string& line : contents(specification, sparse.get(), energies))
          if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
      } catch (const IllegalMapping&) {
        throw;
      } catch (const base::InputError& error) {
        found.append(error.diagnostics);
      }
    }
  }
  found.throw_if_errors();
  return checked;
}

}  // namespace orrery::verbs
