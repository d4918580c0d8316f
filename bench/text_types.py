#!/usr/bin/env python3
"""Counts every type that transformers generates text with, at its class's own sizes: tests/data/text_types.jsonl.

    bench/text_types.py tests/data/text_types.jsonl [TYPE...]

A line a type, sorted: the class, the parameters of its language model (tables, layers, logits; on the meta device),
and where PyTorch's FlopCounterMode counts a forward pass of 512 tokens there, its FLOP a token and the elements that
a token adds to the caches. `config` is what the class writes, without what says nothing of sizes. Types whose class
does not come about by its own sizes are lent the few that SIZES names, or have an `error`. Needs transformers 5.24 and
torch; the test that reads the file needs neither (src/orrery/formats/huggingface/text_types_test.cc).
"""
import json
import os
import signal
import sys
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.auto import configuration_auto, modeling_auto

TOKENS = 512
# What the classes lack of their own: a width of heads that they would divide by, or a list of layers.
SIZES = {
    "nemotron": {"num_key_value_heads": 48},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "chameleon": {"vocabulary_map": {"<image>": 5}},
    "dbrx": {"attn_config.rope_theta": 500000.0},
    "cohere_compass_text": {"rope_parameters": {kind: {"rope_type": "default", "rope_theta": 50000.0}
                                                for kind in ("full_attention", "sliding_attention")}},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "reformer": {"is_decoder": True},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8},
    "dots1": {"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6},
}
SMALL = {"hidden_size": 60, "num_hidden_layers": 5, "num_attention_heads": 6, "intermediate_size": 137,
         "vocab_size": 1003, "num_key_value_heads": 2, "pad_token_id": None}
EXPERTS = {"num_experts_per_tok": 3, "moe_intermediate_size": 53}
DELTAS = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 10,
          "linear_value_head_dim": 12}
LATENTS = {"kv_lora_rank": 18, "qk_rope_head_dim": 6, "qk_nope_head_dim": 10, "v_head_dim": 14}
# Awkward sizes, by which a rule that takes one size for another gives itself away; rows of their own, "TYPE varied".
VARIED = {
    "afmoe": {**SMALL, **EXPERTS, "head_dim": 14, "num_experts": 5, "num_dense_layers": 2, "num_shared_experts": 2,
              "attention_bias": True},
    "bailing_hybrid": {**SMALL, **LATENTS, "head_dim": 14, "num_experts": 8, "num_experts_per_token": 3,
                       "moe_intermediate_size": 53, "num_expert_group": 2, "topk_group": 2, "layer_group_size": 3,
                       "first_k_dense_replace": 1, "num_shared_experts": 2},
    "bamba": {**SMALL, "attn_layer_indices": [1, 3], "mamba_n_heads": 6, "mamba_d_head": 20, "mamba_d_state": 10,
              "mamba_n_groups": 2, "mamba_proj_bias": True, "attention_bias": True, "mlp_bias": True},
    "beam": {**SMALL, **EXPERTS, "head_dim": 14, "num_experts": 8, "n_group": 2, "topk_group": 2,
             "attention_bias": True},
    "biogpt": {**SMALL, "num_key_value_heads": None, "max_position_embeddings": 600},
    "bitnet": SMALL,
    "falcon_mamba": {"hidden_size": 60, "num_hidden_layers": 5, "vocab_size": 1003, "state_size": 10, "expand": 3,
                     "time_step_rank": 7, "use_bias": True},
    "gpt_neo": {"hidden_size": 60, "num_layers": 6, "num_heads": 6, "vocab_size": 1003, "intermediate_size": 137,
                "attention_types": [[["global", "local"], 3]], "max_position_embeddings": 600},
    "hy_v4": {**SMALL, **EXPERTS, **LATENTS, "n_routed_experts": 8, "index_n_heads": 4, "index_head_dim": 12,
              "index_topk": 100, "q_lora_rank": 22, "hc_mult": 3},
    "jamba": {**SMALL, "num_experts": 4, "num_experts_per_tok": 2, "attn_layer_period": 3, "attn_layer_offset": 1,
              "mamba_dt_rank": 7},
    "laguna": {**SMALL, **EXPERTS, "head_dim": 14, "num_attention_heads_per_layer": [6, 8, 6, 8, 8],
               "layer_types": ["full_attention", "sliding_attention"] * 2 + ["sliding_attention"], "num_experts": 5,
               "shared_expert_intermediate_size": 71, "gating": "per-element", "attention_bias": True,
               "sliding_window": 100},
    "lara_mini": {**SMALL, **EXPERTS, **DELTAS, "head_dim": 14, "num_experts": 5,
                  "shared_expert_intermediate_size": 71},
    "lfm3": {**SMALL, "head_dim": 14, "use_sandwich_norm": False, "conv_bias": True, "conv_L_cache": 4,
             "sliding_window": 100},
    "olmo_hybrid": {**SMALL, **DELTAS},
    "recurrent_gemma": {**SMALL, "lru_width": 66, "intermediate_size": 138, "attention_bias": True,
                        "attention_window_size": 100},
    "rwkv": {"hidden_size": 60, "num_hidden_layers": 5, "attention_hidden_size": 44, "intermediate_size": 137,
             "vocab_size": 1003},
}
# Of every configuration, whatever the family.
SAYS_NOTHING = set(transformers.PretrainedConfig().to_dict()) - {"tie_word_embeddings"} | {
    "id2label", "label2id", "initializer_range", "rope_parameters", "rope_scaling", "bos_token_id", "eos_token_id",
    "pad_token_id", "use_cache", "transformers_version", "dtype", "architectures"}


def text_part(model):
    """The parameters of the tables, the layers and the logits, each once."""
    parts = {}
    for name in ("get_decoder", "get_output_embeddings", "get_input_embeddings"):
        try:
            part = getattr(model, name)()
        except (AttributeError, NotImplementedError):
            part = None
        if part is not None:
            parts.update((id(p), p.numel()) for p in part.parameters())
    for name, part in model.named_parameters():
        if ".vqmodel." in name:  # Chameleon's, inside of its decoder
            parts.pop(id(part), None)
    return sum(parts.values())


def sized(config):
    return {k: v for k, v in config.get_text_config().to_dict().items()
            if k not in SAYS_NOTHING or k == "model_type"}


def cache_elements(cache):
    """What a token adds, over all layers: heads by widths of keys and values."""
    total = 0
    for layer in cache.layers:
        for part in (layer.keys, layer.values):
            total += part.shape[1] * part.shape[3]
        index = getattr(layer, "indexer_keys", None)
        total += index.shape[-1] if index is not None else 0
    return total


def forward(model, config, row):
    """FLOP and caches of a forward pass, where the class can run on the meta device and nothing in it scans."""
    with torch.device("meta"):
        tokens = torch.zeros(1, TOKENS, dtype=torch.long)
    with torch.no_grad(), FlopCounterMode(display=False) as counted:
        out = model(input_ids=tokens, use_cache=True)
    row["flop"] = counted.get_total_flops() / TOKENS
    cache = getattr(out, "past_key_values", None)
    if cache is not None and all(getattr(x, "keys", None) is not None for x in cache.layers):
        row["cache"] = cache_elements(cache)


def count(kind, name, sizes):
    row = {"type": kind + " varied" if sizes else kind, "class": name}
    model_class = getattr(transformers, name)
    config = getattr(transformers, configuration_auto.CONFIG_MAPPING_NAMES[kind])(**sizes)
    outer = config
    text_class = getattr(model_class, "config_class", None)
    if text_class is not None and type(config) is not text_class and type(config.get_text_config()) is text_class:
        config = config.get_text_config()
    for key, value in SIZES.get(kind, {}).items():
        *inside, last = key.split(".")
        part = config.get_text_config()
        for name in inside:
            part = getattr(part, name)
        setattr(part, last, value)
    row["config"] = sized(config)
    if config.get_text_config() is not outer:
        said = {key: getattr(outer, key) for key in ("tie_word_embeddings",) if hasattr(outer, key)}
        row["config"] = {"model_type": kind, **said, "text_config": row["config"]}
    try:
        with torch.device("meta"):
            model = model_class(config).eval()
    except Exception as error:  # a class that does not come about by its own sizes
        row["error"] = f"{type(error).__name__}: {error}"[:120]
        return row
    alone = config is config.get_text_config() and not hasattr(config, "vq_config")
    row["parameters"] = sum(p.numel() for p in model.parameters()) if alone else text_part(model)
    try:
        config.get_text_config()._experts_implementation = "batched_mm"
        forward(model, config, row)
    except Exception as error:  # whatever a class cannot do on the meta device
        row["not_run"] = f"{type(error).__name__}: {error}"[:120]
    return row


def main(path, wanted):
    names = {"whisper": "WhisperForConditionalGeneration"}  # listed with sound
    for mapping in ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
                    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES"):
        for kind, name in getattr(modeling_auto, mapping).items():
            names.setdefault(kind, name if isinstance(name, str) else name[0])

    def late(*_):
        raise TimeoutError("two minutes")

    signal.signal(signal.SIGALRM, late)
    rows = {}
    if wanted and os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            rows = {row["type"]: row for row in map(json.loads, old)}
    for kind in wanted or names:
        for sizes in ({}, VARIED.get(kind)):
            if sizes is None:
                continue
            signal.alarm(120)
            try:
                row = count(kind, names[kind], sizes)
            except Exception as error:
                row = {"type": kind, "class": names[kind], "error": f"{type(error).__name__}: {error}"[:120]}
            signal.alarm(0)
            rows[row["type"]] = row
            print({k: v for k, v in row.items() if k != "config"}, file=sys.stderr, flush=True)
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(rows[key], default=str) + "\n" for key in sorted(rows))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
