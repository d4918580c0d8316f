// What `map` is asked.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/inputs.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/fuse_sides.h"

namespace orrery::verbs {

// Outputs[M][N] += Weights[K][M] * Inputs[K][N].
struct Gemm {
  base::Count m = 1, k = 1, n = 1;
};

struct MapRequest : DocumentRequest {
  std::vector<std::string> normalisations;  // files: a chip that runs normalisations in place of the other files', and
                                            // layers of it
  bool counts_heads = false;                // layers of files that run once a head count `variables.HEADS` times
  std::string model;                        // catalogue name or path; empty: the files' problems
  std::vector<std::string> ignored;         // keys of its config.json to leave out of account
  std::string like;                         // a `model_type` to read its config.json as
  std::optional<base::Count> mtp;           // modules that predict ahead; 0: as many as it states; absent: none
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

}  // namespace orrery::verbs
