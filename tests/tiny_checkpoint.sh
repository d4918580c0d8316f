#!/usr/bin/env bash
# tiny_checkpoint.sh bert|gpt2|bart DIR [NAME ROWS COLUMNS]: a model's folder for the tests of the program: config.json, vocab.txt
# (five special tokens and w0 to w18), model.safetensors with numbers in bf16 that are the same every time, between 1/16 and 1/4 in
# size; with one tensor more.
set -euo pipefail
family=$1 folder=$2 more=("${@:3}")
mkdir -p "$folder"
width=16 inner=32 words=24 positions=32

printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' w{0..18} >"$folder/vocab.txt"
common='"vocab_size": 24, "pad_token_id": 0'
case $family in
  bert) printf '{"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 16, "num_hidden_layers": 1,
 "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 32, "type_vocab_size": 2, %s}\n' "$common" ;;
  gpt2) printf '{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 16, "n_layer": 1, "n_head": 2,
 "n_positions": 32, "n_inner": 32, "bos_token_id": 2, "eos_token_id": 3, %s}\n' "$common" ;;
  bart) printf '{"model_type": "bart", "architectures": ["BartForConditionalGeneration"], "d_model": 16, "encoder_layers": 1,
 "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
 "max_position_embeddings": 32, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3, %s}\n' "$common" ;;
esac >"$folder/config.json"

header='' count=0
# tensor NAME ROWS [COLUMNS]
tensor() {
  local size=$(($2 * ${3:-1}))
  header+="${header:+,}\"$1\":{\"dtype\":\"BF16\",\"shape\":[$2${3:+,$3}],\"data_offsets\":[$((2 * count)),$((2 * (count + size)))]}"
  count=$((count + size))
}
# linear NAME OUTPUTS INPUTS
linear() { tensor "$1.weight" "$2" "$3" && tensor "$1.bias" "$2"; }
norm() { tensor "$1.weight" $width && tensor "$1.bias" $width; }
case $family in
  bert)
    e=bert.embeddings l=bert.encoder.layer.0
    tensor $e.word_embeddings.weight $words $width
    tensor $e.position_embeddings.weight $positions $width
    tensor $e.token_type_embeddings.weight 2 $width
    norm $e.LayerNorm
    for part in query key value; do linear $l.attention.self.$part $width $width; done
    linear $l.attention.output.dense $width $width
    norm $l.attention.output.LayerNorm
    linear $l.intermediate.dense $inner $width
    linear $l.output.dense $width $inner
    norm $l.output.LayerNorm
    linear bert.pooler.dense $width $width
    linear cls.predictions.transform.dense $width $width
    norm cls.predictions.transform.LayerNorm
    tensor cls.predictions.bias $words
    ;;
  gpt2) # its maps are stored [inputs][outputs]
    l=transformer.h.0
    tensor transformer.wte.weight $words $width
    tensor transformer.wpe.weight $positions $width
    norm $l.ln_1
    tensor $l.attn.c_attn.weight $width $((3 * width)) && tensor $l.attn.c_attn.bias $((3 * width))
    tensor $l.attn.c_proj.weight $width $width && tensor $l.attn.c_proj.bias $width
    norm $l.ln_2
    tensor $l.mlp.c_fc.weight $width $inner && tensor $l.mlp.c_fc.bias $inner
    tensor $l.mlp.c_proj.weight $inner $width && tensor $l.mlp.c_proj.bias $width
    norm transformer.ln_f
    ;;
  bart)
    tensor model.shared.weight $words $width
    for stack in encoder decoder; do
      l=model.$stack.layers.0
      tensor model.$stack.embed_positions.weight $((positions + 2)) $width
      norm model.$stack.layernorm_embedding
      attentions=(self_attn)
      [[ $stack == encoder ]] || attentions+=(encoder_attn)
      for attention in "${attentions[@]}"; do
        for part in k_proj v_proj q_proj out_proj; do linear "$l.$attention.$part" $width $width; done
        norm "$l.${attention}_layer_norm"
      done
      linear $l.fc1 $inner $width
      linear $l.fc2 $width $inner
      norm $l.final_layer_norm
    done
    tensor final_logits_bias 1 $words
    ;;
esac
((${#more[@]} == 0)) || tensor "${more[@]}"

header="{$header}"
while ((${#header} % 8)); do header+=' '; done
bytes() { # VALUE COUNT: little-endian
  local i
  for ((i = 0; i < $2; ++i)); do printf '%b' "\\x$(printf '%02x' $(($1 >> 8 * i & 255)))"; done
}
{
  bytes ${#header} 8
  printf '%s' "$header"
  # A random sequence (modulo 2^31, as the C standard's rand()): sign, exponent of 2^-4 or 2^-3, seven bits.
  state=1 text=
  for ((i = 0; i < count; ++i)); do
    state=$((state * 1103515245 + 12345 & 0x7fffffff))
    value=$(((state >> 30 & 1) << 15 | (0x3d80 + (state >> 16 & 0xff))))
    printf -v text '%s\\x%02x\\x%02x' "$text" $((value & 255)) $((value >> 8))
    ((i % 512)) || { printf '%b' "$text" && text=; }
  done
  printf '%b' "$text"
} >"$folder/model.safetensors"
