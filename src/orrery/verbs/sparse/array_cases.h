// What an accelerator is asked to run: masks, arrays of queries, keys and values, or the attentions of a model on
// texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/accelerator/simulate.h"
#include "orrery/inputs/masks/sparse_arrays.h"
#include "orrery/inputs/networks/text_request.h"

namespace orrery::verbs {

// One of `mask` (with or without the three arrays), `arrays` and `texts.checkpoint`.
struct ArrayCasesRequest {
  std::string mask;                    // a file or a folder (sparse_folder.h)
  std::optional<base::Count> columns;  // of packed bits
  base::Count size = 64;               // of a head, of masks alone
  SparseArrayFiles arrays;
  TextRequest texts;
  std::string layer;                           // a number, or "decoder.0.cross"; empty: all
  std::optional<double> threshold;             // else 0.002, or what the model's configuration says
  std::optional<base::Count> bits;             // else 4, likewise
  std::optional<masks::Normalise> normalise;   // likewise
  std::optional<double> query_clip, key_clip;  // of arrays; a model's are its own
};

struct ArrayCase {
  std::string name;  // of a mask's file, or an attention; empty: arrays
  masks::MaskShape shape;
  base::Count depth = 0;
  double scale = 1;
  bool causal = false;
  std::vector<float> query, key, value;  // empty: a mask alone
  std::vector<std::uint8_t> valid_rows, valid_columns;
  std::optional<masks::Mask> mask;  // given; else the array predicts it
  accelerator::Prediction prediction;
  base::Count code_bits = 4;

  accelerator::Work work() const;  // points into this
  masks::AttentionInput input() const;
};

struct ArrayCases {
  std::vector<ArrayCase> cases;
  std::vector<std::string> unfinished;  // what the limits left out
  std::string rule;                     // of a model, in words
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError: those of reading; O1900 (no values), O1901 (values of another size than keys), O1902 (a layer that
// the model has not). Warns O1819.
ArrayCases read_array_cases(const ArrayCasesRequest& request, const base::Limits& limits);

}  // namespace orrery::verbs
