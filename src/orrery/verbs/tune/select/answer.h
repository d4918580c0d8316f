// What `tune select` answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/runtime/tuning/graph.h"
#include "orrery/runtime/tuning/measured.h"
#include "orrery/runtime/tuning/selection/factor_conflict.h"
#include "orrery/runtime/tuning/selection/factor_graph.h"
#include "orrery/runtime/tuning/selection/layout_conversion.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/runtime/tuning/selection/path_modes.h"
#include "orrery/verbs/tune/layer_plan.h"
#include "orrery/verbs/tune/select/select_modelled.h"

namespace orrery::verbs {

struct SelectMode {
  std::string name;
  tuning::ModeOutcome outcome;
};

// What another choice costs, operator by operator where it is allowed.
struct Alternative {
  std::string asked;                           // as it was asked
  std::optional<tuning::Selection> selection;  // the best with it, or it
  bool proven = false;
  std::vector<std::string> missing;  // operators that were not measured so, or that cannot agree with it
};

// The best choice where tensors may be transposed between operators.
struct Conversions {
  double bytes_per_s = 0;
  std::optional<tuning::ConversionSelection> selection;
  base::Count bound = 0;  // fs
  bool proven = false;
};

struct TunedSelection {
  bool read = true;                       // false: an interrupt ended the reading, and nothing else is told
  std::optional<ModelledLayer> modelled;  // what the times are a model of
  std::shared_ptr<const tuning::Graph> graph;
  std::shared_ptr<const tuning::Measurements> measurements;
  tuning::Problem problem;
  tuning::Minimum minimum;
  std::optional<tuning::Selection> selection;
  tuning::Conflict conflict;                            // where nothing is allowed
  base::Count without_layouts = 0, arc_consistent = 0;  // bounds, fs
  std::vector<SelectMode> modes;
  std::vector<Alternative> why;
  std::optional<Alternative> evaluated;
  std::optional<Conversions> conversions;
  std::optional<LayerPlan> plan;  // of a folder that was measured on this machine, with its built-in layer
  base::Certificate certificate;  // in ms
  double solved_s = 0;            // from what was read to the proof
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;

  // "phbj" of a variable in the choice.
  const std::string& layout(const tuning::Selection& of, const std::string& variable) const;
};

}  // namespace orrery::verbs
