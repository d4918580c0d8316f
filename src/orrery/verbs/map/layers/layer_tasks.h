// The layers that a request asks about, not yet read: those of a model, of files, of sizes, or of an ONNX model.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "orrery/inputs/inputs.h"
#include "orrery/inputs/layers/array_rows.h"
#include "orrery/inputs/layers/read_layers.h"
#include "orrery/verbs/map/answer.h"
#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/map/request.h"

namespace orrery::verbs {

using Chips = std::vector<ChipFile>;

// Layers to map and the documents they borrow.
struct GatheredLayers {
  std::deque<formats::timeloop::Documents> documents;  // a deque: tasks point into it while it grows
  std::vector<LayerTask> tasks;
  std::vector<std::string> stems;   // per task, tells layers of one name apart
  std::vector<bool> normalisation;  // per task, of a model: another chip runs it
  const AskHow* how = nullptr;      // null: as the request says
  std::string title;
  base::Count blocks = 0;
  File model;                        // null without --model
  std::vector<base::Input> ignored;  // of it: --ignore
  std::vector<base::Input> array;    // its document
  std::vector<base::Input> onnx;     // the file, and --define
  std::optional<MappedWork> work;    // of it
  ArrayAttention attention;          // of it, where an array does it
  base::Diagnostics warnings;        // of the catalogue's files
};

// Throws InputError O1103 for options that make no question together, and what the readers refuse.
void gather_layers(const MapRequest& request, GatheredLayers& layers);

// The layers as questions.
ReadLayers read_all(const GatheredLayers& layers, const MapRequest& request, Estimators& estimators);

// What was read, sorted: `read` and what the layers borrow.
std::vector<base::Input> inputs_of(const GatheredLayers& layers, std::vector<base::Input> read);

// How documents are read for a search; `normalisation`: of a chip for normalisations.
formats::timeloop::ReadOptions search_options(const MapRequest& request, const GatheredLayers& layers,
                                              bool normalisation = false);
std::vector<File> for_role(const Chips& chips, workload::OperatorRole role);
std::string names_of(const Chips& chips);  // "a + b"
std::vector<File> joined(std::vector<File> files, const std::vector<File>& more);

}  // namespace orrery::verbs
