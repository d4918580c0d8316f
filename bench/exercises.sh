#!/usr/bin/env bash
# exercises.sh ORRERY CHECKOUT [DESIGN...]: what Orrery makes of a checkout of timeloop-accelergy-exercises, as the table of
# docs/compatibility.md, which is its output. It fetches nothing and writes nothing into the checkout. Every example design is run on
# every layer file, and every tutorial is read and mapped; a layer may take SECONDS_OF_A_LAYER (default 1) on THREADS (default 1),
# after which the best mapping so far counts as mapped and not as proven. DENSE=1 takes sparse data as dense.
#
# Columns: read (documents understood), mapped (a mapping was found), proven (the best of its space), refused (how many, by which
# error, with what it says of the first).
set -euo pipefail
[[ $# -ge 2 ]] || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; }
orrery=$(realpath "$1") root=$(realpath "$2")/workspace
shift 2
[[ -d $root/example_designs ]] || { echo "$root holds no example_designs" >&2; exit 2; }
seconds=${SECONDS_OF_A_LAYER:-1} threads=${THREADS:-1}
flags=()
[[ ${DENSE:-0} == 0 ]] || flags+=(--ignore-density)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root/example_designs"
top=example_designs/top.yaml.jinja2
designs=("$@")
if [[ ${#designs[@]} == 0 ]]; then
  mapfile -t designs < <(find example_designs -name arch.yaml | sed 's|^example_designs/||; s|/arch.yaml$||' | sort)
fi
# Layers that say the same are run once.
mapfile -t layers < <(find layer_shapes -name '*.yaml' ! -name problem_base.yaml | sort | xargs md5sum | sort -u -k1,1 | awk '{print $2}')
files=$(find layer_shapes -name '*.yaml' ! -name problem_base.yaml | wc -l)

# The code of the first error, and what it says; of a map space that is empty, the arithmetic.
code_of() { grep -oE '^error\[O[0-9]{4}\]' "$work/err" | head -1 | grep -oE 'O[0-9]{4}' || true; }
reason() {
  if [[ $1 == O1001 ]]; then
    sed -n '/^error\[O1001\]/,$p' "$work/err" | sed -n 's/^ *= note: //p' | head -1
  else
    sed -n "s/^error\[$1\]: //p" "$work/err" | head -1
  fi
}
# run NAME FILES...: one run of `orrery map`; appends "read mapped proven code" to the tally.
run() {
  local status=0
  "$orrery" map "$@" "${flags[@]}" --time-limit "$seconds" --threads "$threads" --json >"$work/out" 2>"$work/err" || status=$?
  local code proof
  code=$(code_of)
  [[ -z $code || -e $work/why.$code ]] || reason "$code" >"$work/why.$code"
  proof=$(grep -oE '"proof": *"[a-z]+"|"status": *"[a-z_]+"' "$work/out" | head -1 | grep -oE '[a-z_]+"$' | tr -d '"' || true)
  case $status in
    0) echo "1 1 1 ${proof:--}" ;;
    3) [[ $code == O1002 ]] && echo "1 0 0 O1002" || echo "1 1 0 limit" ;;
    1) echo "1 0 0 ${code:-none}" ;;
    *) echo "0 0 0 ${code:-exit$status}" ;;
  esac
}
# estimate NAME FILES...: a row of one run of `orrery energy`, which maps nothing.
estimate() {
  local name=$1 status=0 code
  shift
  "$orrery" energy "$@" >"$work/out" 2>"$work/err" || status=$?
  code=$(code_of)
  [[ -z $code ]] || reason "$code" >"$work/why.$code"
  printf '| %s, `energy` | 1 | %d | | | %s |\n' "$name" "$((status == 0))" \
    "$([[ $status == 0 ]] && echo none || why "${code:-exit$status}" 1)"
}
# "3 by O0505: `K` is not a dimension of the problem", the first one's reason, of a code or of "exit101".
why() {
  printf '%d by %s%s' "$2" "$1" "$([[ ! -s $work/why.$1 ]] || sed 's/^/: /; s/|/\\|/g' "$work/why.$1")"
}
row() { # NAME TALLY
  local refused code times
  refused=$(awk '!$2 {n[$4]++} END {for (c in n) print c, n[c]}' "$2" | sort | while read -r code times; do
    printf '; '
    why "$code" "$times"
  done)
  refused=${refused#; }
  rm -f "$work"/why.*
  awk -v name="$1" -v refused="${refused:-none}" '{read += $1; mapped += $2; proven += $3}
    END {printf "| %s | %d | %d | %d | %d | %s |\n", name, NR, read, mapped, proven, refused}' "$2"
}

echo "$files layer files, ${#layers[@]} of them different; at most $seconds s and $threads threads a layer; $("$orrery" --version | head -1)"
read_files=0
for layer in "${layers[@]}"; do
  "$orrery" check "$layer" --include layer_shapes "${flags[@]}" >/dev/null 2>&1 && read_files=$((read_files + 1))
done
echo "different layer files read: $read_files of ${#layers[@]}"
echo
echo "| design | runs | read | mapped | proven | refused |"
echo "|---|--:|--:|--:|--:|---|"
for design in "${designs[@]}"; do
  run "$top" --define "architecture=$design" >"$work/own"
  row "$design, own problem" "$work/own"
  : >"$work/tally"
  for layer in "${layers[@]}"; do
    run "$top" --define "architecture=$design" "$layer" --include layer_shapes >>"$work/tally"
  done
  row "$design, layers" "$work/tally"
done

cd "$root/tutorial_exercises/01_accelergy_timeloop_2020_ispass/timeloop"
for tutorial in 0*/; do
  : >"$work/tally"
  for mapping in "$tutorial"map/*.yaml; do
    [[ -e $mapping ]] || continue
    status=0
    "$orrery" eval "$tutorial"arch/*.yaml "$tutorial"prob/*.yaml "$mapping" >/dev/null 2>"$work/err" || status=$?
    code=$(code_of)
    [[ $status == 0 ]] && echo "1 1 0 given" >>"$work/tally" || echo "$((status == 1)) 0 0 ${code:-exit$status}" >>"$work/tally"
  done
  for constraints in "$tutorial"constraints/*.yaml; do
    [[ -e $constraints ]] || continue
    run "$tutorial"arch/*.yaml "$tutorial"prob/*.yaml "$tutorial"mapper/*.yaml "$constraints" >>"$work/tally"
  done
  [[ -s $work/tally ]] || run "$tutorial"arch/*.yaml "$tutorial"arch/components/*.yaml "$tutorial"prob/*.yaml "$tutorial"mapper/*.yaml >>"$work/tally"
  row "tutorial ${tutorial%/}" "$work/tally"
done
cd "$root/tutorial_exercises/01_accelergy_timeloop_2020_ispass/accelergy"
for tutorial in 0*/; do
  mapfile -t documents < <(find "$tutorial"input -name '*.yaml' ! -name action_counts.yaml | sort)
  estimate "accelergy ${tutorial%/}" "${documents[@]}"
done
cd "$root/tutorial_exercises/05_creating_accelergy_plug_ins/utils"
for design in design*.yaml; do
  estimate "plug-in tutorial, ${design%.yaml}" "$design"
done
cd "$root/tutorial_exercises/02_interface_and_design_space_exploration_2024"
run top.yaml.jinja >"$work/tally"
row "tutorial 02 of 2024" "$work/tally"
cd "$root/tutorial_exercises/01_accelergy_timeloop_2020_ispass/timeloop+accelergy"
for mac in intmac:8:16 fpmac:32:32; do
  IFS=: read -r class word sum <<<"$mac"
  run arch/arch.yaml arch/components/*.yaml prob/*.yaml mapper/*.yaml --define "mac_class=$class" \
    --define "input_weight_datawidth=$word" --define "psum_datawidth=$sum" >"$work/tally"
  row "tutorial timeloop+accelergy, $class" "$work/tally"
done
