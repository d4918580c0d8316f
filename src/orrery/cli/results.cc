#include "orrery/cli/results.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "orrery/cli/output_folder.h"
#include "orrery/cli/version.h"
#include "orrery/formats/timeloop/mapping_document.h"
#include "orrery/report/front_table.h"
#include "orrery/report/infeasible.h"
#include "orrery/report/loop_nest.h"
#include "orrery/report/map_json.h"
#include "orrery/report/table.h"
#include "orrery/report/timeloop_stats.h"
#include "orrery/report/why.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

// A layer's name as a folder: no separators, no surprises.
std::string folder_name(const std::string& name) {
  std::string out;
  for (char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
    out += plain ? c : '_';
  }
  return out.empty() || out[0] == '.' ? "layer" + out : out;
}

void write_layer(const fs::path& directory, const scenario::MappedLayer& layer, bool compat) {
  if (!layer.found()) return;
  const nest::Mapping& mapping = *layer.optimum.mapping;
  const nest::Evaluation& cost = layer.optimum.evaluation;
  write_file((directory / "map.yaml").string(),
             formats::timeloop::write_mapping_yaml(layer.einsum, layer.chip, mapping));
  write_file((directory / "map.txt").string(), report::map_txt(layer.einsum, layer.chip, mapping, cost));
  write_file((directory / "stats.txt").string(), report::stats_txt(layer.einsum, layer.chip, cost, compat));
}

// One layer: its files in `directory`; several: a folder each. result.json holds all of them.
void write_results(const Results& results, const CommonOptions& common, const std::string& json) {
  const fs::path directory = common.directory;
  make_folder(directory.string());
  write_file((directory / "result.json").string(), json);
  std::set<std::string> taken;
  for (const scenario::MappedLayer& layer : results.mapped.layers) {
    fs::path place = directory;
    if (results.mapped.layers.size() > 1) {
      std::string name = folder_name(layer.name);
      for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", folder_name(layer.name), n);
      place /= name;
      make_folder(place.string());
    }
    write_layer(place, layer, common.compat == "timeloop");
  }
}

std::string certified_lines(const std::vector<scenario::MappedLayer>& layers) {
  std::string out;
  for (const scenario::MappedLayer& layer : layers) {
    if (!layer.certified) continue;
    out += layer.certified->finished
               ? fmt::format("{}: certified by a slower search in {:.3f} s\n", layer.name, layer.certified->seconds)
               : fmt::format("{}: not certified within the limit\n", layer.name);
  }
  return out;
}

bool unproven(const nest::Optimum& optimum) {
  return !optimum.infeasible && !optimum.certificate.optimal;
}

bool interrupted(const scenario::MappedLayer& layer) {
  if (layer.optimum.interrupted || (layer.forced && layer.forced->optimum.interrupted)) return true;
  if (layer.certified && layer.certified->interrupted) return true;
  return layer.front && (layer.front->interrupted);
}

int exit_code(const std::vector<scenario::MappedLayer>& layers) {
  bool no = false, limit = false;
  for (const scenario::MappedLayer& layer : layers) {
    if (interrupted(layer)) return kInterrupted;
    no = no || layer.optimum.infeasible || (layer.forced && layer.forced->optimum.infeasible);
    limit = limit || (layer.searched && unproven(layer.optimum)) || (layer.forced && unproven(layer.forced->optimum)) ||
            (layer.front && !layer.front->complete) || (layer.certified && !layer.certified->finished);
  }
  return no ? kNo : limit ? kLimit : kDone;
}

}  // namespace

std::vector<std::string> compat_names(const CommonOptions& common) {
  std::vector<std::string> names;
  if (!common.compat.empty()) names.push_back(common.compat);
  if (common.estimators.accelergy) names.emplace_back("accelergy-0.4");
  return names;
}

void check_directory(const CommonOptions& common) {
  check_folder(common.directory, common.force, {"result.json", "map.yaml", "map.txt", "stats.txt"});
}

int present(const Results& results, const CommonOptions& common, const Console& console) {
  const std::vector<scenario::MappedLayer>& layers = results.mapped.layers;
  report(console, results.mapped.warnings.all());

  report::MapDocument document;
  document.verb = results.verb;
  document.version = kVersion;
  document.mapped = &results.mapped;
  document.blocks = results.blocks;
  document.selected = results.selected;
  document.seconds = results.seconds;
  document.compat = compat_names(common);
  std::string json;
  if (common.json || !common.directory.empty()) json = report::map_json(document);

  // Before printing: a folder that cannot be written is a refusal, of which --json prints a document as well.
  if (!common.directory.empty()) write_results(results, common, json);
  if (common.json) {
    console.out << json;
  } else {
    if (!results.title.empty()) console.out << results.title << "\n\n";
    console.out << report::model_table(layers, std::max<base::Count>(1, results.blocks), results.selected);
    for (const scenario::MappedLayer& layer : layers)
      if (results.close_look && layer.found()) console.out << "\n" << report::layer_view(layer);
    for (const scenario::MappedLayer& layer : layers) {
      if (layer.front) console.out << "\n" << report::front_table(layer);
      if (layer.forced && layer.forced->optimum.mapping) console.out << "\n" << report::why_view(layer);
    }
    const std::string certified = certified_lines(layers);
    if (!certified.empty()) console.out << "\n" << certified;
  }
  console.out << std::flush;
  base::Diagnostics unmapped;
  for (const scenario::MappedLayer& layer : layers)
    if (!layer.found()) {
      unmapped.error("", "") = report::explain_no_mapping(layer);
    } else if (layer.forced && !layer.forced->optimum.mapping) {
      unmapped.error("", "") = report::explain_no_forced_mapping(layer);
    }
  report(console, unmapped.all());
  return exit_code(layers);
}

}  // namespace orrery::cli
