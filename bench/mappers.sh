#!/usr/bin/env bash
# The best mapping of each GEMM on each chip, as a Markdown table: EDP, time of the search, proof.
#
#   bench/mappers.sh                       every GEMM on every chip that takes matrix products
#   CHIPS="tpu-v4i" GEMMS="cube:4096,4096,4096" bench/mappers.sh
#   ORRERY=path/to/orrery LIMIT=30 RUNS=3 COMPAT=factorflow bench/mappers.sh
#   OBJECTIVE=energy CHIPS=edge-npu bench/mappers.sh
#
# One thread. The time of a run is the lesser of what `orrery map --json` reports on the clock for the search alone and
# the CPU time of the whole program: on a shared machine either may be too long, neither is too short. The least of RUNS
# counts; a search of a second or more is not repeated. A search that reaches LIMIT seconds is shown with its gap, the
# rest is proven.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
orrery=${ORRERY:-$here/build/release/orrery}
limit=${LIMIT:-30}
runs=${RUNS:-3}
compat=${COMPAT:+--compat $COMPAT}
objective=${OBJECTIVE:+--objective $OBJECTIVE}
chips=${CHIPS:-factorflow-gemmini factorflow-eyeriss factorflow-simba factorflow-tpu gemmini eyeriss simba tpu pim
  edge-npu many-core tpu-v4i}
gemms=${GEMMS:-KQV:3072,1024,4096 KTQ:4096,64,4096 VScores:64,4096,4096 Out:1024,1024,4096 FF1:4096,1024,4096
  FF2:1024,4096,4096 MB1:8192,8192,8192 MB2:1024,8192,1024 MB3:8,8192,8 MB4:8,1024,8192 MB5:8192,1024,8
  MB6:512,256,256 Harsh1:4000,6032,12000 Harsh2:7000,1440,4224 cube:4096,4096,4096}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# $1 key: what stands behind the first `"key":` of standard input; in this document the layer comes before its levels.
value() {
  sed -n 's/^ *"'"$1"'": *\([^,]*\),*$/\1/p' | head -n 1
}

TIMEFORMAT='%U %S'

printf '| chip | GEMM | M, K, N | EDP (J*cycle) | energy (uJ) | cycles | search (ms) | proof |\n'
printf '|---|---|---|--:|--:|--:|--:|---|\n'
for chip in $chips; do
  for gemm in $gemms; do
    name=${gemm%%:*}
    size=${gemm#*:}
    least=
    run=0
    while [ "$run" -lt "$runs" ]; do
      run=$((run + 1))
      # Exit codes: 1 no mapping, 3 the time limit; both leave a document.
      # shellcheck disable=SC2086
      { time "$orrery" map --chip "$here/catalog/chips/$chip.yaml" --gemm "$size" --json --quiet --threads 1 \
        --time-limit "$limit" $compat $objective >"$work/out.json" 2>"$work/err.txt" || true; } 2>"$work/cpu.txt"
      seconds=$(value seconds <"$work/out.json")
      if [ -z "$seconds" ]; then # no document of a search: a refusal
        cat "$work/err.txt" "$work/out.json" >&2
        exit 2
      fi
      busy=$(awk '{print $1 + $2}' "$work/cpu.txt")
      least=$(printf '%s\n%s\n%s\n' "${least:-$seconds}" "$seconds" "$busy" | sort -g | head -n 1)
      case $least in [1-9]*) break ;; esac
    done
    edp=$(value edp_j_cycles <"$work/out.json")
    if [ -z "$edp" ] || [ "$(value infeasible <"$work/out.json")" = true ]; then
      printf '| %s | %s | %s | - | - | - | - | no mapping |\n' "$chip" "$name" "$size"
      continue
    fi
    energy=$(value energy_pj <"$work/out.json")
    cycles=$(value cycles <"$work/out.json")
    optimal=$(value optimal <"$work/out.json")
    gap=$(value gap <"$work/out.json")
    proof=optimal
    if [ "$optimal" != true ]; then proof=$(awk -v g="$gap" 'BEGIN {printf "gap %.1f %%", 100 * g}'); fi
    awk -v c="$chip" -v g="$name" -v s="$size" -v d="$edp" -v e="$energy" -v y="$cycles" -v t="$least" -v p="$proof" \
      'BEGIN {printf "| %s | %s | %s | %.7g | %.3f | %.0f | %.2f | %s |\n", c, g, s, d, e / 1e6, y, 1000 * t, p}'
  done
done
