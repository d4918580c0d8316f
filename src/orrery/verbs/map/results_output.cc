#include "orrery/verbs/map/results_output.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "orrery/cli/output_folder.h"
#include "orrery/cli/program_version.h"
#include "orrery/inputs/layers/timeloop_files.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/map/front_table.h"
#include "orrery/verbs/map/fused_pairs_text.h"
#include "orrery/verbs/map/infeasible_text.h"
#include "orrery/verbs/map/json.h"
#include "orrery/verbs/map/loop_nest_text.h"
#include "orrery/verbs/map/padding_text.h"
#include "orrery/verbs/map/sparse_layer_text.h"
#include "orrery/verbs/map/why_text.h"

namespace orrery::verbs {
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

// One layer: its files in `directory`; several: a folder each. result.json holds all of them.
void write_results(const Results& results, const DocumentRequest& documents, const OutputFolder& output,
                   const std::string& json) {
  const fs::path directory = output.directory;
  write_files(directory.string(), {{"result.json", json}});
  std::set<std::string> taken;
  for (const MappedLayer& layer : results.mapped.layers) {
    fs::path place = directory;
    if (results.mapped.layers.size() > 1) {
      std::string name = folder_name(layer.name);
      for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", folder_name(layer.name), n);
      place /= name;
    }
    write_files(place.string(), verbs::timeloop_files(layer, documents.compat.defects.no_area_in_summary));
  }
}

std::string certified_lines(const std::vector<MappedLayer>& layers) {
  std::string out;
  for (const MappedLayer& layer : layers) {
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

bool interrupted(const MappedLayer& layer) {
  if (layer.optimum.interrupted || (layer.forced && layer.forced->optimum.interrupted)) return true;
  if (layer.certified && layer.certified->interrupted) return true;
  return layer.front && (layer.front->interrupted);
}

int exit_code(const std::vector<MappedLayer>& layers) {
  bool no = false, limit = false;
  for (const MappedLayer& layer : layers) {
    if (interrupted(layer)) return kInterrupted;
    no = no || layer.optimum.infeasible || (layer.forced && layer.forced->optimum.infeasible);
    limit = limit || (layer.searched && unproven(layer.optimum)) || (layer.forced && unproven(layer.forced->optimum)) ||
            (layer.front && !layer.front->complete) || (layer.certified && !layer.certified->finished);
  }
  return no ? kNo : limit ? kLimit : kDone;
}

}  // namespace

std::vector<std::string> compat_names(const DocumentRequest& documents) {
  std::vector<std::string> names = documents.compat.names;
  const std::vector<std::string>& energies = documents.estimators.reproduced.names;
  names.insert(names.end(), energies.begin(), energies.end());
  return names;
}

void check_results_folder(const OutputFolder& output) {
  check_folder(output.directory, output.force, {"result.json", "map.yaml", "map.txt", "stats.txt"});
}

int present(const Results& results, const DocumentRequest& documents, const OutputFolder& output,
            const Console& console) {
  const std::vector<MappedLayer>& layers = results.mapped.layers;
  report(console, results.mapped.warnings.all());

  MapDocument document;
  document.verb = results.verb;
  document.version = kVersion;
  document.mapped = &results.mapped;
  document.blocks = results.blocks;
  document.fused = &results.fused;
  document.work = results.work ? &*results.work : nullptr;
  document.selected = results.selected;
  document.seconds = results.seconds;
  document.compat = compat_names(documents);
  std::string json;
  if (console.json || !output.directory.empty()) json = verbs::map_json(document);

  // Before printing: a folder that cannot be written is a refusal, of which --json prints a document as well.
  if (!output.directory.empty()) write_results(results, documents, output, json);
  if (console.json) {
    console.out << json;
  } else {
    if (!results.title.empty()) console.out << results.title << "\n\n";
    console.out << verbs::model_table(results.fused.empty() ? layers : verbs::marked(layers, results.fused),
                                      std::max<base::Count>(1, results.blocks), results.selected,
                                      results.mapped.attention);
    if (results.work && results.selected.empty()) console.out << verbs::left_out_line(*results.work);
    for (const MappedLayer& layer : layers) {
      if (results.close_look && layer.found()) console.out << "\n" << verbs::layer_view(layer);
      if (results.close_look && layer.sparse) console.out << "\n" << verbs::sparse_view(layer);
    }
    for (const MappedLayer& layer : layers) {
      if (layer.front) console.out << "\n" << verbs::front_table(layer);
      if (layer.forced && layer.forced->optimum.mapping) console.out << "\n" << verbs::why_view(layer);
    }
    if (!results.fused.empty()) console.out << "\n" << verbs::fused_table(results.fused);
    const std::string padded = verbs::padding_lines(layers);
    if (!padded.empty()) console.out << "\n" << padded;
    const std::string certified = certified_lines(layers);
    if (!certified.empty()) console.out << "\n" << certified;
  }
  console.out << std::flush;
  base::Diagnostics unmapped;
  for (const MappedLayer& layer : layers)
    if (!layer.found()) {
      unmapped.add(verbs::explain_no_mapping(layer));
    } else if (layer.forced && !layer.forced->optimum.mapping) {
      unmapped.add(verbs::explain_no_forced_mapping(layer));
    }
  report(console, unmapped.all());
  const int code = exit_code(layers);
  const bool proven = std::all_of(results.fused.begin(), results.fused.end(), std::mem_fn(&FusedPair::proven));
  return code == kDone && !proven ? kLimit : code;
}

}  // namespace orrery::verbs
