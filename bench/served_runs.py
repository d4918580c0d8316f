"""Serving runs whose tables have no licence to be shipped: `orrery serve` beside what was measured.

    python3 bench/served_runs.py ORRERY GOLDENS

GOLDENS is the folder `serving` of ../shared/goldens. BLIS's runs (vLLM on H100, github inference-sim/training and
sim-to-real-accuracy-validation) are asked of the closed form: a stage each, its rate, mean lengths, the system prompt
as a cached prefix. Stages in which requests failed are left out, and counted. LLMServingSim's three runs (vLLM 0.19 on
RTX PRO 6000, 300 requests with their times) are simulated request by request.
"""
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

# What the catalogue lacks, of the published config.json.
CONFIGS = {
    "CodeLlama-34b-Instruct-hf": ("llama", 8192, 48, 64, 8, 128, 22016, 32000),
    "Mistral-Nemo-Instruct-2407": ("mistral", 5120, 40, 32, 8, 128, 14336, 131072),
    "Yi-34B": ("llama", 7168, 60, 56, 8, 128, 20480, 64000),
}
NAMES = {
    "Llama-2-7b-hf": "llama2-7b",
    "Llama-2-70b-hf": "llama2-70b",
    "Mixtral-8x7B-v0.1": "mixtral-8x7b",
    "Llama-3.1-70B-Instruct": "llama3.1-70b",
    "Llama-4-Scout-17B-16E-Instruct-FP8-dynamic": "llama4-scout",
    "Qwen2.5-7B-Instruct": "qwen2.5-7b",
}
# Their load generator (inference-perf, `shared_prefix` of 10 groups with 10 prompts, load `constant`) sends a hundred
# prompts again and again, at equal distances: prefix caching has all but the last block of each.
PROMPTS = 100
SECONDS = 120  # of a stage; theirs are ten minutes
BLOCK = 512  # tokens, of Mooncake's hashes
TRACES = (
    ("Llama-3.1-8B", "llama3.1-8b", ["--tp", "1"]),
    ("Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b", ["--tp", "1", "--dp", "2", "--ep", "2"]),
    ("Qwen3-32B", "qwen3-32b", ["--tp", "2"]),
)


def ask(orrery, *options):
    """The result, or None where the question has no answer."""
    done = subprocess.run([orrery, "serve", "--json", *options], capture_output=True, text=True, check=False)
    return json.loads(done.stdout).get("result") if done.stdout else None


def config(model, folder):
    kind, width, layers, heads, kv_heads, head, inner, words = CONFIGS[model]
    path = os.path.join(folder, model + ".json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"model_type": kind, "hidden_size": width, "num_hidden_layers": layers,
                   "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head,
                   "intermediate_size": inner, "vocab_size": words, "tie_word_embeddings": False}, out)
    return path


def stages(goldens):
    """Rows of one rate each, none twice."""
    seen = set()
    for table in ("blis_training16", "blis_trainval15"):
        with open(os.path.join(goldens, "measured", table + ".csv"), encoding="utf-8") as rows:
            for row in csv.DictReader(rows):
                key = row["ttft_mean_ms"]
                if row["request_rate_rps"] and key not in seen:
                    seen.add(key)
                    yield row


def every(rate, row, path):
    """A trace in Mooncake's format: prompts that are repeated, at equal distances."""
    tokens, answer = round(float(row["isl"])), round(float(row["osl"]))
    blocks = -(-tokens // BLOCK)
    with open(path, "w", encoding="utf-8") as out:
        for i in range(int(rate * SECONDS)):
            first = i % PROMPTS * blocks
            json.dump({"timestamp": round(1000 * i / rate), "input_length": tokens, "output_length": answer,
                       "hash_ids": list(range(first, first + blocks))}, out)
            out.write("\n")


def blis(orrery, goldens, folder):
    errors = {"ITL": [], "E2E": [], "TTFT": [], "p99 TTFT": []}
    failed = 0
    for row in stages(goldens):
        sent = re.search(r"failed (\d+)", row["notes"])
        if sent and int(sent[1]) > 0:
            failed += 1
            continue
        model = row["model"].split("/")[-1]
        path = os.path.join(folder, "stage.jsonl")
        every(float(row["request_rate_rps"]), row, path)
        said = ask(orrery, "--system", "dgx-h100", "--model", NAMES.get(model) or config(model, folder),
                   "--tp", row["tp"], "--replicas", "1", "--gpus", row["gpu_count"], "--trace", path, "--simulate",
                   "--max-batched-tokens", row["max_batched_tokens"], "--max-sequences", row["max_num_seqs"],
                   *(["--precision", "fp8"] if row["precision"] == "fp8" else []))["simulation"]
        itl = row["tpot_mean_ms"] or row["itl_mean_ms"]
        for name, predicted, measured in (("ITL", said["tpot_s"], itl), ("E2E", said["e2e_s"], row["e2e_mean_ms"]),
                                          ("TTFT", said["ttft_s"]["mean"], row["ttft_mean_ms"]),
                                          ("p99 TTFT", said["ttft_p99_s"]["value"], row["ttft_p99_ms"])):
            errors[name].append((predicted * 1e5 / float(measured) - 100, row["row_id"]))
    print(f"BLIS, vLLM on H100: {len(errors['ITL'])} stages; {failed} in which requests failed left out")
    for name, all_errors in errors.items():
        sizes = [abs(error) for error, _ in all_errors]
        print(f"  {name:8} median {statistics.median(sizes):.1f} %, signed "
              f"{statistics.median(error for error, _ in all_errors):+.1f} %")
    return errors


def traces(orrery, goldens):
    with open(os.path.join(goldens, "measured", "llmservingsim2_bench.csv"), encoding="utf-8") as rows:
        measured = {row["row_id"].split("/")[1]: row for row in csv.DictReader(rows)}
    for trace, model, options in TRACES:
        path = os.path.join(goldens, "traces", f"llmservingsim_RTXPRO6000_{trace}.jsonl")
        said = ask(orrery, "--model", model, "--system", "rtx-pro-6000", "--gpus", "2", "--replicas", "1",
                   "--max-batched-tokens", "2048", "--max-sequences", "128", "--trace", path, "--simulate", *options)
        simulated, row = said["simulation"], measured[trace]
        print(f"LLMServingSim, vLLM 0.19 on RTX PRO 6000, {trace}:", ", ".join(
            f"{name} {predicted * 1e5 / float(row[column]) - 100:+.1f} %" for name, predicted, column in (
                ("TPOT", simulated["tpot_s"], "tpot_mean_ms"), ("TTFT", simulated["ttft_s"]["mean"], "ttft_mean_ms"),
                ("p99 TTFT", simulated["ttft_p99_s"]["value"], "ttft_p99_ms"),
                ("E2E", simulated["e2e_s"], "e2e_mean_ms"))))


def main():
    orrery, goldens = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        errors = blis(orrery, goldens, folder)
    if len(sys.argv) > 3:
        for name, rows in errors.items():
            for error, row in sorted(rows):
                print(f"{name:8} {error:+7.1f} % {row}")
    traces(orrery, goldens)


if __name__ == "__main__":
    main()
