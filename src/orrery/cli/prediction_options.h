// Options that say which keys a prediction keeps, as several verbs of `orrery sparse` take them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/cli/command_line.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/engines/masks/packing/packing.h"
#include "orrery/engines/masks/prediction/predictor.h"

namespace orrery::verbs {

struct PredictionOptions {
  std::optional<base::Count> bits, block, window, sinks;
  std::optional<double> threshold, keep;
  std::optional<float> query_clip, key_clip;
  std::vector<double> alphas;
  std::optional<masks::Normalise> normalise;
  std::optional<masks::PredictorKind> predictor;
  std::optional<masks::EmptyRows> empty;

  bool given() const;  // any of them but `empty`
};

// `clips`: with clip thresholds, which a model's quantisers bring along.
void declare(CommandLine& line, PredictionOptions& options, bool clips);
void declare_empty_rows(CommandLine& line, std::optional<masks::EmptyRows>& empty);

double threshold_of(const std::string& text);        // a probability; else throws InputError O1820
std::string packing_named(const std::string& text);  // one of masks::packing_names(); else throws InputError O1102

// Throws InputError: O1102 (values), O1103 (options that the predictor does not look at).
masks::PredictorOptions settled(const PredictionOptions& options, masks::EmptyRows usual);

}  // namespace orrery::verbs
