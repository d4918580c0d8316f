#include "orrery/verbs/tune/layer_options.h"

#include "orrery/cli/shared_options.h"

namespace orrery::verbs {

void declare_layer(CommandLine& line, LayerRequest& layer) {
  using kernels::Activation;
  line.group("Layer");
  line.text("--model", layer.model, "NAME|FILE", "One layer of a model from the catalogue, or of its config.json");
  declare_ignored(line, layer.ignored);
  declare_like(line, layer.like);
  line.count("--layer", layer.layer, "Number of the layer, from 1; default: the first of the commonest kind",
             kMostSize);
  line.choice<std::string>("--stack", layer.stack, {{"encoder", "encoder"}, {"decoder", "decoder"}},
                           "encoder or decoder (default), of a model that has both");
  line.count("--batch,--batch-size", layer.batch, "Sequences of a batch; default 1, without a model 8", kMostSize);
  line.count("--seq,--max-seq-len", layer.seq,
             "Tokens of a sequence; default: the model's longest, at most 4096, without a model 512", kMostSize);
  line.count("--source", layer.source, "Tokens of the encoder's output that a decoder attends to; default: --seq",
             kMostSize);
  line.group("Layer of given sizes, without a model");
  line.count("--emb-size", layer.width, "Width of a token", kMostSize);
  line.count("--num-heads", layer.heads, "Attention heads", kMostSize);
  line.count("--kv-heads", layer.key_heads, "Heads of keys and values; default: as many as of queries", kMostSize);
  line.count("--ffn", layer.hidden, "Width of the feed-forward network; default: four times --emb-size", kMostSize);
  line.choice<Activation>("--activation", layer.activation,
                          {{"relu", Activation::kRelu},
                           {"gelu", Activation::kGelu},
                           {"gelu-tanh", Activation::kGeluTanh},
                           {"silu", Activation::kSilu}},
                          "relu (default), gelu, gelu-tanh, silu");
  line.toggle("--gated", layer.gated, "The activation is multiplied by a second projection");
  line.toggle("--pre-norm", layer.pre_norm, "Norms stand before attention and feed-forward network");
  line.toggle("--causal", layer.causal, "Tokens see only those before them");
}

}  // namespace orrery::verbs
