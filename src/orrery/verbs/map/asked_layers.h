// The layers of a request for mappings as questions, before anything is searched: for sweeps, which ask many.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

struct AskedLayers {
  std::string title;                     // as of MapAnswer, and `blocks`
  std::vector<LayerQuestion> questions;  // named as the answers would be
  std::vector<bool> normalisation;       // of each: it runs on a chip for normalisations
  base::Count blocks = 0;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

struct AskHow {
  bool estimate = false;           // leave an ERT aside, so that figures follow what is set
  base::Overrides normalisations;  // of documents for normalisations, where a chip has some, in place of the request's
  std::vector<std::string> only;   // layers by name; empty: all
  // As Timeloop-Experiments' scripts do: layers of files that run once a head (KTQ, softmax, VScores) count
  // `variables.HEADS` times, and --fuse-at is of products that a normalisation follows, and of these.
  bool as_scripts = false;
  // The chips that the request names, read before (load_chips); null: they are read.
  std::shared_ptr<const std::vector<ChipFile>> chips;
};

// The level that a word of those scripts names. At DRAM nothing is fused, but under `--compat timeloop` they order
// loops there.
void fuse_at_word(const std::string& word, MapRequest& request);

// What an array does of a model's attention is not among them. Throws InputError, as map().
AskedLayers ask_layers(const MapRequest& request, const AskHow& how, Estimators& estimators);

}  // namespace orrery::verbs
