// The layouts that make a layer fastest: measurements or a model of a machine in, a choice with its certificate out,
// and what Substation's own search would have lost.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/runtime/tuning/selection/factor_conflict.h"
#include "orrery/runtime/tuning/selection/layout_conversion.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/runtime/tuning/selection/path_modes.h"
#include "orrery/verbs/tune/layer_plan.h"
#include "orrery/verbs/tune/select/select_modelled.h"

namespace orrery::verbs {

struct TuneSelectRequest {
  std::string folder;                                       // of measurements, or
  std::optional<ModelledRequest> modelled;                  // a layer whose times are modelled
  std::vector<std::string> modes;                           // of fp_first, bp_first, combined; empty: all
  std::vector<std::string> split_vars;                      // of combined
  std::vector<std::string> why;                             // VARIABLE=LAYOUT
  std::string evaluate;                                     // a layout file, "" for none
  bool relayout = false;                                    // also the best choice with re-layouts
  double relayout_bytes_per_s = 0;                          // 0: of `system`
  std::string system;                                       // of the catalogue or a file; of `modelled`, too
  base::Limits limits;                                      // threads <= 0: all cores
  std::function<const std::atomic<bool>*()> interruptible;  // called before what takes long, reading included
};

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
struct Relayouts {
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
  std::optional<Relayouts> relayouts;
  std::optional<LayerPlan> plan;  // of a folder that was measured on this machine, with its built-in layer
  base::Certificate certificate;  // in ms
  double solved_s = 0;            // from what was read to the proof
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;

  // "phbj" of a variable in the choice.
  const std::string& layout(const tuning::Selection& of, const std::string& variable) const;
};

// Throws InputError: what formats::substation::read_folder says; O1717 (times whose sum leaves 64 bits), O1719 (a
// layout file that does not say what is asked), O1720 (a variable or layout that does not exist), O1726 (re-layouts
// without a bandwidth or sizes); what the system's files say; what modelled_layer says.
TunedSelection tune_select(const TuneSelectRequest& request);

double without_layouts_ms(const TunedSelection& answer);

// Why no choice is allowed (O1716), or why an evaluated one is not (O1721).
std::vector<base::Diagnostic> explain_no_selection(const TunedSelection& answer);

// The chosen layouts as Substation's layout file, in JSON. It has one layout for the three biases of keys, queries and
// values, and one for these themselves: where they differ, `warnings` gets O1753.
std::string layout_file(const TunedSelection& answer, const tuning::Selection& selection, base::Diagnostics& warnings);

}  // namespace orrery::verbs
