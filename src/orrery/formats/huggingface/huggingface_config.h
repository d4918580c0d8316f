// Hugging Face `config.json` into workload::Transformer.
//
// The families stand in families/registry.cc. A key that is not read is known not to matter, or it is refused because
// it changes what the model costs, or it is named in a warning (keys.h). A language model inside of a larger one
// (`text_config`) is read from there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/transformer.h"
#include "orrery/formats/huggingface/checkpoint_weights.h"

namespace orrery::formats::huggingface {

struct ConfigDocument {
  workload::Transformer transformer;  // `name` is `_name_or_path`, else the model type
  StoredWeights weights;
  // Catalogue entries only:
  std::string title;                                         // `_title`
  std::vector<std::pair<std::string, std::string>> sources;  // `_source`: key, where its figure comes from
  base::Diagnostics diagnostics;                             // warnings
};

enum class Strictness {
  kForeign,    // unknown and duplicate keys are warnings
  kCatalogue,  // both are errors, and each figure must have a `_source`
};

// What becomes of keys that change the cost of what is around the blocks, and are not modelled.
enum class Outside {
  kRefused,  // the whole model is asked for
  kPassed,   // blocks alone are
  kWarned,   // nobody knows yet
};

struct ReadOptions {
  Strictness strictness = Strictness::kForeign;
  std::vector<std::string> ignored = {};  // keys to leave out of account (`--ignore`)
  Outside outside = Outside::kRefused;
  std::string like = {};  // read it as a model of this type (`--like`); empty: of its own
  // So many modules that predict tokens beyond the next are counted (`--mtp`); 0: as many as the file states,
  // -1: none, of a reader that lays them out by itself.
  std::optional<base::Count> ahead = {};
  bool ahead_apart = false;  // they stay `predicted_ahead`, for such a reader
  bool nearest = false;      // of an unknown type, tell the family that is nearest; costs some 190 reads
};

// Throws InputError with everything found: O0900 no JSON object, O0901 unknown `model_type`, O0902 missing
// keys, O0903 wrong types, O0904 duplicate keys, O0905 unknown keys, O0906 figures without a source, O0907 more
// experts for a token than there are, O0910 sizes that cannot be, O0911 and O0912 heads that do not divide, O0914 more
// parameters than can be counted, O0918 modules that predict ahead and are not there, O0917 keys of cost that are not
// modelled, O0920 keys that cannot be ignored, O0922 layers told of that are not there. Warnings: O0904, O0916 keys
// that nobody knows, O0919 what is ignored, O0921 classes with another head, O0926 widths of weights that are not
// known.
ConfigDocument read_config(const std::shared_ptr<const base::SourceFile>& file, const ReadOptions& options = {});

// The model types that are understood.
std::vector<std::string> model_types();

}  // namespace orrery::formats::huggingface
