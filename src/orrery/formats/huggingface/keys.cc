// Gathered from the configuration classes of `transformers` 4 and 5 and from files on the hub, for the families that
// are read here and for keys that authors carry from one family to another. Cost: a look through some 250 names.
#include "orrery/formats/huggingface/keys.h"

#include <algorithm>
#include <array>

namespace orrery::formats::huggingface {

const std::vector<HarmlessKeys>& harmless_keys() {
  static const std::vector<HarmlessKeys> groups = {
      {"they say where the file comes from and how it is loaded",
       {"transformers_version", "_commit_hash", "_diffusers_version", "auto_map", "custom_pipelines", "finetuning_task",
        "tokenizer_class", "task_specific_params", "_attn_implementation_autoset", "_attn_implementation",
        "attn_implementation", "_flash_attn_2_enabled", "unsloth_fixed", "unsloth_version", "license",
        "model_max_length", "language", "directionality", "name_or_path"}},
      {"--precision of train, the words of a chip and --word of graph say how wide numbers are",
       {"torch_dtype", "dtype", "use_bfloat16", "keys_to_ignore_at_inference", "fp32_residual_connection"}},
      {"element by element they cost the same, whatever the function or the constant",
       {"hidden_act",
        "hidden_activation",
        "activation",
        "activation_function",
        "layer_norm_eps",
        "layer_norm_epsilon",
        "layernorm_epsilon",
        "rms_norm_eps",
        "norm_eps",
        "attn_logit_softcapping",
        "final_logit_softcapping",
        "query_pre_attn_scalar",
        "scale_attn_weights",
        "scale_attn_by_inverse_layer_idx",
        "scale_attention_softmax_in_fp32",
        "attention_softmax_in_fp32",
        "reorder_and_upcast_attn",
        "embedding_multiplier",
        "residual_multiplier",
        "attention_multiplier",
        "logits_scaling",
        "logit_scale",
        "routed_scaling_factor",
        "norm_topk_prob",
        "scoring_func",
        "topk_method",
        "attn_temperature_tuning",
        "rescale_prenorm_residual"}},
      {"positions as rotations cost the same at any base, scale and share of a head; a table of sines takes a learned "
       "table's room",
       {"rope_theta", "rope_scaling", "rope_parameters", "rope_type", "rope_interleave", "rope_interleaved",
        "rope_ratio", "rotary_pct", "rotary_emb_base", "partial_rotary_factor", "rope_percent", "rotary_dim",
        "original_max_position_embeddings", "sinusoidal_pos_embds", "n_ctx", "use_mrope", "mrope_section",
        "no_rope_layers", "no_rope_layer_interval"}},
      {"they only initialise or stabilise training",
       {"initializer_range", "initializer_factor", "init_std", "aux_loss_alpha", "seq_aux", "router_aux_loss_coef",
        "router_z_loss_coef", "router_jitter_noise", "output_router_logits", "label_smoothing", "z_loss_coefficient"}},
      {"tokens with a meaning of their own cost what others cost",
       {"bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "mask_token_id", "unk_token_id",
        "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens",
        "begin_suppress_tokens", "bad_words_ids", "image_token_index", "image_token_id", "video_token_id"}},
      {"they steer the generation of text, which is not modelled here",
       {"use_cache",
        "temperature",
        "top_k",
        "top_p",
        "typical_p",
        "min_p",
        "max_length",
        "min_length",
        "do_sample",
        "early_stopping",
        "num_beams",
        "num_beam_groups",
        "diversity_penalty",
        "length_penalty",
        "repetition_penalty",
        "no_repeat_ngram_size",
        "encoder_no_repeat_ngram_size",
        "exponential_decay_length_penalty",
        "max_new_tokens",
        "num_return_sequences",
        "remove_invalid_values",
        "return_dict_in_generate",
        "output_scores",
        "prefix",
        "cache_implementation"}},
      {"they say what the library hands back, or in what pieces it computes the same",
       {"output_attentions", "output_hidden_states", "return_dict", "use_return_dict", "torchscript",
        "chunk_size_feed_forward", "gradient_checkpointing", "pretraining_tp", "tf_legacy_loss", "tie_encoder_decoder",
        "tie_weights_", "is_decoder", "afn", "nf", "n_special", "predict_special_tokens", "ep_size", "use_flash_attn"}},
      {"they belong to heads for other tasks than modelling language",
       {"id2label", "label2id", "num_labels", "problem_type", "classifier_dropout", "qa_dropout", "seq_classif_dropout",
        "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout",
        "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"}},
      {"its two products are made either way; only where ranks of a tensor group fuse their sums would it save one of "
       "two "
       "all-reduces",
       {"use_parallel_residual"}},
      {"with `sliding_window`, which is read, they say which layers have one",
       {"use_sliding_window", "max_window_layers", "layer_types", "sliding_window", "sliding_window_pattern"}},
      {"files carry them, but the family's class does nothing with them",
       {"activation_dropout", "output_past", "max_sequence_length"}},
      {"it is the sum of the two widths that are read", {"qk_head_dim"}},
  };
  return groups;
}

std::string_view why_harmless(std::string_view key) {
  for (const HarmlessKeys& group : harmless_keys())
    if (std::find(group.keys.begin(), group.keys.end(), key) != group.keys.end()) return group.why;
  return {};
}

std::span<const CostlyKey> costly_keys() {
  constexpr std::string_view kQuantised = "weights are stored, and products done, in fewer bits";
  constexpr std::string_view kWindow = "attention sees a part of the sequence only";
  constexpr std::string_view kSparse = "attention visits only the tokens that an index picks";
  constexpr std::string_view kCross = "layers attend to a second sequence, too";
  constexpr std::string_view kExperts = "feed-forward networks are mixtures of experts";
  constexpr std::string_view kDense = "some of the layers have no mixture of experts";
  constexpr std::string_view kShared = "further experts are visited by every token";
  constexpr std::string_view kLatent = "keys and values come from a narrow latent";
  constexpr std::string_view kNorms = "queries and keys have norms of their own";
  constexpr std::string_view kTable = "tokens have a table of another width, and products lead from it and back";
  constexpr std::string_view kAlibi = "scores have distances added to them, and fused attention may not apply";
  constexpr std::string_view kMixers = "some of the layers mix tokens by something else than attention";
  constexpr std::string_view kOtherTower = "the model has a part that reads something else than text";
  constexpr std::string_view kDrop = "some of the layers are left out, at random or for good";
  constexpr std::string_view kParallel = "attention and feed-forward network share an input, and perhaps a norm";
  constexpr std::string_view kGrouped = "query heads share their keys and values";
  static constexpr std::array kKeys = std::to_array<CostlyKey>({
      {"quantization_config", Inactive::kNull, false, kQuantised},
      {"compression_config", Inactive::kNull, false, kQuantised},
      {"load_in_8bit", Inactive::kFalse, false, kQuantised},
      {"load_in_4bit", Inactive::kFalse, false, kQuantised},
      {"attention_chunk_size", Inactive::kFalse, false, kWindow},
      {"attention_window", Inactive::kEmpty, false, kWindow},
      {"window_size", Inactive::kFalse, false, kWindow},
      {"local_attention_window", Inactive::kFalse, false, kWindow},
      {"index_topk", Inactive::kFalse, false, kSparse},
      {"index_n_heads", Inactive::kFalse, false, kSparse},
      {"index_head_dim", Inactive::kFalse, false, kSparse},
      {"num_nextn_predict_layers", Inactive::kFalse, true, "further layers predict tokens beyond the next"},
      {"mtp_num_layers", Inactive::kFalse, true, "further layers predict tokens beyond the next"},
      {"word_embed_proj_dim", Inactive::kHidden, true, kTable},
      {"embedding_size", Inactive::kHidden, true, kTable},
      {"is_encoder_decoder", Inactive::kFalse, false, kCross},
      {"add_cross_attention", Inactive::kFalse, false, kCross},
      {"cross_attention_hidden_size", Inactive::kNull, false, kCross},
      {"cross_attention_layers", Inactive::kEmpty, false, kCross},
      {"cross_attention_freq", Inactive::kFalse, false, kCross},
      {"num_local_experts", Inactive::kFalse, false, kExperts},
      {"n_routed_experts", Inactive::kFalse, false, kExperts},
      {"num_experts", Inactive::kFalse, false, kExperts},
      {"moe_num_experts", Inactive::kFalse, false, kExperts},
      {"moe_config", Inactive::kEmpty, false, kExperts},
      {"n_shared_experts", Inactive::kFalse, false, kShared},
      {"num_shared_experts", Inactive::kFalse, false, kShared},
      {"shared_expert_intermediate_size", Inactive::kFalse, false, kShared},
      {"shared_intermediate_size", Inactive::kFalse, false, kShared},
      {"first_k_dense_replace", Inactive::kFalse, false, kDense},
      {"mlp_only_layers", Inactive::kEmpty, false, kDense},
      {"decoder_sparse_step", Inactive::kOne, false, kDense},
      {"moe_layer_freq", Inactive::kOne, false, kDense},
      {"interleave_moe_layer_step", Inactive::kOne, false, kDense},
      {"kv_lora_rank", Inactive::kFalse, false, kLatent},
      {"q_lora_rank", Inactive::kFalse, false, kLatent},
      {"num_kv_shared_layers", Inactive::kFalse, false, "some of the layers use the keys and values of others"},
      {"num_key_value_heads", Inactive::kHeads, false, kGrouped},
      {"num_kv_heads", Inactive::kHeads, false, kGrouped},
      {"multi_query", Inactive::kFalse, false, kGrouped},
      {"multi_query_attention", Inactive::kFalse, false, kGrouped},
      {"use_qk_norm", Inactive::kFalse, false, kNorms},
      {"qk_norm", Inactive::kFalse, false, kNorms},
      {"qk_layernorm", Inactive::kFalse, false, kNorms},
      {"alibi", Inactive::kFalse, false, kAlibi},
      {"use_alibi", Inactive::kFalse, false, kAlibi},
      {"position_embedding_type", Inactive::kAbsolute, false, "scores have a term for the distance of tokens"},
      {"parallel_attn", Inactive::kFalse, false, kParallel},
      {"use_bidirectional_attention", Inactive::kFalse, false, "tokens attend to those after them, too"},
      {"layerdrop", Inactive::kFalse, false, kDrop},
      {"pruned_heads", Inactive::kEmpty, false, "some of the heads are gone"},
      {"attn_layer_period", Inactive::kOne, false, kMixers},
      {"linear_attn_config", Inactive::kNull, false, kMixers},
      {"hybrid_override_pattern", Inactive::kEmpty, false, kMixers},
      {"ssm_cfg", Inactive::kEmpty, false, kMixers},
      {"vision_config", Inactive::kEmpty, true, kOtherTower},
      {"audio_config", Inactive::kEmpty, true, kOtherTower},
      {"speech_config", Inactive::kEmpty, true, kOtherTower},
      {"speculators_config", Inactive::kEmpty, true, "a second model drafts tokens"},
  });
  return kKeys;
}

const CostlyKey* find_costly_key(std::string_view key) {
  const auto keys = costly_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const CostlyKey& known) { return known.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace orrery::formats::huggingface
