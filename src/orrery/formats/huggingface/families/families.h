// The families of models whose config.json is understood, one function each. What a key's absence means is what the
// family's configuration class in `transformers` has; what follows from its code alone stands here.
#pragma once

#include "orrery/formats/huggingface/families/config_reading.h"

namespace orrery::formats::huggingface {

// encoders.cc
void read_bert(Reading& r);
void read_roberta(Reading& r);
void read_albert(Reading& r);
void read_distilbert(Reading& r);
void read_electra(Reading& r);
void read_modernbert(Reading& r);

// gpt.cc: decoders of before Llama
void read_gpt2(Reading& r);
void read_gptj(Reading& r);
void read_openai_gpt(Reading& r);
void read_ctrl(Reading& r);
void read_gpt_neo(Reading& r);
void read_biogpt(Reading& r);
void read_gpt_bigcode(Reading& r);
void read_gpt_neox(Reading& r);
void read_opt(Reading& r);
void read_bloom(Reading& r);
void read_falcon(Reading& r);
void read_mpt(Reading& r);
void read_phi(Reading& r);

// llama.cc: dense decoders of Llama's kind
void read_smollm3(Reading& r);
void read_apertus(Reading& r);
void read_nemotron_nas(Reading& r);
void read_bitnet(Reading& r);
void read_molmo2(Reading& r);

// mixtures.cc
void read_qwen2_moe(Reading& r);
void read_gpt_oss(Reading& r);
void read_llama4(Reading& r);
void read_deepseek_v2(Reading& r);
void read_deepseek_v3(Reading& r);
void read_deepseek_v32(Reading& r);
void read_glm_moe_dsa(Reading& r);
void read_hy_v4(Reading& r);
void read_glm4_moe_lite(Reading& r);
void read_glm4_moe(Reading& r);
void read_ernie4_5_moe(Reading& r);

// younger_mixtures.cc
void read_minimax_m2(Reading& r);
void read_minimax_m3(Reading& r);
void read_hunyuan_moe(Reading& r);
void read_longcat(Reading& r);
void read_mimo_v2_flash(Reading& r);
void read_step3p5(Reading& r);
void read_bailing_moe(Reading& r);

// newest_mixtures.cc
void read_laguna(Reading& r);
void read_beam(Reading& r);
void read_muse_spark(Reading& r);
void read_dbrx(Reading& r);

// deepseek_v4.cc
void read_deepseek_v4(Reading& r);

// gemmas.cc
void read_gemma3n(Reading& r);
void read_gemma4(Reading& r);

// hybrids.cc: attention and Mamba-2
void read_nemotron_h(Reading& r);
void read_granite_hybrid(Reading& r);
void read_falcon_h1(Reading& r);

// younger_hybrids.cc
void read_bamba(Reading& r);
void read_olmo_hybrid(Reading& r);
void read_lfm3(Reading& r);
void read_lara_mini(Reading& r);
void read_recurrent_gemma(Reading& r);
void read_rwkv(Reading& r);

// scans.cc: Mamba
void read_mamba(Reading& r);
void read_mamba2(Reading& r);
void read_jamba(Reading& r);

// channel_deltas.cc
void read_kimi_linear(Reading& r);
void read_bailing_hybrid(Reading& r);

// recurrences.cc: layers that are not attention
void read_lfm2(Reading& r);
void read_lfm2_moe(Reading& r);
void read_minimax(Reading& r);
void read_qwen3_next(Reading& r);
void read_qwen3_5(Reading& r);
void read_qwen3_5_moe(Reading& r);

// two_stacks.cc: encoder and decoder, and what reads no text
void read_t5(Reading& r);
void read_bart(Reading& r);
void read_whisper(Reading& r);
void read_vit(Reading& r);

}  // namespace orrery::formats::huggingface
