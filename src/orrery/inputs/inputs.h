// From what users name to what engines take, shared by all verbs. This file has documents and chips of Timeloop's kind;
// catalogue/ finds names, layers/ reads layers, prices and searches them, networks/ opens checkpoints and texts,
// systems/ makes clusters, graphs/ makes kernels of models, masks/ reads masks of attention.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/defect.h"
#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/nest/model/model_options.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/estimators.h"

namespace orrery::verbs {

using File = std::shared_ptr<const base::SourceFile>;

// What runs on Timeloop's documents are asked by.
struct DocumentRequest {
  std::vector<std::string> files;                // and folders of them
  std::vector<std::string> chips;                // catalogue names or paths
  base::Overrides overrides;                     // --set path=value
  base::Reproduced<nest::ModelOptions> compat;   // --compat
  EstimatorSetup estimators;                     // for chips without an ERT; its --compat
  formats::timeloop::TemplateOptions templates;  // --define, --include
  bool ignore_densities = false;                 // --ignore-density
};

// Reads every file, and of a folder every `.yaml` and `.yml` in it; the same path given twice is read once. Throws
// InputError (O0100, O0103, O0104; O0117 for a file that another verb or option takes; O1262 for a set of estimation
// tables) naming all that fail.
std::vector<File> read_files(const std::vector<std::string>& paths);

// Files sorted into what all layers share and what makes a layer. A file with a `problem.instance` is a
// layer, and so is the problem in a chip's file where no other is given; when none has one, a file with a `problem`.
// Templates are expanded to see. Both lists are ordered by name, so that the order on the
// command line does not show.
struct SplitFiles {
  std::vector<File> shared;
  std::vector<File> layers;
  bool chips_among_layers = false;  // the layers are problems in chips' files
};
SplitFiles split_by_problem(const std::vector<File>& files, const formats::timeloop::TemplateOptions& templates);

// Throws InputError (O1103) where names are defined and no file is a template that could ask for them.
void demand_templates(const DocumentRequest& request, const std::vector<File>& files);

formats::timeloop::ReadOptions reading(const DocumentRequest& request);

// The chips that a request names, from the catalogue or their files; with those on which normalisations run.
std::vector<ChipFile> load_chips(const std::vector<std::string>& names, bool with_normalisations = false);
formats::timeloop::Parsed parsed(const std::vector<ChipFile>& chips);

// "layers/KTQ_layer.yaml" -> "KTQ_layer".
std::string stem(const std::string& path);

}  // namespace orrery::verbs
