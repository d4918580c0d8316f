#!/usr/bin/env bash
# against_timeloop.sh ORRERY ROOT: bench/against_timeloop.py, with programs in place of Timeloop's: one that is Orrery
# itself, and one that answers from a recording with a wrong count in it.
set -euo pipefail
orrery=$(realpath "$1") ROOT=$(realpath "$2")
command -v python3 >/dev/null || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export ORRERY_CACHE=$scratch/cache
mkdir case point
cp "$ROOT"/tests/errors/base/{arch,problem,ERT}.yaml case
cp case/* point
sed -i 's/instance: .*/instance: {E: 1, D: 1, L: 1}/' point/problem.yaml

printf '%s\n' '#!/usr/bin/env bash' \
  "'$orrery' eval \"\$@\" --compat timeloop -o told >/dev/null && mv told/stats.txt ." >same
printf '%s\n' '#!/usr/bin/env bash' "cp '$scratch/recorded.txt' timeloop-model.stats.txt" >recorded
chmod +x same recorded
compare() { python3 "$ROOT/bench/against_timeloop.py" --seed 3 "$@"; }

said=$(compare --count 30 "$orrery" ./same case)
[[ $said == '30 mappings compared, all equal' ]] || { echo "$said"; exit 1; }

# Of one operation all mappings are alike.
"$orrery" map point/*.yaml --compat timeloop -o found >/dev/null
cp found/stats.txt recorded.txt
said=$(compare --count 3 --keeps as-found "$orrery" ./recorded point)
[[ $said == '3 mappings compared, all equal' ]] || { echo "$said"; exit 1; }
sed -i '/=== DRAM/,$ s/\(Scalar reads (per-instance) *: \).*/\17/' recorded.txt
if said=$(compare --count 3 --keeps as-found "$orrery" ./recorded point); then
  echo "a wrong count went unseen: $said"
  exit 1
fi
[[ $said == *'DRAM Weights Scalar reads (per-instance): Orrery 1.0, Timeloop 7.0'* &&
  $said == *'Scalar reads (per-instance): 3 differ' ]] || { echo "$said"; exit 1; }
