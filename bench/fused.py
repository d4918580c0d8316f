#!/usr/bin/env python3
"""fused.py ORRERY CHIP WORKLOADS [--accelforge PYTHON] [--rounds N] [--only WORD]

Maps whole blocks onto AccelForge's TPU v4i (CHIP is its tpu_v4i.yaml, WORKLOADS its folder of workloads), proven, on one
thread, with `orrery map --fuse --compat accelforge`, and prints the rows of bench/fused.md. Seconds are CPU time of the
whole process, the least of N runs (default 5); MB are its largest memory. With --accelforge the same questions go to
AccelForge, installed for that PYTHON, twice in one process: its seconds are the CPU time of the second search, without
imports and what Numba compiles in the first. --only takes the cases that have WORD in their name.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# Scores, a softmax as one step, values: 32 heads of 128.
ATTENTION = """
workload:
  rank_sizes: {M: {{SEQ}}, P: {{SEQ}}, H: 32, E: 128, F: 128}
  bits_per_value: {All: 16}
  einsums:
  - {einsum: "S[m, p, h] = Q[m, h, e] * K[M: p, h, e]", renames: {input: Q, weight: K}}
  - {einsum: "A[m, p, h] = S[m, p, h]", renames: {input: S, weight: Nothing}}
  - {einsum: "Z[m, h, f] = A[m, p, h] * V[M: p, h, E: f]", renames: {input: A, weight: V}}
renames:
  einsums:
  - {name: default, tensor_accesses: [{name: output, source: Outputs, expected_count: 1}]}
"""
PREFILL = {"BATCH_SIZE": 1, "DECODE": False}
DECODE = {"BATCH_SIZE": 1, "DECODE": True, "N_NEW_TOKENS": 1, "N_CACHED_TOKENS": 2047}
BLOCK = "transformers/gpt/gpt3_{}.yaml"
CASES = [  # name, workload, what templates know, fused loops
    ("attention, 512 tokens", None, {"SEQ": 512}, (1, 2, 3)),
    ("attention, 2,048 tokens", None, {"SEQ": 2048}, (1, 2, 3)),
    ("GPT-3 6.7B, 512 tokens", BLOCK.format("6.7B"), {**PREFILL, "N_NEW_TOKENS": 512}, (1, 2)),
    ("GPT-3 6.7B, 2,048 tokens", BLOCK.format("6.7B"), {**PREFILL, "N_NEW_TOKENS": 2048}, (1, 2)),
    ("GPT-3 175B, 2,048 tokens", BLOCK.format("175B"), {**PREFILL, "N_NEW_TOKENS": 2048}, (1, 2)),
    ("GPT-3 6.7B, decode", BLOCK.format("6.7B"), DECODE, (1, 2)),
    ("GPT-3 175B, decode", BLOCK.format("175B"), DECODE, (1, 2)),
]
THEIRS = """
import json, resource, sys, time
import accelforge as af
from accelforge.util.parallel import set_n_parallel_jobs
set_n_parallel_jobs(1)
chip, work, loops, names = sys.argv[1:]
for _ in range(2):
    spec = af.Spec.from_yaml(chip, work, jinja_parse_data=json.loads(names))
    spec.mapper.metrics = af.Metrics.ENERGY_DELAY_PRODUCT
    spec.mapper.max_fused_loops = int(loops)
    begin = time.process_time()
    found = spec.map_workload_to_arch()
    seconds = time.process_time() - begin
print("\\nFOUND", seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, found.energy(), found.latency())
"""


def ours(args, work, names, loops):
    command = [args.orrery, "map", "--fuse", "--compat", "accelforge", args.chip, work, "--fused-loops", str(loops), "-j", "1", "--json"]
    for name, value in names.items():
        command += ["--define", f"{name}={value}"]
    best = float("inf")
    for _ in range(args.rounds):
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            if status:
                sys.exit(f"{' '.join(command)}: status {status}")
            out.seek(0)
            answer = json.load(out)
        best = min(best, used.ru_utime + used.ru_stime)
    if not answer["certificate"]["optimal"]:
        sys.exit(f"{' '.join(command)}: not proven")
    fused = answer["result"]["fused"]
    return best, used.ru_maxrss / 1024, fused["energy"], fused["latency"]


def theirs(args, work, names, loops):
    run = subprocess.run([args.accelforge, "-c", THEIRS, args.chip, work, str(loops), json.dumps(names)], capture_output=True, text=True)
    found = re.search(r"^FOUND (\S+) (\S+) (\S+) (\S+)$", run.stdout, re.M)
    if not found:
        sys.exit(run.stderr[-2000:])
    return tuple(float(word) for word in found.groups())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("orrery")
    parser.add_argument("chip")
    parser.add_argument("workloads")
    parser.add_argument("--accelforge")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print("| block | loops | energy, J | latency, s | s | MB | AccelForge, s | MB | differs by |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        attention = os.path.join(folder, "attention.yaml")
        with open(attention, "w") as file:
            file.write(ATTENTION)
        for name, work, names, loops in CASES:
            for most in loops if args.only in name else ():
                path = os.path.join(args.workloads, work) if work else attention
                seconds, memory, energy, latency = ours(args, path, names, most)
                row = f"| {name} | {most} | {energy:.7g} | {latency:.7g} | {seconds:.3f} | {memory:.0f} |"
                if args.accelforge:
                    their_seconds, their_memory, *figures = theirs(args, path, names, most)
                    off = max(abs(a / b - 1) for a, b in zip(figures, (energy, latency)))
                    row += f" {their_seconds:.1f} | {their_memory:.0f} | {off:.1e} |"
                else:
                    row += " - | - | - |"
                print(row, flush=True)


if __name__ == "__main__":
    main()
