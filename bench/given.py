#!/usr/bin/env python3
"""Errors on given runs: what their source measured, what `orrery train` says today, what it said at first sight.

    given.py ORRERY FOLDER [--stack SOURCE=NAME]... [--set PATH=VALUE]...
             [--set-in BEGINNING:PATH=VALUE]... [--all]

FOLDER has runs.csv (a run each) and first_sight.csv (its command, what was measured, what was first predicted). Errors are
predicted / measured - 1 of the time, in percent. `kept`: of how many runs it is within the expected error that is printed
with the prediction. `--stack` puts the runs of a source on other software than their command names, `--set` is added to
every command, `--set-in BEGINNING:PATH=VALUE` to those whose "source row" begins so. Cost: 16 ms a run.
"""

import csv
import json
import os
import shlex
import subprocess
import sys


def main():
    program, folder = sys.argv[1:3]
    words, stacks, more, some, everything = sys.argv[3:], {}, [], [], False
    while words:
        word = words.pop(0)
        if word == "--stack":
            source, name = words.pop(0).split("=")
            stacks[source] = name
        elif word == "--set":
            more += ["--set", words.pop(0)]
        elif word == "--set-in":
            some.append(words.pop(0).split(":", 1))
        elif word == "--all":
            everything = True
        else:
            sys.exit(__doc__)
    with open(os.path.join(folder, "runs.csv")) as file:
        runs = {(run["source"], run["row"]): run for run in csv.DictReader(file)}
    with open(os.path.join(folder, "first_sight.csv")) as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        here = found.setdefault(row["source"], {"rows": 0, "now": [], "first": [], "kept": 0})
        here["rows"] += 1
        if row["quality"] != "B" or not row["measured_tok_s_gpu"]:
            continue
        command = shlex.split(row["command"])
        if row["source"] in stacks:
            command[command.index("--stack") + 1] = stacks[row["source"]]
        for beginning, setting in some:
            if ("%s %s" % (row["source"], row["row"])).startswith(beginning):
                command += ["--set", setting]
        answer = subprocess.run([program] + command + more, capture_output=True, text=True)
        if not answer.stdout:
            print("%s, %s: %s" % (row["source"], row["row"], answer.stderr.split("\n")[0]))
            continue
        result = json.loads(answer.stdout)["result"]
        run = runs[row["source"], row["row"]]
        tokens = float(run["global_batch"]) * float(run["seq"]) / float(row["count"])
        error = 100 * (result["iteration_s"] * float(row["measured_tok_s_gpu"]) / tokens - 1)
        here["now"].append(error)
        here["first"].append(float(row["time_error_pct"]))
        here["kept"] += abs(error) <= (result.get("expected_error_percent") or 0)
        if everything:
            print("%-12s %-44s %+7.1f" % (row["source"], row["row"][:44], error))
    mean = lambda errors: sum(map(abs, errors)) / len(errors)
    bias = lambda errors: sum(errors) / len(errors)
    print("%-12s %5s %9s %7s %7s %9s %7s %6s" % ("source", "runs", "predicted", "error", "bias", "at first", "bias", "kept"))
    measured = {source: here for source, here in found.items() if here["now"]}
    for source, here in measured.items():
        print("%-12s %5d %9d %7.1f %+7.1f %9.1f %+7.1f %5.0f%%" % (
            source, here["rows"], len(here["now"]), mean(here["now"]), bias(here["now"]), mean(here["first"]), bias(here["first"]),
            100 * here["kept"] / len(here["now"])))
    now = [error for here in measured.values() for error in here["now"]]
    first = [error for here in measured.values() for error in here["first"]]
    print("%-12s %5d %9d %7.1f %+7.1f %9.1f %+7.1f" % ("all", len(rows), len(now), mean(now), bias(now), mean(first), bias(first)))
    print("by source: %.1f, at first %.1f" % (sum(mean(h["now"]) for h in measured.values()) / len(measured),
                                              sum(mean(h["first"]) for h in measured.values()) / len(measured)))


main()
