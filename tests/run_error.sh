#!/usr/bin/env bash
# run_error.sh ORRERY ROOT tests/errors/<CODE>[-variant] [CHECKER]: one bad input and what Orrery must say about it, also
# as JSON, at which CHECKER (check_documents.cc) looks.
#
# The folder holds the input files, `command` (run by bash in a copy of the folder) and `expected`. In the first folder of
# a code that is all that stdout and stderr print, with `...` as in run_cli.sh; in its other folders, so that a better
# wording changes one file, only the codes, places and carets (places.awk). `[N]` is its last line where the exit code is
# not 2 (`[0]` for a warning). The output must name the code. Where a message points into a file
# (`--> file:line:column`), the file must have that line, the source window must show it, and the caret
# must stand under that column. ORRERY_ACCEPT=1 writes what was printed into `expected` instead.
set -uo pipefail

binary=$(realpath "$1")
ROOT=$(realpath "$2")
folder=$(realpath "$3")
name=$(basename "$folder")
code=${name%%-*}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$binary" "$scratch/bin/orrery"
cp -r "$folder" "$scratch/work"
cd "$scratch/work" || exit 1
export ORRERY_CACHE="$scratch/cache"
export ROOT NO_COLOR=1 LC_ALL=C.UTF-8
plain=$PATH PATH="$scratch/bin:$PATH"

failures=0
problem() {
  printf 'tests/errors/%s: %s\n' "$name" "$*"
  failures=$((failures + 1))
}

[[ $code =~ ^O[0-9]{4}$ ]] || problem "the folder's name must begin with a code, such as O0312"
[[ -f command ]] || { problem "has no file 'command'" && exit 1; }
timeout 60 bash ./command </dev/null >"$scratch/raw" 2>&1
exit_code=$?
awk -v root="$ROOT" '{
  while (root != "" && (at = index($0, root))) $0 = substr($0, 1, at - 1) "$ROOT" substr($0, at + length(root))
  print
}' "$scratch/raw" >"$scratch/actual"

wanted_code=2
: >"$scratch/expected"
if [[ -f expected ]]; then
  last=$(tail -n 1 expected)
  if [[ $last =~ ^\[([0-9]+)\]$ ]]; then
    wanted_code=${BASH_REMATCH[1]}
    sed '$d' expected >"$scratch/expected"
  else
    cp expected "$scratch/expected"
  fi
fi

grep -qF "[$code]" "$scratch/actual" || problem "the output does not name $code"
while IFS= read -r place; do
  [[ $place =~ ^\ *--\>\ (.*):([0-9]+):([0-9]+)$ ]]
  file=${BASH_REMATCH[1]} line=${BASH_REMATCH[2]} column=${BASH_REMATCH[3]}
  file=${file/#"\$ROOT"/"$ROOT"}
  if [[ ! -f $file ]]; then
    [[ $file == '<'* ]] || problem "points into '$file', which does not exist"
    continue
  fi
  source=$(sed -n "${line}p" "$file")
  ((column <= ${#source} + 1)) || problem "$file:$line has no column $column"
  # The window: `NN | source`, and below it `   |    ^^^`. Tabs may be drawn as spaces.
  window=$(awk -v place="$place" -v number="$line" '
    $0 == place { near = 1 }
    near && index($0, "|") && $1 == number && $2 == "|" { print; getline; print; exit }' "$scratch/actual")
  drawn=${window%%$'\n'*} carets=${window##*$'\n'}
  drawn=${drawn#*|}
  [[ -n $window && ${drawn//[[:space:]]/} == "${source//[[:space:]]/}" ]] || problem "does not show line $line of $file"
  carets=${carets#*|} before=${carets%%^*}
  [[ $carets == *^* ]] || problem "draws no caret under line $line of $file"
  [[ $source == *$'\t'* ]] || ((${#before} == column)) || problem "the caret stands at column ${#before}, not $column"
done < <(grep -E '^ *--> .*:[0-9]+:[0-9]+$' "$scratch/actual")

if [[ -n ${4:-} ]]; then
  mkdir "$scratch/keeping" "$scratch/documents"
  ln -s "$ROOT/tests/keep_documents.sh" "$scratch/keeping/orrery"
  cp -r "$folder" "$scratch/again"
  (cd "$scratch/again" && PATH=$scratch/keeping:$plain ORRERY=$binary DOCUMENTS=$scratch/documents ALL_JSON=1 \
    timeout 60 bash ./command </dev/null >"$scratch/raw" 2>&1)
  (($? == exit_code)) || problem 'the exit code with --json is another one'
  said=$("$4" "$scratch"/documents/*) || problem "$said"
fi

folders=("$ROOT/tests/errors/$code"*)
if [[ ${folders[0]##*/} != "$name" ]]; then
  awk -f "$ROOT/tests/places.awk" "$scratch/actual" >"$scratch/places"
  mv "$scratch/places" "$scratch/actual"
fi

if [[ -n ${ORRERY_ACCEPT:-} ]]; then
  cp "$scratch/actual" "$folder/expected"
  ((exit_code == 2)) || printf '[%d]\n' "$exit_code" >>"$folder/expected"
  printf 'accepted tests/errors/%s (exit code %d)\n' "$name" "$exit_code"
  exit $((failures > 0))
fi

[[ -f expected ]] || problem "has no file 'expected' (ORRERY_ACCEPT=1 writes it)"
((exit_code == wanted_code)) || problem "exit code $exit_code instead of $wanted_code"
said=$(awk -f "$ROOT/tests/match.awk" "$scratch/expected" "$scratch/actual") || problem "$said"
if ((failures)); then
  printf -- '--- expected\n' && cat "$scratch/expected"
  printf -- '--- printed\n' && cat "$scratch/actual"
fi
exit $((failures > 0))
