#!/usr/bin/env python3
"""Calculon's error on the measured runs of catalog/validation that it can describe.

    calculon_rows.py CALCULON      a checkout of github.com/calculon-ai/calculon (measured: its main branch of November 2026)

Prints for each table the mean magnitude of predicted / measured - 1 in percent and the number of rows: what the tables'
`# calculon:` lines say. Rows that it can describe: plain attention heads and a feed-forward network of two matrices on
A100 or H100, in 16 bits or, on H100, in 8; sequences up to 2,048 tokens where attention is fused, which it does not know; ZeRO as its optimiser sharding; gradients overlapped where the row says so; its
memory limit lifted, since it has no sharded weights. Its own system files, unchanged but for that.
"""

import csv
import glob
import json
import logging
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sizes(row):
    """Hidden, layers, heads, sequence, feed-forward width and vocabulary of a row's model; None where it is not plain."""
    with open(os.path.join(ROOT, "catalog/models", row["model"] + ".json")) as file:
        config = json.load(file)
    hidden = int(row.get("model.hidden") or config.get("n_embd") or config.get("hidden_size") or 0)
    layers = int(row.get("model.layers") or config.get("n_layer") or config.get("num_hidden_layers") or 0)
    heads = int(row.get("model.heads") or config.get("n_head") or config.get("num_attention_heads") or 0)
    grouped = row.get("model.kv_heads") or config.get("num_key_value_heads")
    if config.get("model_type") not in ("gpt2",) or grouped or not hidden:
        return None
    seq = int(row.get("model.seq") or config.get("_sequence") or config.get("n_positions") or 2048)
    return {"hidden": hidden, "feedforward": 4 * hidden, "seq_size": seq, "attn_heads": heads,
            "attn_size": hidden // heads, "num_blocks": layers}


def execution(row, eight_bits):
    number = lambda name: int(row.get("plan." + name) or 1)
    overlap = lambda name: row.get("plan.overlap." + name) not in (None, "", "0")
    split = row.get("plan.sequence_parallel") == "true" and number("tp") > 1
    return {"num_procs": number("gpus"), "tensor_par": number("tp"), "pipeline_par": number("pp"),
            "data_par": number("dp"), "tensor_par_net": 0 if number("tp") <= 8 else 1,
            "pipeline_par_net": 0 if number("gpus") <= 8 else 1, "data_par_net": 0 if number("gpus") <= 8 else 1,
            "batch_size": number("global_batch"), "microbatch_size": number("micro_batch"),
            "datatype": "float8" if eight_bits else "float16", "fused_activation": True, "attention_type": "multihead",
            "activation_recompute": {"full": "full", "selective": "attn_only"}.get(row.get("plan.recompute"), "none"),
            "pipeline_interleaving": number("interleave"),
            "optimizer_sharding": (row.get("plan.zero") or "0") != "0" and number("dp") > 1,
            "tensor_par_comm_type": "rs_ag" if split else "ar",
            "tensor_par_overlap": "ring" if overlap("tp") and split else "none", "seq_par_ag_redo": False,
            "data_par_overlap": overlap("dp") and number("dp") > 1, "weight_offload": False,
            "activations_offload": False, "optimizer_offload": False, "training": True}


def seconds(row):
    """Measured seconds of an iteration; None for other measures."""
    value = float(row["value"])
    if row["measure"] == "iteration_s":
        return value
    if row["measure"] == "tokens_per_s":
        return int(row["plan.global_batch"]) * int(row["model.seq"]) / value
    return None


def main():
    sys.path.insert(0, sys.argv[1])
    from calculon import System
    from calculon.llm import Llm
    logger = logging.getLogger("quiet")
    logger.setLevel(logging.CRITICAL)
    for path in sorted(glob.glob(os.path.join(ROOT, "catalog/validation/*.csv"))):
        with open(path) as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            errors = []
            for row in rows:
                hopper = "h100" in row["system"]
                eight = row.get("plan.precision") == "fp8"
                if not hopper and "a100" not in row["system"] or eight and not hopper or row["use"] == "unverified":
                    continue
                app, measured = sizes(row), seconds(row)
                if app is None or app["seq_size"] > 2048 and row.get("model.attention") == "flash":
                    continue
                if measured is None or (row.get("plan.cp") or "1") != "1":
                    continue
                name = "h100_80g_nvl8" if hopper else "a100_80g"
                with open(os.path.join(sys.argv[1], "systems", name + ".json")) as file_of_system:
                    system = json.load(file_of_system)
                system["mem1"]["GiB"] = 1 << 20
                try:
                    model = Llm(Llm.Application(app), logger)
                    machine = System(system)
                    model.compile(machine, Llm.Execution.from_json(execution(row, eight)))
                    model.run(machine)
                    errors.append(abs(model.get_total_time() / measured - 1))
                except (Llm.Error, AssertionError):
                    continue
        if errors:
            print(f"{os.path.basename(path)[:-4]}: {100 * sum(errors) / len(errors):.1f} ({len(errors)})")


if __name__ == "__main__":
    main()
