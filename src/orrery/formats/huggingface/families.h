// The families of models whose config.json is understood: which key holds which size, and what follows from the
// family's code alone.
#pragma once

#include <string_view>
#include <vector>

namespace orrery::formats::huggingface {

// Keys of one family; an empty key: the family has no such thing.
struct Family {
  std::string_view model_type;
  std::string_view hidden, layers, heads, kv_heads, head_dim, feed_forward, vocab, max_positions;
  bool gated = false;
  bool rms_norm = false;
  bool default_feed_forward = false;  // 4 * hidden when absent
  // Of a block in training. Decoders of Llama's kind have neither biases nor dropout nor learned positions.
  bool biases = true;
  bool dropout = true;
  bool learned_positions = true;
  bool untied = false;  // unless `tie_word_embeddings` says otherwise
  bool causal = true;
  bool mixture = false;
  bool latent = false;
  long head_width = 0;  // where `head_dim` is absent; 0: the width divided by the heads
  // Where the keys are absent, which is not the same as null. 0: as many as heads; no window.
  long absent_kv_heads = 0, absent_window = 0;
  long absent_full_layers = 0;  // the first layers, which have no window; 0: none
  // Keys that only this family's reader takes, beside the sizes above.
  std::vector<std::string_view> others = {};
};

// Null where there is none.
const Family* find_family(std::string_view model_type);

const std::vector<Family>& families();

// Probabilities of dropout: of what passes between blocks, and of attention's scores. Fused attention draws the
// latter's masks on chip, so that they matter where scores go through memory.
const std::vector<std::string_view>& hidden_dropouts();
const std::vector<std::string_view>& attention_dropouts();

// Every key that is read of a family's config.json: sizes, switches, names.
std::vector<std::string_view> keys_read(const Family& family);

}  // namespace orrery::formats::huggingface
