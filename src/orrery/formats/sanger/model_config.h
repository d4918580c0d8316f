// The keys that Sanger adds to a model's config.json: how attention is pruned.
//
//   "quant_qk": {"method": "sym", "bitwidth": 4}, "normalize_qk": "inner_product",
//   "prune_score": {"method": "probablity_threshold", "threshold": 0.002}, "static_sparsity": "configs/bigbird.json"
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::sanger {

struct ModelConfig {
  std::optional<int> bits;          // of codes; nothing: scores are predicted by themselves
  bool normalises = false;          // rows to unit length first
  std::optional<double> threshold;  // nothing: no score is pruned by its probability
  std::string pattern;              // the path of a static mask's file; empty: none
  base::Location pattern_where;
  std::vector<std::string> others;  // keys that are not Sanger's
  bool prunes() const { return threshold || !pattern.empty(); }
};

// The keys above; null and false count as absent. Throws InputError O1870 where one has a value that Sanger does not
// know. Adds the warning O1871 for keys that change nothing beside the others.
ModelConfig read_model_config(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& warnings);

}  // namespace orrery::formats::sanger
