"""The constants of `serve`'s operators, fitted to AIConfigurator's measured ones.

    python3 bench/served_operators.py OPERATORS [--without KIND,...] [--into served_roofline.cc]

OPERATORS is the folder `serving/operators` of ../shared/goldens; KIND is a GPU as its tables name it (a100_sxm, l40s,
h100_sxm, h200_sxm, b200_sxm, gb200). Prints each constant of engines/serving/model/served_roofline.cc that has the
least deviation (half the median, half the mean of the logarithm's magnitude) from the rows of its kind of operator, and
what the operators of the kinds that were left out, and of two that no fit has (B300, GB300), are off by. Hopper streams
its memory by constants of its own; where none of it is left in the fit, by those of the others. Left out as anomalies:
products with scales of blocks, 16-bit products of GB200, fp8 experts of H100 (Mixtral). With `--into`, the source has
them: what a program built of it says in `orrery validate serve` of a kind that was left out is how far off it is without
that kind's operators. Pure Python.
"""
import argparse
import csv
import math
import os
import re
import statistics

# Data sheets, as catalog/systems has them: TFLOP/s by bits, bytes/s of memory, bytes/s of links.
KINDS = {
    "a100_sxm": ({16: 312}, 2.039e12, 300e9),
    "l40s": ({16: 362.05, 8: 733}, 864e9, 25e9),
    "h100_sxm": ({16: 989, 8: 1979}, 3.35e12, 450e9),
    "h200_sxm": ({16: 989, 8: 1979}, 4.8e12, 450e9),
    "b200_sxm": ({16: 2250, 8: 4500, 4: 9000}, 8e12, 900e9),
    "gb200": ({16: 2500, 8: 5000, 4: 10000}, 8e12, 900e9),
    "b300_sxm": ({16: 2250, 8: 4500, 4: 13500}, 8e12, 900e9),
    "gb300": ({16: 2500, 8: 5000, 4: 15000}, 8e12, 900e9),
}
FITTED = ("a100_sxm", "l40s", "h100_sxm", "h200_sxm", "b200_sxm", "gb200")
BITS = {"bfloat16": 16, "fp8": 8, "nvfp4": 4, "fp8_block": 8}
HOPPER = ("h100_sxm", "h200_sxm")
# Of the bandwidth: of the 16-bit products, once for all that pass memory; Hopper's behind it.
STREAMED = (0.742, 0.86)


def of_class(gpu, pair):
    return pair[gpu in HOPPER]


def rows(folder, table):
    with open(os.path.join(folder, table), encoding="utf-8") as text:
        for row in csv.DictReader(text):
            if row["gpu"] in KINDS:
                yield row


def product(row):
    bits = BITS[row["gemm_dtype"]]
    m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
    return bits, 2 * m * n * k, (m * k + k * n) * bits / 8 + m * n * 2


def experts(row):
    bits, tokens = BITS[row["moe_dtype"]], int(row["num_tokens"])
    count, top = int(row["num_experts"]), int(row["topk"])
    spread, cut = int(row["moe_ep_size"]), int(row["moe_tp_size"])
    width, inner = int(row["hidden_size"]), int(row["inter_size"]) // cut
    held = count / spread
    met = round(max(1, min(held, held * (1 - (1 - top / count) ** tokens))))
    visits = max(1, round(tokens * top / spread / met))
    out = []
    for n, k in ((2 * inner, width), (width, inner)):
        out.append((2 * met * visits * n * k, met * ((visits * k + k * n) * bits / 8 + visits * n * 2)))
    return bits, out


def tables(folder):
    """Operators by name: of each its GPU, seconds, and a function of the constants."""
    out = {}

    def add(name, row, seconds, predicted):
        out.setdefault(name, []).append((row["gpu"], seconds, predicted))

    for row in rows(folder, "aic_gemm_ms.csv"):
        bits, flop, size = product(row)
        peaks, memory, _ = KINDS[row["gpu"]]
        if row["gemm_dtype"] == "fp8_block" or bits not in peaks or (row["gpu"].startswith("gb") and bits == 16):
            continue
        add(f"product {bits}", row, float(row["latency"]) / 1e3,
            lambda c, w=flop / (peaks[bits] * 1e12), b=size / memory, g=row["gpu"]:
            c[0] + max(w / c[1], b / of_class(g, c[2:])))
    for row in rows(folder, "aic_moe_ms.csv"):
        peaks, memory, _ = KINDS[row["gpu"]]
        bits = BITS.get(row["moe_dtype"])
        mixtral = row["gpu"] == "h100_sxm" and row["moe_dtype"] == "fp8"
        if bits not in peaks or row["distribution"] != "balanced" or mixtral:
            continue
        parts = [(flop / (peaks[bits] * 1e12), size / memory / of_class(row["gpu"], STREAMED)) for flop, size in experts(row)[1]]
        add(f"experts {bits}", row, float(row["latency"]) / 1e3,
            lambda c, p=parts: c[0] + sum(max(w / c[1], b) for w, b in p))
    for row in rows(folder, "aic_generation_attention_ms.csv"):
        peaks, memory, _ = KINDS[row["gpu"]]
        width = 2 if row["kv_cache_dtype"] == "bfloat16" else 1
        keys = int(row["batch_size"]) * (int(row["step"]) + 1)
        size = keys * int(row["num_key_value_heads"]) * 256 * width
        flop = 4 * keys * int(row["num_heads"]) * 128
        add("decode attention", row, float(row["latency"]) / 1e3,
            lambda c, w=flop / (0.59 * peaks[16] * 1e12), b=size / memory, g=row["gpu"]:
            of_class(g, c[:2]) + max(b / of_class(g, c[2:]), w))
    for row in rows(folder, "aic_context_attention_ms.csv"):
        peaks, n = KINDS[row["gpu"]][0], int(row["isl"])
        flop = 4 * int(row["batch_size"]) * int(row["num_heads"]) * 128 * n * (n + 1) / 2
        add("prompt attention", row, float(row["latency"]) / 1e3,
            lambda c, w=flop / (peaks[16] * 1e12), n=n: c[0] + w / c[1] * (1 + c[2] / n))
    for row in rows(folder, "aic_collectives_ms.csv"):
        if row["op_name"] != "all_reduce" or row["lib"] != "vLLM_custom_graph":
            continue
        n, size = int(row["num_gpus"]), 2 * int(row["message_size"])
        add("all-reduce", row, float(row["latency"]) / 1e3,
            lambda c, n=n, s=size / n / KINDS[row["gpu"]][2]: c[0] + 2 * (n - 1) * (c[1] + s / c[2]))
    return out


# Where the search begins, and the constant's name; Hopper's stands behind that of the others.
CONSTANTS = {
    "product 16": ((3.6e-6, "fixed_seconds"), (0.756, "efficiency"),
                   (STREAMED[0], "kStreamed"), (STREAMED[1], "kHopperStreamed")),
    "product 8": ((7.3e-6, "fixed_seconds"), (0.5, "efficiency"), (STREAMED[0], None), (STREAMED[1], None)),
    "product 4": ((8.1e-6, "fixed_seconds"), (0.42, "efficiency"), (STREAMED[0], None), (STREAMED[1], None)),
    "experts 16": ((22e-6, "kExpertsSeconds"), (0.375, "experts_efficiency")),
    "experts 8": ((22e-6, None), (0.17, "experts_efficiency")),
    "experts 4": ((22e-6, None), (0.34, "experts_efficiency")),
    "decode attention": ((11e-6, "kDecodeSeconds"), (14.5e-6, "kHopperDecodeSeconds"),
                         (0.82, "kDecodeStreamed"), (0.9, "kHopperDecodeStreamed")),
    "prompt attention": ((15e-6, "kPromptSeconds"), (0.59, "kPromptEfficiency"), (742, "kHalfRateKeys")),
    "all-reduce": ((4.85e-6, "kReduceSeconds"), (0.07e-6, "kRankSeconds"), (0.612, "kReduceEfficiency")),
}


def deviation(all_rows, constants):
    off = [abs(math.log(predicted(constants) / seconds)) for _, seconds, predicted in all_rows]
    return statistics.median(off) / 2 + statistics.fmean(off) / 2


def fit(all_rows, name):
    """Steps along each constant by turns, ever shorter, three times; those without a name stay, and Hopper's, of which
    no row is, are the others'."""
    constants = [value for value, _ in CONSTANTS[name]]
    free = [i for i, (_, of) in enumerate(CONSTANTS[name]) if of]
    alike = []
    if not any(gpu in HOPPER for gpu, _, _ in all_rows):
        alike = [i for i in free if CONSTANTS[name][i][1].startswith("kHopper")]
        free = [i for i in free if i not in alike]
    best = deviation(all_rows, constants)
    for step in (0.5, 0.3, 0.2):
        while step > 0.005:
            better = False
            for i in free:
                for factor in (1 + step, 1 / (1 + step)):
                    tried = list(constants)
                    tried[i] *= factor
                    now = deviation(all_rows, tried)
                    if now < best:
                        constants, best, better = tried, now, True
            step *= 1 if better else 0.5
    for i in alike:
        constants[i] = constants[i - 1]
    return constants


def write(fitted, path):
    """The constants into the source; where a kind of operators has none, those of 8 bits."""
    with open(path, encoding="utf-8") as text:
        source = text.read()
    for group, bits in (("kWide", 16), ("kEight", 8), ("kFour", 4)):
        product = fitted.get(f"product {bits}", fitted["product 8"])
        grouped = fitted.get(f"experts {bits}", fitted["experts 8"])
        values = ", ".join(f"{value:.3g}" for value in (product[0], product[1], grouped[1]))
        source = re.sub(rf"{group} = {{[^}}]*}}", f"{group} = {{{values}}}", source, count=1)
    for name, constants in fitted.items():
        for value, (_, of) in zip(constants, CONSTANTS[name]):
            if of and of.startswith("k"):
                source = re.sub(rf"double {of} = [^;]*;", f"double {of} = {value:.3g};", source, count=1)
    with open(path, "w", encoding="utf-8") as text:
        text.write(source)


def main():
    line = argparse.ArgumentParser()
    line.add_argument("operators")
    line.add_argument("--without", default="")
    line.add_argument("--into")
    asked = line.parse_args()
    without = [kind for kind in asked.without.split(",") if kind]
    fitted = {}
    for name, all_rows in tables(asked.operators).items():
        known = [row for row in all_rows if row[0] in FITTED and row[0] not in without]
        if not known:  # nothing else computes in 4 bits than Blackwell
            print(f"{name:17} of no other kind: those of 8 bits")
            continue
        constants = fitted[name] = fit(known, name)
        values = ", ".join(f"{of} {value:.3g}" for value, (_, of) in zip(constants, CONSTANTS[name]) if of)
        off = {}
        for kind, seconds, predicted in all_rows:
            off.setdefault(kind, []).append(100 * abs(predicted(constants) / seconds - 1))
        others = [kind for kind in KINDS if kind in off and kind not in FITTED]
        inside = statistics.median(e for kind in off if kind in FITTED and kind not in without for e in off[kind])
        outside = ", ".join(f"{kind} {statistics.median(off[kind]):.0f} %" for kind in [*without, *others]
                            if kind in off)
        print(f"{name:17} {values:75} fitted kinds {inside:.0f} %; others: {outside}")
    if asked.into:
        write(fitted, asked.into)


if __name__ == "__main__":
    main()
