// The best mappings on a chip, from names and files to answers.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/inputs/inputs.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/fuse_sides.h"

namespace orrery::verbs {

// Outputs[M][N] += Weights[K][M] * Inputs[K][N].
struct Gemm {
  base::Count m = 1, k = 1, n = 1;
};

struct MapRequest : DocumentRequest {
  std::string model;                 // catalogue name or path; empty: the files' problems
  std::vector<std::string> ignored;  // keys of its config.json to leave out of account
  std::string like;                  // a `model_type` to read its config.json as
  std::optional<base::Count> sequence, batch;
  std::string phase;                           // "prefill" (or empty), "decode" or "verify"
  std::optional<base::Count> cached, drafted;  // tokens in the cache; tokens to verify
  bool logits = false;                         // map them, too
  std::string attention_array;                 // an answer of `sparse simulate`, for a prefill; empty: none
  std::vector<Gemm> gemms;                     // instead of a model or problems
  FuseSides fuse;                              // --fuse-at and what goes with it
  bool unfold = false;                         // --im2col, of an ONNX model, which is one of the files
  std::string layer;                           // only this one; empty: all
  // How to search; threads 0: as the documents say, else 1. The objective: empty, as the documents say, else edp.
  MapOptions search;
  // Asked once, when all files were found: the flag that ends the search. Until then a signal ends the program at once,
  // even one that waits for a pipe.
  std::function<const std::atomic<bool>*()> interruptible;
};

// What of a model was mapped, and what was not.
struct MappedWork {
  std::string model, family;                 // as it was named; its `model_type`
  std::string phase;                         // "prefill", "decode", "verify"
  base::Count batch = 1, tokens = 1;         // sequences; tokens of each that are new
  base::Count cached = 0;                    // of each that went before
  std::optional<base::Count> max_positions;  // tokens of a sequence that the model takes; nothing: it does not say
  base::Count layers = 0;                    // that run in the phase
  struct Left {
    std::string what;
    std::optional<double> flop, share;  // of all products, the mapped and the others; nothing: it is no product
  };
  std::vector<Left> left_out;
};

struct MapAnswer {
  std::string title;               // of a model on its chip; empty: only layers
  std::optional<MappedWork> work;  // of a model
  MappedModel mapped;
  base::Count blocks = 0;  // of a model; 0: only layers
  std::string selected;    // the one layer of the model that was asked for; empty: all of them
};

// Throws InputError: O1103 for requests that make no question, O1106 where no layer is called as the one wanted, O0938
// for ONNX models without products, O2010 for an array beside something other than a prefill of a model with attention,
// O1905 and O2012 for one that cannot be counted, and what the readers and the search refuse. Layers that cannot be
// mapped are an answer.
MapAnswer map(const MapRequest& request);

}  // namespace orrery::verbs
