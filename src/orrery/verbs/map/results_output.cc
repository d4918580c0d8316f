#include "orrery/verbs/map/results_output.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "orrery/inputs/layers/timeloop_files.h"
#include "orrery/verbs/map/fused_pairs_text.h"
#include "orrery/verbs/map/infeasible_text.h"
#include "orrery/verbs/map/json.h"
#include "orrery/verbs/map/loop_nest_text.h"
#include "orrery/verbs/map/padding_text.h"
#include "orrery/verbs/map/sparse_layer_text.h"
#include "orrery/verbs/map/table.h"
#include "orrery/verbs/map/why_text.h"

namespace orrery::verbs {
namespace {

// A layer's name as a folder: no separators, no surprises.
std::string folder_name(const std::string& name) {
  std::string out;
  for (char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
    out += plain ? c : '_';
  }
  return out.empty() || out[0] == '.' ? "layer" + out : out;
}

// One layer: its files in the folder; several: a folder each. result.json holds all of them.
std::vector<OutputFile> files_of(const Results& results, const DocumentRequest& documents) {
  std::vector<OutputFile> files;
  std::set<std::string> taken;
  for (const MappedLayer& layer : results.mapped.layers) {
    std::string place;
    if (results.mapped.layers.size() > 1) {
      place = folder_name(layer.name);
      for (int n = 2; !taken.insert(place).second; ++n) place = fmt::format("{}_{}", folder_name(layer.name), n);
      place += '/';
    }
    for (OutputFile& file : timeloop_files(layer, documents.compat.defects.no_area_in_summary))
      files.push_back({place + file.name, std::move(file.text)});
  }
  return files;
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

int exit_code(const Results& results, const Run& run) {
  bool no = false;
  bool limit = std::any_of(results.fused.begin(), results.fused.end(), std::mem_fn(&FusedPair::cut_short));
  for (const MappedLayer& layer : results.mapped.layers) {
    if (interrupted(layer)) return kInterrupted;
    no = no || layer.optimum.infeasible || (layer.forced && layer.forced->optimum.infeasible);
    limit = limit || (layer.searched && unproven(layer.optimum)) || (layer.forced && unproven(layer.forced->optimum)) ||
            (layer.front && !layer.front->complete) || (layer.certified && !layer.certified->finished);
  }
  return no ? kNo : limit ? run.cut_short() : kDone;
}

Outcome outcome_of_mapping(const Results& results, const Run& run) {
  Outcome out{exit_code(results, run)};
  for (const MappedLayer& layer : results.mapped.layers)
    if (!layer.found())
      out.reasons.push_back(explain_no_mapping(layer));
    else if (layer.forced && !layer.forced->optimum.mapping)
      out.reasons.push_back(explain_no_forced_mapping(layer));
  return out;
}

std::vector<std::string> compat_names(const DocumentRequest& documents) {
  std::vector<std::string> names = documents.compat.names;
  const std::vector<std::string>& energies = documents.estimators.reproduced.names;
  names.insert(names.end(), energies.begin(), energies.end());
  return names;
}

// `close_look`: with the loop nest and the energies of each layer.
std::string results_table(const Results& results, bool close_look) {
  const std::vector<MappedLayer>& layers = results.mapped.layers;
  const bool as_timeloop = std::find(results.compat.begin(), results.compat.end(), "timeloop") != results.compat.end();
  std::string out = results.title.empty() ? "" : results.title + "\n\n";
  out += model_table(results.fused.empty() ? layers : marked(layers, results.fused),
                     std::max<base::Count>(1, results.blocks), results.selected, results.mapped.attention);
  out += whole_lines(results);
  if (results.work && results.selected.empty()) out += left_out_line(*results.work);
  for (const MappedLayer& layer : layers) {
    if (close_look && layer.found()) out += "\n" + layer_view(layer);
    if (close_look && layer.sparse) out += "\n" + sparse_view(layer);
  }
  for (const MappedLayer& layer : layers) {
    if (layer.front) out += "\n" + front_table(layer, as_timeloop);
    if (layer.forced && layer.forced->optimum.mapping) out += "\n" + why_view(layer, as_timeloop);
  }
  if (!results.fused.empty()) out += "\n" + fused_table(results.fused);
  for (const std::string& lines : {padding_lines(layers), certified_lines(layers)})
    if (!lines.empty()) out += "\n" + lines;
  return out;
}

}  // namespace

int run_mapping(const Console& console, const DocumentRequest& documents, const OutputFolder& output, bool searched,
                const std::function<Results(Run&)>& answer) {
  return run_verb<Results>(console,
                           {.answer =
                                [&](Run& run) {
                                  Results results = answer(run);
                                  results.compat = compat_names(documents);
                                  return results;
                                },
                            .document = [&] { return mapping_document(searched); },
                            .table =
                                [&](const Results& results) {
                                  return results_table(results, !searched || results.mapped.layers.size() == 1);
                                },
                            .folder = output,
                            .names = {"result.json", "map.yaml", "map.txt", "stats.txt"},
                            .folder_files = [&](const Results& results) { return files_of(results, documents); },
                            .outcome = outcome_of_mapping});
}

}  // namespace orrery::verbs
