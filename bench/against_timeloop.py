#!/usr/bin/env python3
"""Random mappings, by Orrery and by Timeloop's own binary.

against_timeloop.py [--count N] [--seed S] [--keeps as-found] ORRERY TIMELOOP_MODEL CASE...

A case is a folder, whose *.yaml are read, or a file: one chip, one layer and, for energies, an ERT, in plain documents
that both programs read (the exercises' `parsed-processed-input.yaml`). Of each, ORRERY finds a mapping; then factors
are dealt to other levels and loops reordered, and with them what levels keep, unless --keeps says otherwise. What
ORRERY refuses (it does not fit) is drawn again. Both programs write stats.txt, whose cycles, energies and counts are
compared. Prints the first differences and, for each figure, how many mappings differ. The exit code is 1 if any do.
"""
import argparse
import collections
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

COUNTS = ("Scalar reads (per-instance)", "Scalar fills (per-instance)", "Scalar updates (per-instance)",
          "Utilized capacity", "Utilized instances (max)")


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)


def figures(text):
    """{(level, dataspace, figure): value} of a stats.txt; dataspace "" for what is of the whole."""
    found, level, dataspace = {}, "", ""
    for line in text.splitlines():
        if match := re.match(r"=== (\S+) ===", line):
            level, dataspace = match[1], ""
        elif match := re.match(r" {4}(\w+):$", line):
            dataspace = match[1]
        elif match := re.match(r"(Cycles|Energy): ([\d.e+]+)", line):
            found["", "", match[1]] = float(match[2])
        elif match := re.match(r" {8}(.*?) +: ([\d.e+]+)", line):
            if dataspace and match[1] in COUNTS:
                found[level, dataspace, match[1]] = float(match[2])
    return found


def read_mapping(text):
    """Targets of a map.yaml as Orrery writes it: dicts of its keys, lists of names for keep and bypass."""
    targets, names = [], None
    for line in text.splitlines():
        if match := re.match(r"  - target: (\S+)", line):
            targets.append({"target": match[1]})
        elif match := re.match(r"    (\w+):\s*(.*)", line):
            names = targets[-1][match[1]] = match[2] or []
        elif match := re.match(r"      - (\w+)", line):
            names.append(match[1])
    return targets


def prime_factors(number):
    factors, prime = [], 2
    while number > 1:
        while number % prime == 0:
            factors.append(prime)
            number //= prime
        prime += 1
    return factors


def changed(targets, dice, keeps):
    """Every prime of every dimension at a random level in time, or in space where one was; loops in any order."""
    targets = [dict(target) for target in targets]
    loops = [target for target in targets if "factors" in target]
    dealt = [collections.Counter() for _ in loops]
    for at, target in enumerate(loops):
        for name, factor in re.findall(r"([A-Za-z]\w*?)=?(\d+)(?=[ ,]|$)", target["factors"]):
            dealt[at][name] += 0
            for prime in prime_factors(int(factor)):
                stays = target["type"] == "spatial" and dice.random() < 0.7
                to = at if stays else dice.choice([k for k, one in enumerate(loops) if one["type"] == "temporal"])
                dealt[to][name] = (dealt[to][name] or 1) * prime
    for target, factors in zip(loops, dealt):
        names = list(factors)
        dice.shuffle(names)
        target["factors"] = " ".join(f"{name}={factor or 1}" for name, factor in factors.items())
        target["permutation"] = names
        if "split" in target:
            target["split"] = dice.randint(0, len(names))
    outermost = loops[-1]["target"]
    stores = {target["target"] for target in targets if target.get("keep")}
    for target in targets if keeps == "random" else []:
        if "keep" not in target or target["target"] == outermost or target["target"] not in stores:
            continue
        everything = [*target["keep"], *target["bypass"]]
        target["keep"] = [name for name in everything if (name in target["keep"]) != (dice.random() < 0.2)]
        target["bypass"] = [name for name in everything if name not in target["keep"]]
    return targets


def written(targets):
    text = "mapping:\n"
    for target in targets:
        shown = (f"{key}: [{', '.join(value)}]" if isinstance(value, list) else f"{key}: {value}"
                 for key, value in target.items() if value != "[]")
        text += "- {" + ", ".join(shown) + "}\n"
    return text


def stats_of(folder, command, *names):
    """The figures that a command writes into a folder, or what it says instead."""
    said = run(command, folder)
    for name in names:
        if said.returncode == 0 and (folder / name).exists():
            return figures((folder / name).read_text()), said.stdout
    return None, said.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keeps", choices=("random", "as-found"), default="random")
    parser.add_argument("orrery")
    parser.add_argument("timeloop_model")
    parser.add_argument("case", nargs="+", type=pathlib.Path)
    asked = parser.parse_args()
    for name in ("orrery", "timeloop_model"):
        program = shutil.which(getattr(asked, name)) or parser.error(f"no program `{getattr(asked, name)}`")
        setattr(asked, name, str(pathlib.Path(program).resolve()))
    dice = random.Random(asked.seed)
    work = pathlib.Path(tempfile.mkdtemp())
    cases, compared, differ, shown = [], 0, collections.Counter(), 0
    try:
        for case in asked.case:
            files = sorted(map(str, case.resolve().glob("*.yaml"))) if case.is_dir() else [str(case.resolve())]
            said = run([asked.orrery, "map", *files, "--compat", "timeloop", "--time-limit", "5", "-o", "found"], work)
            if not (work / "found/map.yaml").exists():
                sys.exit(f"{case}: no mapping to begin with\n{said.stdout}")
            cases.append((case, files, read_mapping((work / "found/map.yaml").read_text())))
            shutil.rmtree(work / "found")
        for draw in range(100 * asked.count):
            if compared == asked.count:
                break
            case, files, targets = cases[draw % len(cases)]
            folder = work / "one"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "mapping.yaml").write_text(written(changed(targets, dice, asked.keeps)))
            command = [asked.orrery, "eval", *files, "mapping.yaml", "--compat", "timeloop", "-o", "ours"]
            ours, _ = stats_of(folder, command, "ours/stats.txt")
            if ours is None:
                continue
            theirs, said = stats_of(folder, [asked.timeloop_model, *files, "mapping.yaml"], "timeloop-model.stats.txt",
                                    "stats.txt")
            compared += 1
            if theirs is None:
                differ["Timeloop stops"] += 1
                lines = [("Timeloop stops", "", said.strip().splitlines()[-1] if said.strip() else "without a word")]
            else:
                pairs = {key: (ours.get(key, 0), theirs.get(key, 0)) for key in ours | theirs}
                # An energy has two decimals.
                pairs = {key: (a, b) for key, (a, b) in pairs.items()
                         if abs(a - b) > 1e-4 * a + 0.0101 * (key[2] == "Energy")}
                lines = [(" ".join(filter(None, key)), a, b) for key, (a, b) in pairs.items()]
                differ.update({key[2] for key in pairs})
            if lines and shown < 10:
                shown += 1
                print(f"{case}:\n{(folder / 'mapping.yaml').read_text().rstrip()}")
                for what, a, b in lines:
                    print(f"  {what}: Orrery {a}, Timeloop {b}")
    finally:
        shutil.rmtree(work)
    print(f"{compared} mappings compared" + ("" if differ else ", all equal"))
    for kind, times in sorted(differ.items()):
        print(f"  {kind}: {times} differ")
    sys.exit(0 if compared == asked.count and not differ else 1)


if __name__ == "__main__":
    main()
