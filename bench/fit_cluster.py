#!/usr/bin/env python3
"""Fits constants of training's software and chips together, and says what a source is predicted within that had no part.

    fit_cluster.py ORRERY CATALOG [--try NAME=VALUE]... [--fit NAME,NAME...] [--hold POINTS] [--out]

Idea: the tables of catalog/validation are predicted with a copy of CATALOG whose constants are changed. The error of a
set of constants is mean |log(predicted / measured)| of a source's rows, averaged over the sources: one counts as much as
another, whatever its rows. Coordinate descent with steps of 8, 4, 2 and 1 % finds the constants; `--out` does so again
with each source left out and predicts that one. `--hold 0.5`: no table may get worse by more than half a point. `--try` only sets constants and prints. Tables of A100's older software
are predicted but left out of the descent: the constants of vtrain-a100 are calibrate_test's.

Cost: a prediction of all tables is 0.2 s, a descent about a minute, `--out` one descent a source.
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

# A publication each: its tables, by the beginning of their names.
SOURCES = {
    "llm-foundry": ("llmfoundry",), "NeMo": ("nemo_", "dgxc2024"), "torchtitan": ("torchtitan",), "MaxText": ("maxtext",),
    "FlashAttention 2": ("flashattention2",), "Modalities": ("modalities",), "DeepSeek": ("deepseek",),
    "AutoModel": ("automodel",), "torchao": ("torchao",), "torchtune": ("torchtune",), "TPU recipes": ("tpu_recipes",),
    "Megatron on H800": ("xtuner",), "Llama 3": ("llama3_",), "Nemotron": ("nemotron",), "ColossalAI": ("colossalai",),
}
# A constant: files and key, the first of that name in each.
CONSTANTS = {
    "traffic": (("stacks/pytorch-fsdp", "stacks/megatron-core", "stacks/internevo"), "traffic"),
    "compiled traffic": (("stacks/torchtitan",), "traffic"),
    "loss bytes": (("stacks/pytorch-fsdp", "stacks/megatron-core", "stacks/internevo", "stacks/xla"), "loss_bytes_per_logit"),
    "contention": (("stacks/pytorch-fsdp", "stacks/megatron-core", "stacks/internevo"), "contention"),
    "contention XLA": (("stacks/xla",), "contention"),
    "grouped fill": (("stacks/pytorch-fsdp", "stacks/megatron-core", "stacks/internevo"), "grouped_fill"),
    "flash2 H100": (("systems/h100-llama3",), "flash2"),
    "flash2 A100": (("systems/vtrain-a100",), "flash2"),
    "products Blackwell": (("systems/dgx-b200", "systems/b200-nvl72", "systems/gb300-nvl72"), "matrix_efficiency"),
    "products H100": (("systems/h100-llama3",), "matrix_efficiency"),
    "products TPU v6e": (("systems/tpu-v6e",), "matrix_efficiency"),
    "8 bits H100": (("systems/h100-llama3",), "fp8"),
    "flash2 B200": (("systems/dgx-b200",), "flash2"),
    "flash2 MI300X": (("systems/mi300x",), "flash2"),
    "stragglers": (("stacks/pytorch-fsdp", "stacks/megatron-core"), "stragglers"),
    "imbalance": (("stacks/pytorch-fsdp", "stacks/megatron-core"), "imbalance"),
}


def source_of(table):
    return next((s for s, names in SOURCES.items() if table.startswith(names)), None)


class Runs:
    def __init__(self, program, catalogue):
        self.program = program
        self.home = tempfile.mkdtemp()
        self.copy = os.path.join(self.home, "catalog")
        shutil.copytree(catalogue, self.copy)
        self.tables = [t[:-4] for t in os.listdir(catalogue + "/validation") if t.endswith(".csv") and source_of(t)]
        self.texts = {f: open("%s/%s.yaml" % (catalogue, f)).read() for files, _ in CONSTANTS.values() for f in files}
        self.known, self.hold = {}, None

    def pattern(self, key):
        last = "peak:.*?sustained:.*?\\bfp8" if key == "fp8" else "(?m:^ *)" + key
        return re.compile("(%s: \\{value: )([0-9.e-]+)" % last, re.S)

    def value(self, name):
        files, key = CONSTANTS[name]
        found = self.pattern(key).search(self.texts[files[0]])
        return float(found.group(2)) if found else None

    def errors(self, constants):
        """Signed logarithms of predicted over measured time, by table, of a dictionary of constants."""
        name = tuple(sorted(constants.items()))
        if name not in self.known:
            texts = dict(self.texts)
            for constant, value in constants.items():
                files, key = CONSTANTS[constant]
                for file in files:
                    texts[file] = self.pattern(key).sub(lambda m: m.group(1) + "%.4g" % value, texts[file], count=1)
            for file, text in texts.items():
                with open("%s/%s.yaml" % (self.copy, file), "w") as there:
                    there.write(text)
            done = subprocess.run([self.program, "validate", "train", "--all", "--json"] + self.tables, capture_output=True,
                                  text=True, env=dict(os.environ, ORRERY_CATALOG=self.copy))
            if done.returncode not in (0, 1) or not done.stdout:
                sys.exit(done.stderr)
            self.known[name] = {
                table["name"]: [(-1 if point["measure"] in ("tokens_per_s", "mfu") else 1)
                                * math.log(point["predicted"] / point["measured"]) for point in table["points"]]
                for table in json.loads(done.stdout)["result"]["sets"]}
        return self.known[name]

    def by_source(self, constants):
        found = {}
        for table, errors in self.errors(constants).items():
            found.setdefault(source_of(table), []).extend(errors)
        return found

    def goal(self, constants, without=None):
        if self.hold is not None:
            before, after = self.errors({}), self.errors(constants)
            size = lambda errors: 100 * sum(map(abs, errors)) / len(errors)
            if any(source_of(t) != without and size(after[t]) > size(before[t]) + self.hold for t in before):
                return math.inf
        means = [sum(map(abs, e)) / len(e) for s, e in self.by_source(constants).items() if s != without]
        return sum(means) / len(means)

    def descend(self, start, without=None):
        best, least = dict(start), self.goal(start, without)
        for step in (1.08, 1.04, 1.02, 1.01):
            moved = True
            while moved:
                moved = False
                for name in start:
                    for factor in (step, 1 / step):
                        while True:
                            trial = dict(best)
                            trial[name] = best[name] * factor
                            if name.startswith("contention") and trial[name] > 1:
                                break
                            got = self.goal(trial, without)
                            if got >= least - 1e-6:
                                break
                            best, least, moved = trial, got, True
        return best, least


def show(title, before, after):
    print("%-18s %5s %8s %8s %8s %8s" % (title, "rows", "before", "bias", "after", "bias"))
    percent = lambda e: (100 * sum(map(abs, e)) / len(e), 100 * sum(e) / len(e))
    for name in sorted(before):
        print("%-18s %5d %8.1f %+8.1f %8.1f %+8.1f" % ((name, len(before[name])) + percent(before[name]) + percent(after[name])))


def main():
    program, catalogue = sys.argv[1:3]
    words, tries, fit, hold, out = sys.argv[3:], {}, [], None, False
    while words:
        word = words.pop(0)
        if word == "--try":
            name, value = words.pop(0).split("=")
            tries[name] = float(value)
        elif word == "--fit":
            fit = words.pop(0).split(",")
        elif word == "--hold":
            hold = float(words.pop(0))
        elif word == "--out":
            out = True
        else:
            sys.exit(__doc__)
    runs = Runs(program, catalogue)
    runs.hold = hold
    shipped = {name: runs.value(name) for name in fit}
    start = dict(shipped, **tries)
    best, least = runs.descend({n: start[n] for n in start}, None) if fit else (start, runs.goal(start))
    show("source", runs.by_source({}), runs.by_source(best))
    show("table", runs.errors({}), runs.errors(best))
    print("by source: shipped %.2f, found %.2f" % (100 * runs.goal({}), 100 * least))
    for name in best:
        print("  %-18s %8s -> %.4g" % (name, runs.value(name), best[name]))
    if out:
        total = []
        for source in sorted(runs.by_source({})):
            apart, _ = runs.descend(best, source)
            errors = runs.by_source(apart)[source]
            total.append(100 * sum(map(abs, errors)) / len(errors))
            print("without %-18s %5.1f  %s" % (source, total[-1], " ".join("%.4g" % apart[n] for n in apart)), flush=True)
        print("each source left out in turn: %.2f" % (sum(total) / len(total)))
    shutil.rmtree(runs.home)


main()
