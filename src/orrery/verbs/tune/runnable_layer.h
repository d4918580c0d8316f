// A layer that this machine can run, from a model of the catalogue, a config.json, or plain sizes. This folder has what
// the verbs that run and tune a layer share; each is a folder below (`orrery tune run`, `bench`, `select`, `layouts`,
// `ledger`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::verbs {

// What the user said; what is absent has a default.
struct LayerRequest {
  std::string model;  // catalogue name or path; empty: plain sizes
  std::vector<std::string> ignored;
  std::string like;
  std::optional<std::string> stack;  // "encoder" or "decoder", of a model that has both
  std::optional<base::Count> layer;  // from 1; default: the first of the commonest kind
  std::optional<base::Count> batch, seq, source;
  // Plain sizes: an encoder layer with norms after the additions, ReLU, biases, and a network four times as wide.
  std::optional<base::Count> width, heads, key_heads, hidden;
  std::optional<kernels::Activation> activation;
  bool gated = false, pre_norm = false, causal = false;
  kernels::Type type = kernels::Type::kF32;
};

struct RunnableLayer {
  layer::Shape shape;
  std::string model;       // its name; empty: plain sizes
  std::string stack;       // "encoder", "decoder"
  base::Count layers = 1;  // of the model, of this kind
  bool drops = true;       // the model is trained with dropout
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError: O1520 for what of the model's layer does not run here, all of it at once; O1521 where sizes are
// missing, or stand beside a model; O1522 for a layer that the model does not have; what layer::checked() says of
// sizes, and what load_model does.
RunnableLayer runnable_layer(const LayerRequest& request);

std::string activation_name(kernels::Activation activation);  // "ReLU"
std::string type_name(kernels::Type type);                    // "fp32"

}  // namespace orrery::verbs
