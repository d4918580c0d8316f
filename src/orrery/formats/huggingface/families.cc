// One row a family, as the configuration classes of the `transformers` library have it (BertConfig, GPT2Config, ...).
#include "orrery/formats/huggingface/families.h"

#include <algorithm>

namespace orrery::formats::huggingface {
namespace {

Family bert() {
  Family family;
  family.model_type = "bert";
  family.hidden = "hidden_size";
  family.layers = "num_hidden_layers";
  family.heads = "num_attention_heads";
  family.feed_forward = "intermediate_size";
  family.vocab = "vocab_size";
  family.max_positions = "max_position_embeddings";
  family.causal = false;
  family.others = {"type_vocab_size", "is_decoder"};
  return family;
}

Family distilbert() {
  Family family = bert();
  family.model_type = "distilbert";
  family.hidden = "dim";
  family.layers = "n_layers";
  family.heads = "n_heads";
  family.feed_forward = "hidden_dim";
  family.others = {};
  return family;
}

Family gpt2() {
  Family family;
  family.model_type = "gpt2";
  family.hidden = "n_embd";
  family.layers = "n_layer";
  family.heads = "n_head";
  family.feed_forward = "n_inner";
  family.vocab = "vocab_size";
  family.max_positions = "n_positions";
  family.default_feed_forward = true;
  return family;
}

// Rotations for positions, a matrix of its own for the logits.
Family gpt_neox() {
  Family family = bert();
  family.model_type = "gpt_neox";
  family.causal = true;
  family.learned_positions = false;
  family.untied = true;
  family.others = {"attention_bias"};
  return family;
}

Family opt() {
  Family family = bert();
  family.model_type = "opt";
  family.causal = true;
  family.feed_forward = "ffn_dim";
  family.others = {"enable_bias", "do_layer_norm_before", "_remove_final_layer_norm", "layer_norm_elementwise_affine"};
  return family;
}

// What a configuration class has where a key is absent: transformers' MistralConfig, Qwen2Config, GemmaConfig,
// MixtralConfig.
Family llama(std::string_view model_type, std::vector<std::string_view> others = {}, long kv_heads = 0,
             long window = 0) {
  Family family = bert();
  family.absent_kv_heads = kv_heads;
  family.absent_window = window;
  family.model_type = model_type;
  family.kv_heads = "num_key_value_heads";
  family.head_dim = "head_dim";
  family.gated = family.rms_norm = family.untied = family.causal = true;
  family.biases = family.dropout = family.learned_positions = false;
  family.others = std::move(others);
  return family;
}

Family gemma() {
  Family family = llama("gemma", {"attention_bias"});
  family.untied = false;
  family.head_width = 256;
  family.absent_kv_heads = 16;
  return family;
}

Family nemotron() {
  Family family = llama("nemotron", {"attention_bias", "mlp_bias"});
  family.gated = family.rms_norm = false;
  return family;
}

Family mixture(std::string_view model_type, bool latent, std::vector<std::string_view> others) {
  Family family = llama(model_type, std::move(others));
  family.mixture = true;
  family.latent = latent;
  return family;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> rows = {bert(),
                                bert(),
                                distilbert(),
                                gpt2(),
                                gpt_neox(),
                                opt(),
                                llama("llama", {"attention_bias", "mlp_bias"}),
                                llama("mistral", {}, 8, 4096),
                                llama("qwen2", {}, 32, 4096),
                                gemma(),
                                nemotron()};
    rows[1].model_type = "roberta";
    rows[8].absent_full_layers = 28;  // Qwen2Config's `max_window_layers`
    const std::vector<std::string_view> experts = {"num_local_experts",     "n_routed_experts", "num_experts_per_tok",
                                                   "moe_intermediate_size", "n_shared_experts", "first_k_dense_replace",
                                                   "moe_layer_freq",        "topk_group",       "n_group"};
    std::vector<std::string_view> latent = experts;
    latent.insert(latent.end(), {"q_lora_rank", "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim",
                                 "attention_bias"});
    rows.push_back(mixture("mixtral", false, experts));
    rows.back().absent_kv_heads = 8;
    rows.push_back(mixture("deepseek_v3", true, latent));
    return rows;
  }();
  return all;
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family& family) { return family.model_type == model_type; });
  return found == families().end() ? nullptr : &*found;
}

const std::vector<std::string_view>& hidden_dropouts() {
  static const std::vector<std::string_view> keys = {"hidden_dropout_prob", "hidden_dropout", "resid_pdrop",
                                                     "embd_pdrop",          "dropout",        "residual_dropout"};
  return keys;
}

const std::vector<std::string_view>& attention_dropouts() {
  static const std::vector<std::string_view> keys = {"attention_probs_dropout_prob", "attention_dropout", "attn_pdrop",
                                                     "attn_dropout"};
  return keys;
}

std::vector<std::string_view> keys_read(const Family& family) {
  std::vector<std::string_view> keys = {"model_type", "architectures", "_name_or_path",      "_title",
                                        "_source",    "_sequence",     "tie_word_embeddings"};
  for (const std::string_view key : {family.hidden, family.layers, family.heads, family.kv_heads, family.head_dim,
                                     family.feed_forward, family.vocab, family.max_positions})
    if (!key.empty()) keys.push_back(key);
  keys.insert(keys.end(), family.others.begin(), family.others.end());
  for (const auto& dropouts : {hidden_dropouts(), attention_dropouts()})
    keys.insert(keys.end(), dropouts.begin(), dropouts.end());
  return keys;
}

}  // namespace orrery::formats::huggingface
