#!/usr/bin/env python3
"""windows.py ORRERY [--exercises CHECKOUT] [--seconds S] [--busy F] [--every K] [--layers WORD] DESIGN...

Maps every distinct layer of ResNet-18, VGG-16, AlexNet, MobileNet v2 and MobileNet v3 (large) onto each DESIGN, one layer after the
other on one thread, and says how many were proven in S seconds (default 5), the median and the longest time, and the gap of each that
was not proven. Times are CPU time of the whole process; on a machine that other work shares, `--busy F` lets a search take F times as
long on the clock. A DESIGN is a chip of the catalogue or, with a checkout of timeloop-accelergy-exercises, one of its example
designs (eyeriss_like, simba_like, simple_weight_stationary, simple_output_stationary). Shapes are those of torchvision at 224 x 224,
batch 1; depthwise layers are groups (G), as the exercises write them. `--every K` takes each K-th layer only, `--layers WORD` those whose
name has WORD in it. Nothing is fetched, and nothing is written into the checkout.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile


def resnet18():
    yield dict(C=3, M=64, P=112, R=7, stride=2)
    before = 64
    for channels, size in ((64, 56), (128, 28), (256, 14), (512, 7)):
        stride = 1 if channels == before else 2
        yield dict(C=before, M=channels, P=size, R=3, stride=stride)
        yield dict(C=channels, M=channels, P=size, R=3)
        if stride == 2:
            yield dict(C=before, M=channels, P=size, stride=2)
        before = channels
    yield dict(C=512, M=1000)


def vgg16():
    before = 3
    for channels, size, layers in ((64, 224, 2), (128, 112, 2), (256, 56, 3), (512, 28, 3), (512, 14, 3)):
        for _ in range(layers):
            yield dict(C=before, M=channels, P=size, R=3)
            before = channels
    yield from (dict(C=25088, M=4096), dict(C=4096, M=4096), dict(C=4096, M=1000))


def alexnet():
    yield from (dict(C=3, M=64, P=55, R=11, stride=4), dict(C=64, M=192, P=27, R=5))
    yield from (dict(C=c, M=m, P=13, R=3) for c, m in ((192, 384), (384, 256), (256, 256)))
    yield from (dict(C=9216, M=4096), dict(C=4096, M=4096), dict(C=4096, M=1000))


def mobilenet_v2():
    yield dict(C=3, M=32, P=112, R=3, stride=2)
    before, size = 32, 112
    for widen, channels, layers, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                           (6, 160, 3, 2), (6, 320, 1, 1)):
        for k in range(layers):
            wide, stride = before * widen, first if k == 0 else 1
            if widen > 1:
                yield dict(C=before, M=wide, P=size)
            size //= stride
            yield dict(G=wide, P=size, R=3, stride=stride)
            yield dict(C=wide, M=channels, P=size)
            before = channels
    yield from (dict(C=320, M=1280, P=7), dict(C=1280, M=1000))


def mobilenet_v3():
    yield dict(C=3, M=16, P=112, R=3, stride=2)
    before, size = 16, 112
    for window, wide, channels, squeezed, stride in (
            (3, 16, 16, 0, 1), (3, 64, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 24, 2), (5, 120, 40, 32, 1),
            (3, 240, 80, 0, 2), (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 480, 112, 120, 1), (3, 672, 112, 168, 1),
            (5, 672, 160, 168, 2), (5, 960, 160, 240, 1)):
        if wide != before:
            yield dict(C=before, M=wide, P=size)
        size //= stride
        yield dict(G=wide, P=size, R=window, stride=stride)
        if squeezed:
            yield from (dict(C=wide, M=squeezed), dict(C=squeezed, M=wide))
        yield dict(C=wide, M=channels, P=size)
        before = channels
    yield from (dict(C=160, M=960, P=7), dict(C=960, M=1280), dict(C=1280, M=1000))


def distinct():
    seen = {}
    for network in (resnet18, vgg16, alexnet, mobilenet_v2, mobilenet_v3):
        for k, layer in enumerate(network()):
            shape = {d: layer.get(d, 1) for d in "GCMPRQS"}
            shape["Q"], shape["S"] = shape["P"], shape["R"]
            stride = layer.get("stride", 1)
            key = (*shape.values(), stride)
            seen.setdefault(key, (f"{network.__name__}_{k}", shape, stride))
    return list(seen.values())


def document(name, shape, stride):
    bounds = ", ".join(f"{d}: {n}" for d, n in {**shape, "N": 1}.items())
    return f"""problem:
  version: 0.4
  name: {name}
  instance: {{{bounds}, stride: {stride}}}
  shape:
    name: window
    dimensions: [C, M, R, S, N, P, Q, G]
    coefficients: [{{name: stride, default: 1}}]
    data_spaces:
    - {{name: Weights, projection: [[[C]], [[M]], [[R]], [[S]], [[G]]]}}
    - {{name: Inputs, projection: [[[N]], [[C]], [[R], [P, stride]], [[S], [Q, stride]], [[G]]]}}
    - {{name: Outputs, projection: [[[N]], [[M]], [[Q]], [[P]], [[G]]], read_write: true}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("orrery")
    parser.add_argument("designs", nargs="+", metavar="DESIGN")
    parser.add_argument("--exercises", metavar="CHECKOUT")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--busy", type=float, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--layers", default="")
    parser.add_argument("--objective", default="edp")
    parser.add_argument("-v", action="store_true", help="a line for each layer")
    given = parser.parse_args()
    orrery = os.path.realpath(given.orrery)
    layers = [layer for layer in distinct() if given.layers in layer[0]][::given.every]
    print(f"{len(layers)} layers, {given.seconds:g} s each, one thread, {given.objective}")
    for design in given.designs:
        times, gaps, failed = [], [], []
        for name, shape, stride in layers:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, name + ".yaml")
                with open(path, "w") as out:
                    out.write(document(name, shape, stride))
                where = None
                chip = ["--chip", design]
                if given.exercises and "_" in design:
                    where = os.path.join(given.exercises, "workspace", "example_designs", "example_designs")
                    chip = ["top.yaml.jinja2", "--define", f"architecture={design}"]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                run = subprocess.run([orrery, "map", *chip, path, "--time-limit", str(given.seconds * given.busy), "--threads", "1",
                                      "--objective", given.objective, "--json"], cwd=where, capture_output=True, text=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            try:
                row = json.loads(run.stdout)["result"]["layers"][0]
                proof = row["certificate"]
            except (ValueError, KeyError, IndexError):
                failed.append(name)
                if given.v:
                    print(f"  {design} {name}: {run.stderr.strip().splitlines()[:1]}")
                continue
            times.append(seconds)
            if not proof["optimal"] or seconds > given.seconds:
                gaps.append((proof["gap"], name))
            if given.v:
                print(f"  {design:25} {name:16} {' '.join(f'{d}{n}' for d, n in shape.items() if n > 1):30} stride {stride}  "
                      f"{seconds:7.3f} s  gap {proof['gap']:.4f}  {row['edp_j_cycles']:.6g}", flush=True)
        if times:
            print(f"{design}: {len(times) - len(gaps)} of {len(layers)} proven, median {statistics.median(times):.3f} s, longest {max(times):.2f} s"
                  + (f"; {len(failed)} without an answer: {', '.join(failed)}" if failed else ""))
        else:
            print(f"{design}: no answer")
        if gaps:
            print("  gaps: " + ", ".join(f"{name} {100 * gap:.2g} %" for gap, name in sorted(gaps, reverse=True)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
