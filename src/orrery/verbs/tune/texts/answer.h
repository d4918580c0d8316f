// What `tune embed` and `tune generate` answer; those of `eval` and `train` stand beside what computes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/inputs/networks/task_evaluation.h"
#include "orrery/inputs/networks/task_training.h"
#include "orrery/verbs/tune/texts/request.h"

namespace orrery::verbs {

struct EmbeddedText {
  std::size_t tokens = 0;
  std::vector<float> embedding;
};

struct Embedded {
  std::string model;
  Pool pool = Pool::kMean;
  std::size_t width = 0, cut = 0;
  std::vector<EmbeddedText> texts;
  double seconds = 0;  // of the model alone
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

struct GeneratedText {
  std::string text;  // what was added, without special tokens
  std::vector<std::int32_t> ids;
  std::vector<float> log_probabilities;
  bool ended = false;  // by the token that ends texts; else by the number of tokens
};

struct Generated {
  std::string model;
  std::size_t cut = 0;
  base::Count most = 0;
  std::vector<GeneratedText> texts;
  double seconds = 0;  // of the model alone
  bool ended_early = false;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

}  // namespace orrery::verbs
