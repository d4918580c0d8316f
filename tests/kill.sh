#!/usr/bin/env bash
# kill.sh ORRERY [TIMES]: ends a sweep with SIGKILL at random moments, TIMES times (1000), and looks at its store after
# each: the database is whole, no point is stored that was not evaluated, none is lost that was. What is finished in the
# end is what an undisturbed sweep has.
set -euo pipefail

orrery=$(realpath "$1")
times=${2:-1000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
RANDOM=7

study=(sweep map --chip gemmini --gemm "512,512,512" --all --threads 1 --quiet
  --vary arch.Scratchpad.read_bandwidth=1..40 --vary arch.DRAM.read_bandwidth=1..40)

# The points of store $1 with their figures, those that are open left out.
points() {
  "$orrery" "${study[@]}" --store "$1" --stop-after 0.000001 --export "$1.csv" --force >/dev/null || (($? == 3))
  grep -v ',open,' "$1.csv" || true
}

# An undisturbed one, and how many milliseconds it takes.
begun=$(date +%s%3N)
"$orrery" "${study[@]}" --store whole.db --export whole.csv >/dev/null
whole=$(($(date +%s%3N) - begun + 1))

rounds=0 killed=0
: >before
while ((killed < times)); do
  "$orrery" "${study[@]}" --store killed.db >/dev/null 2>&1 &
  job=$!
  # Two rounds of three end within what a whole one takes, so that kills come early, late and in between.
  wait_ms=$((RANDOM * whole / 32768 * 3 / 2))
  sleep "$((wait_ms / 1000)).$(printf '%03d' $((wait_ms % 1000)))"
  if kill -9 "$job" 2>/dev/null; then killed=$((killed + 1)); fi
  wait "$job" 2>/dev/null || true
  [[ -e killed.db ]] || continue
  if [[ -n $(find killed.db -size +0) ]]; then
    "$orrery" sweep --status --store killed.db --json >status
    grep -q '"integrity": "ok"' status || { cat status && exit 1; }
  fi
  # Stored points are rows of the whole answer, and those of the round before are among them.
  points killed.db >after
  if [[ -n $(grep -vxFf whole.csv after) ]]; then
    printf 'kill.sh: a point is stored that is none\n' && exit 1
  fi
  if [[ -n $(grep -vxFf after before) ]]; then
    printf 'kill.sh: a stored point is lost\n' && exit 1
  fi
  if ! grep -q ',open,' killed.db.csv; then # done: the next round begins with nothing
    rounds=$((rounds + 1))
    cmp -s killed.db.csv whole.csv || { printf 'kill.sh: the finished sweep is another one\n' && exit 1; }
    rm -f killed.db killed.db-* && : >after
  fi
  mv after before
done
"$orrery" "${study[@]}" --store killed.db --export killed.csv >/dev/null
cmp killed.csv whole.csv
printf 'killed %d times, finished %d times in between: nothing lost, nothing doubled\n' "$killed" "$rounds"
