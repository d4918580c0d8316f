#!/usr/bin/env bash
# run_cli.sh ORRERY ROOT FILE.test [CHECKER]: runs the commands of a text test and compares what they print. CHECKER
# (check_documents.cc) looks at the JSON documents among it.
#
# The format is cram's. Unindented lines are prose. Indented by two spaces:
#
#     $ orrery --version              a command, run by bash in one fresh folder per file
#     > --json                        the command goes on (here-documents too)
#     orrery 0.1.0                    what stdout and stderr together must print; `...` stands for any
#     ...                             text, and alone on a line for any number of lines
#     [2]                             the exit code, when it is not 0
#
# In the commands, $ROOT is the checkout. ORRERY_ACCEPT=1 writes what was printed into the test instead.
set -uo pipefail

binary=$(realpath "$1")
ROOT=$(realpath "$2")
test=$(realpath "$3")
matcher=$ROOT/tests/match.awk
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work" "$scratch/bin" "$scratch/keeping" "$scratch/documents"
ln -s "$binary" "$scratch/bin/orrery"
ln -s "$ROOT/tests/keep_documents.sh" "$scratch/keeping/orrery"
cd "$scratch/work" || exit 1
export ORRERY_CACHE="$scratch/cache"
export ROOT PATH="$scratch/bin:$PATH" NO_COLOR=1 LC_ALL=C.UTF-8 ORRERY=$binary DOCUMENTS=$scratch/documents

command='' command_line=0 number=0 failures=0 ran=0
: >"$scratch/expected"
: >"$scratch/accepted"

# Runs the pending command and compares; the expectation so far stands in $scratch/expected.
finish() {
  [[ -n $command ]] || return 0
  # Who sends signals or closes streams must meet the program itself.
  local path=$scratch/keeping:$PATH
  [[ ! $command =~ kill|timeout|/dev/full|'>&-' ]] || path=$PATH
  PATH=$path timeout 120 bash -c "$command" </dev/null >"$scratch/raw" 2>&1
  local code=$? said
  ran=$((ran + 1))
  awk -v root="$ROOT" '{
    while (root != "" && (at = index($0, root))) $0 = substr($0, 1, at - 1) "$ROOT" substr($0, at + length(root))
    print
  }' "$scratch/raw" >"$scratch/actual"
  ((code == 0)) || printf '[%d]\n' "$code" >>"$scratch/actual"
  if said=$(awk -f "$matcher" "$scratch/expected" "$scratch/actual"); then
    sed 's/^/  /' "$scratch/expected" >>"$scratch/accepted"
  else
    sed 's/^/  /' "$scratch/actual" >>"$scratch/accepted"
    failures=$((failures + 1))
    printf '%s:%d: %s\n  $ %s\n' "$test" "$command_line" "$said" "$command"
    printf -- '--- expected\n' && cat "$scratch/expected"
    printf -- '--- printed\n' && cat "$scratch/actual"
  fi
  command=''
  : >"$scratch/expected"
}

while IFS= read -r line || [[ -n $line ]]; do
  number=$((number + 1))
  case $line in
    '  $ '*)
      finish
      command=${line:4}
      command_line=$number
      printf '%s\n' "$line" >>"$scratch/accepted"
      ;;
    '  > '* | '  >')
      command+=$'\n'${line:4}
      printf '%s\n' "$line" >>"$scratch/accepted"
      ;;
    '  '*)
      if [[ -z $command ]]; then
        printf '%s:%d: expected output without a command\n' "$test" "$number"
        exit 1
      fi
      printf '%s\n' "${line:2}" >>"$scratch/expected"
      ;;
    *)
      finish
      printf '%s\n' "$line" >>"$scratch/accepted"
      ;;
  esac
done <"$test"
finish

if ((ran == 0)); then
  printf '%s: has no command\n' "$test"
  exit 1
fi
if [[ -n ${4:-} ]] && ! "$4" "$scratch"/documents/*; then
  printf '%s: these documents are not what their schemas describe\n' "$test"
  exit 1
fi
if [[ -n ${ORRERY_ACCEPT:-} ]] && ((failures)); then
  cp "$scratch/accepted" "$test"
  printf 'accepted %d changes in %s\n' "$failures" "$test"
  exit 0
fi
exit $((failures > 0))
