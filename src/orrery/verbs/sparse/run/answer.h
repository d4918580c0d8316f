// What `sparse run` answers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/inputs/networks/pruned_model.h"
#include "orrery/runtime/pruning/pruned_network.h"

namespace orrery::verbs {

struct SparseRunHead {
  double density = 0, error = 0, kept_mass = 0;
};

// An attention of the model, over all texts.
struct SparseRunLayer {
  pruning::Place place;
  masks::Measured figures;
  base::Count emptied = 0;              // rows that lost every key
  double error = 0;                     // |pruned - dense| / |dense| of its output, from the same queries, keys, values
  double kept_mass = 0;                 // mean share of the dense probability that is kept
  double dense_ms = 0, predict_ms = 0;  // of all texts
  double sparse_ms = 0;                 // prediction included
  std::optional<std::pair<float, float>> clips;
  std::vector<std::pair<std::string, double>> packing;  // utilisation by scheme
  std::vector<SparseRunHead> heads;
};

struct LanguageQuality {
  double loss = 0, perplexity = 0;
  std::optional<double> accuracy;  // of masked words
};

struct SparseRunQuality {
  std::optional<double> cosine, least_cosine;  // of texts' vectors, dense and pruned: mean, least; nothing: no text
  std::string task;                            // mlm, causal; empty: the model has no such head
  std::optional<LanguageQuality> dense, pruned;
};

struct SparseRun {
  std::string model, rule;
  ClipsFrom clips = ClipsFrom::kNothing;
  base::Count texts = 0, tokens = 0, batches = 0;
  std::vector<SparseRunLayer> layers;
  masks::Measured mean;  // of all masks
  double error = 0, dense_ms = 0, sparse_ms = 0;
  SparseRunQuality quality;
  std::vector<masks::Measured> log;  // of every mask, as Sanger's log has them
  std::string isa;
  int threads = 0;
  std::vector<std::string> compat;
  std::size_t cut = 0;
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
