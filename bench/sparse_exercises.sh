#!/usr/bin/env bash
# sparse_exercises.sh ORRERY CHECKOUT [DESIGN...]: the sparse designs of a checkout of timeloop-accelergy-exercises, evaluated on the
# mappings and the ERT of their reference outputs and held against the counts that Timeloop wrote there, as the table of
# docs/compatibility.md. It fetches nothing and writes nothing into the checkout. Orrery runs with `--compat timeloop`.
#
# A count is a number of words, units of metadata, operations or cycles, each line of stats.txt one; they agree when equal.
# VERBOSE=1 prints those that do not.
set -euo pipefail
[[ $# -ge 2 ]] || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; }
orrery=$(realpath "$1") root=$(realpath "$2")/workspace/example_designs/example_designs
shift 2
designs=("$@")
[[ ${#designs[@]} -gt 0 ]] || mapfile -t designs < <(cd "$root" && ls -d sparseloop/*/ sparse_tensor_core_like/ | sed 's|/$||')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# stats.txt into lines "storage tensor count value", tab-separated.
stats() {
  awk '
    function put(key, value) { if (value + 0 != 0) printf "%s\t%s\t%s\t%.15g\n", level, tensor, key, value }
    /^=== .* ===$/ { level = $2; tensor = ""; stage = "" }
    /^ +STATS$/ { stage = "stats" }
    /^ +(SPECS|MAPPING)$/ { stage = "" }
    /^(Networks|Operational Intensity Stats)$/ { level = ""; stage = "" }
    stage == "stats" && /^    [A-Za-z_0-9]+:$/ { tensor = $1; sub(/:$/, "", tensor) }
    stage == "stats" && /scalar format (reads|fills|updates)/ { kind = tolower($1) "." $4 }
    stage == "stats" && /Max utilized Repr format/ { kind = "" }
    stage == "stats" && kind != "" && /Rank [0-9]+ \(metadata, payload\)/ {
      split($0, half, ": *[(]"); gsub(/[), ]+/, " ", half[2]); split(half[2], two, " ")
      put("rank" $2 ".metadata." kind, two[1]); put("rank" $2 ".payload." kind, two[2]) }
    stage == "stats" && /^ +(Actual|Gated|Skipped) scalar (reads|fills|updates) / { put(tolower($1) "." $3, $NF) }
    stage == "stats" && /^ +Scalar (reads|fills|updates) / { put("actual." $2, $NF) }  # of a dense design
    stage == "stats" && /^ +Computes \(total\)/ { tensor = "-"; put("actual.operations", $NF) }
    stage == "stats" && tensor != "" && tensor != "-" && /^ +Energy \(total\)/ && !seen[level, tensor]++ { printf "%s\t%s\tenergy\t%s\n", level, tensor, $(NF - 1) }
    stage == "stats" && /Actual Computes \(total\)/ { tensor = "-"; put("actual.operations", $NF) }
    stage == "stats" && /Gated Computes \(total\)/ { tensor = "-"; put("gated.operations", $NF) }
    stage == "stats" && /Skipped Computes \(total\)/ { tensor = "-"; put("skipped.operations", $NF) }
    /^Cycles: / { printf "-\t-\tcycles\t%s\n", $2 }
    /^Utilization: / { sub(/%/, "", $2); printf "-\t-\tutilization\t%s\n", $2 }
  ' "$1" | sort
}
# The same of an answer of `orrery eval --json`.
answer() {
  jq -r '
    .result.layers[0] as $l | ($l.levels | map(select(.kind == "compute"))[0].name) as $mac |
    def split($k): to_entries[] | select(.value != 0) | [.key + "." + $k, .value];
    def ranks($k): to_entries[] | .key as $how | .value | to_entries[] | .key as $r | .value | to_entries[] |
      select(.value != 0) | ["rank" + ($r | tostring) + "." + .key + "." + $how + "." + $k, .value];
    (if $l.sparse then
      ($l.sparse.storages[] | .name as $s | .dataspaces | to_entries[] | .key as $t | .value |
        ((.reads | split("reads")), (.fills | split("fills")), (.updates | split("updates")),
         (.metadata_reads | ranks("reads")), (.metadata_fills | ranks("fills")), (.metadata_updates | ranks("updates")),
         ["energy", .data_pj + .metadata_pj]) | [$s, $t] + .),
      ($l.sparse.operations | split("operations") | [$mac, "-"] + .)
    else
      ($l.levels[] | select(.kind == "storage") | .name as $s | .dataspaces | to_entries[] | .key as $t | .value |
        (["actual.reads", .reads], ["actual.fills", .fills], ["actual.updates", .updates], ["energy", .energy_pj]) |
        select(.[1] != 0) | [$s, $t] + .),
      [$mac, "-", "actual.operations", ($l.levels[] | select(.kind == "compute") | .operations)]
    end), ["-", "-", "cycles", $l.cycles], ["-", "-", "utilization", $l.utilization * 100] | @tsv' "$1" | sort
}

echo "| design | counts | equal | greatest difference | energy |"
echo "|---|--:|--:|---|---|"
for design in "${designs[@]}"; do
  from=$root/$design/ref_outputs/default_problem
  if ! "$orrery" eval "$root/$design/arch.yaml" "$root/$design/problem.yaml" "$from/timeloop-mapper.map.yaml" "$from/timeloop-mapper.ERT.yaml" \
    --compat timeloop --json >"$work/json" 2>"$work/err"; then
    echo "| ${design#sparseloop/} | | | refused: $(grep -oE '^error\[O[0-9]{4}\][^(]*' "$work/err" | head -1) | |"
    continue
  fi
  stats "$from/timeloop-mapper.stats.txt" >"$work/theirs"
  answer "$work/json" >"$work/ours"
  awk -F '\t' -v name="${design#sparseloop/}" -v verbose="${VERBOSE:-0}" '
    { key = $1 "\t" $2 "\t" $3 }
    NR == FNR { theirs[key] = $4; next }
    { ours[key] = $4 }
    END {
      for (key in theirs) all[key]; for (key in ours) all[key]
      for (key in all) {
        a = theirs[key] + 0; b = ours[key] + 0; far = a > b ? a - b : b - a
        printed = key ~ /\tenergy$/ || key ~ /utilization$/
        if (key ~ /\tenergy$/) { sum_theirs += a; sum_ours += b }
        if (printed) { wrong = far > 0.006 && far > 1e-5 * a } else { ++counts; wrong = far > 0; if (!wrong) ++equal
          if (far > most) { most = far; where = key } }
        if (wrong && verbose) printf "  %s: Timeloop %.10g, Orrery %.10g\n", key, a, b > "/dev/stderr"
      }
      gsub(/\t/, " ", where)
      printf "| %s | %d | %d | %s | %.2f pJ, Timeloop %.2f |\n", name, counts, equal, most ? most " (" where ")" : "none", sum_ours, sum_theirs
    }' "$work/theirs" "$work/ours"
done
