#!/usr/bin/env bash
# same_numbers.sh [-k FOLDER] [-t TASKS] [-j JOBS] OLD NEW [ROOT_OLD] [ROOT_NEW]: two programs `orrery`, of before and after a change that may
# move no number, print the same. ROOT_*, for which $ROOT stands in commands: their checkouts (default: around the program, else
# this one).
#
# Run are the commands of tests/cli/*.test, tests/errors/*/command and the documents that tests/CMakeLists.txt lists, all as
# ROOT_OLD has them and in the folders that run_cli.sh, run_error.sh and run_document.sh make (what they expect does not matter
# here), and those of `more` below over the catalogue, the examples and the goldens of ../shared. Each call of orrery among them
# is one command: it is run as it is, and before that in a copy of its folder with --json. Compared are
#
#   JSON      key by key: numbers exactly, texts too; but where a text has blanks, only the numbers in it, and where its key is
#             one of PROSE nothing: such are counted. Times, `version`, `hash` and `command` are left out
#   stdout    the numbers in it, in turn, times left out; of `explain`, `schema` and --help nothing, nor of
#             verbs whose tables have measured times (TIMED), whose documents are compared
#   stderr    codes of diagnostics and places (file:line:column), in turn
#   the exit code
#
# What measures this machine or stops at a limit of time (`measures` below) counts as left out: of it the exit code is compared.
# Not run at all: tests/cli/startup.test and explain.test, and commands that send signals. Each program runs on one processor, so that the counters
# of a search are the same, JOBS (default: ORRERY_JOBS, else as many as there are) at a time.
#
# -k FOLDER keeps what OLD printed, and the commands: as long as OLD is the same file, what it was run with is not run again.
# -t TASKS: only those whose name has the regular expression in it: cli/map, documents/docs/train, errors/O1234, cli/more_place.
# The exit code is 1 if anything differs. Needs python3.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

# Whether what `orrery $@` prints depends on the clock or the machine.
measures() {
  local all=" $* "
  [[ $all =~ ^\ (tune\ (run|bench|layouts|ledger)|sparse\ (bench|break-even)|doctor)\  || $all == *' this-machine '* ||
    $all =~ \ --(time-limit|stop-after|cpu|repeat|machine)[\ =] ]]
}

# This script in the place of orrery, called by a runner: keeps what $SAME_PROGRAM prints in a folder of $SAME_RECORDS.
record() {
  local scratch=${PATH%%/keeping:*} words about name kept copy number=0 kind=plain input='' code=0
  scratch=${scratch%%/bin:*} scratch=${scratch##*:}
  [[ $PATH == *"$scratch"/keeping:* || $SAME_TASK == errors/* ]] || exec "$SAME_PROGRAM" "$@" # signals, closed streams
  words=("${@//"$scratch"/SCRATCH}") words=("${words[@]//"$ROOT"/ROOT}") words=("${words[@]//"$SAME_SHARED"/SHARED}")
  name=$SAME_TASK/$(printf '%s\0' "${words[@]}" | md5sum) name=${name%% *}
  until mkdir "$SAME_RECORDS/$name.$number" 2>/dev/null; do ((++number < 10000)) || exit 99; done
  kept=$SAME_RECORDS/$name.$number copy=$scratch/copies/$name.$number
  about=("orrery ${words[*]@Q}" "$scratch" "$ROOT")
  printf '%s\n' "${about[@]}" plain none >"$kept/about" # stays where a runner's limit of time ends it
  if measures "$@"; then
    kind=measures
  elif [[ $PWD == "$scratch"/* && ${1:--} != -* && " $* " != *' /dev/fd/'* &&
    ! " $* " =~ \ (--json|--help|-h|--plans)[\ =] ]]; then
    if [[ " $* " == *' - '* || " $*" == *' /dev/stdin'* ]]; then
      input=$kept/input
      head -c 50M >"$input" # of one without end, too
    fi
    mkdir -p "$copy"
    cp -r "$PWD" "$copy/work"
    [[ ! -d ${ORRERY_CACHE:-} ]] || cp -r "$ORRERY_CACHE" "$copy/cache"
    (cd "$copy/work" && ORRERY_CACHE=$copy/cache "$SAME_PROGRAM" "$@" --json) <"${input:-/dev/null}" >"$kept/json" 2>/dev/null || true
    rm -rf "$copy"
    [[ -z $input ]] || exec <"$input"
  fi
  "$SAME_PROGRAM" "$@" >"$kept/out" 2>"$kept/err" || code=$?
  printf '%s\n' "${about[@]}" "$kind" "$code" >"$kept/about"
  cat "$kept/out" 2>/dev/null || true
  cat "$kept/err" >&2 2>/dev/null || true
  exit "$code"
}
[[ -z ${SAME_PROGRAM:-} ]] || record "$@"

# Commands beside those of tests and documents, as TOPIC COMMAND; $1: a checkout.
more() {
  local path name
  names() { for path in "$1"/catalog/"$2"/*; do name=${path##*/} && echo "${name%.*}"; done; }
  printf 'catalog orrery %s\n' catalog 'explain --json' schema
  for name in $(names "$1" chips); do
    echo "catalog orrery catalog show $name"
    echo "energy orrery energy --chip $name"
    echo "map orrery map --chip $name --gemm 512,64,512 --gemm 96,40,1000"
    echo "map orrery map --chip $name --gemm 256,64,256 --objective energy --compat timeloop"
    echo "map orrery map --chip $name --model bert-base --seq 128"
  done
  for name in $(names "$1" models); do
    echo "catalog orrery catalog show $name"
    echo "graph orrery graph llm-fwd --model $name --seq 256"
    echo "train orrery train --model $name --system dgx-h100 --gpus 64 --global-batch 64 --tp 8"
    echo "train orrery train --model $name --system tpu-v5p --gpus 16 --global-batch 32 --tp 4 --pp 1 --by-operator"
    echo "place orrery place --model $name --system dgx-h100 --gpus 8 --global-batch 8"
    echo "decode orrery map --chip tpu-v4i --model $name --phase decode --batch 4"
  done
  for name in $(names "$1" systems); do
    echo "catalog orrery catalog show $name"
    echo "train orrery train --model llama3-8b --system $name --gpus 16 --global-batch 64 --tokens 1e12"
    echo "train orrery train --model mixtral-8x7b --system $name --gpus 64 --global-batch 64 --tp 8 --pp 2 --ep 4 --objective memory"
  done
  for name in $(names "$1" stacks); do
    echo "catalog orrery catalog show $name"
    echo "train orrery train --model llama3-70b --system dgx-h100 --gpus 128 --global-batch 256 --tp 8 --stack $name"
  done
  printf 'validate orrery validate %s --all\n' train collectives
  for path in "$1"/examples/dataflow/*.txt; do
    printf "place orrery place \"\$ROOT\"/examples/dataflow/${path##*/}%s\n" '' ' --joint' ' --log'
  done
  echo "layouts orrery tune select \"\$ROOT\"/examples/substation --relayout --why LN1=bji"
  cd "$SAME_SHARED" 2>/dev/null || return 0
  for path in goldens/nest/{gemmini,pim}/*/map.yaml; do
    echo "nest orrery eval \"\$SAME_SHARED\"/${path%/*}/{input,ERT,ART,map}.yaml --compat timeloop"
    echo "nest orrery map \"\$SAME_SHARED\"/${path%/*}/{input,ERT,ART}.yaml"
  done
  for path in goldens/nest/timeloop_master/{mappings,conv}/*/; do
    printf "nest orrery eval \"\$SAME_SHARED\"/$path*.yaml%s\n" '' ' --compat timeloop'
  done
  for path in goldens/dataflow/*/setup.txt; do
    name=$(sed -n 's/.*"compat_generation": "\(gen[1-4]\)".*/\1/p' "${path%/*}/expected.json")
    printf "dataflow orrery place \"\$SAME_SHARED\"/$path --compat $name%s\n" '' ' --log'
  done
  for path in goldens/models*/*/config.json; do
    echo "models orrery catalog show \"\$SAME_SHARED\"/$path --seq 512"
    echo "models orrery graph llm-fwd --model \"\$SAME_SHARED\"/$path --seq 128"
  done
  for path in goldens/sparse/*/Q.npy; do
    name="--q \"\$SAME_SHARED\"/$path --k \"\$SAME_SHARED\"/${path%/*}/K.npy"
    echo "sparse orrery sparse measure $name --valid \"\$SAME_SHARED\"/${path%/*}/attn_valid.npy --threshold 0.002 --compat sanger"
    [[ $path == */cloth_* ]] || echo "sparse orrery sparse sweep $name --threshold 0.001,0.01 --bits 2,4"
  done
  for path in goldens/sparse/static_masks/*_s128_*.npy; do printf "sparse orrery sparse %s \"\$SAME_SHARED\"/$path\n" pack simulate; done
  for path in seeds/timeloop-experiments/*/ seeds/sanger/configs/*/; do echo "check orrery check \"\$SAME_SHARED\"/$path"; done
}

# One task by name, runner and file, if it is asked for.
give() { [[ ! $1 =~ $wanted ]] || printf '%s\0' "$@"; }

# One task, on the processor of its slot, unless it was done before.
task() {
  local processors code=0
  [[ ! -e $SAME_RECORDS/$1/done ]] || return 0
  read -ra processors <<<"$SAME_PROCESSORS"
  rm -rf "${SAME_RECORDS:?}/$1" && mkdir -p "$SAME_RECORDS/$1"
  SAME_TASK=$1 taskset -c "${processors[SAME_SLOT % ${#processors[@]}]}" \
    "$here/$2" "$here/same_numbers.sh" "$SAME_ROOT" "$3" >/dev/null 2>&1 || code=$?
  ((code > 1)) || : >"$SAME_RECORDS/$1/done"
}
export -f task
export here

# run_all PROGRAM ROOT RECORDS: the tasks of $kept.
run_all() {
  local file
  cd "$kept/commands"
  {
    for file in cli/*.test; do [[ $file =~ ^cli/(startup|explain).test ]] || give "${file%.test}" run_cli.sh "$PWD/$file"; done
    find documents -name '*.md' -print0 | while read -rd '' file; do give "${file%.md}" run_document.sh "$PWD/$file"; done
    for file in errors/*/command; do give "${file%/command}" run_error.sh "$PWD/${file%/command}"; done
  } | SAME_PROGRAM=$1 SAME_ROOT=$2 SAME_RECORDS=$3 xargs -0 -n 3 -P "$jobs" --process-slot-var=SAME_SLOT bash -c 'task "$@"' task
}

# compare RECORDS_OLD RECORDS_NEW: prints what differs, and the sums.
compare() {
  python3 - "$@" <<'END'
import json, os, re, sys

PROSE = {"message", "notes", "hints", "note", "description", "title"}
LEFT_OUT = {"timing", "version", "hash", "command"}
TIMES = re.compile(
    r"(certificate|certified|packing\..*)\.seconds$|\.(dense_ms|sparse_ms|predict_ms|train_seconds|eval_seconds|begun|changed)$")
TIMED = re.compile(r"orrery '(tune' '(embed|eval|generate|train)|sparse' '(run|study|sweep|pack))'")  # of which `seconds` are measured
COUNTERS = {"evaluated", "bounded", "pruned"}  # of two threads and more, which race
TEXT_TIMES = re.compile(
    r"(?:(?<=optimal)|(?<=no mapping)|(?<=%)|(?<=not finished)) +[\d.]+$|certified by a slower search in [\d.]+ s|Optimizer Runtime .*"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.M)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
SAID = re.compile(r"^(?:error|warning|note)\[O\d+\]|^ *--> .*:\d+:\d+$", re.M)


class Command:
    def __init__(self, folder):
        self.line, *places, kind, self.code = open(folder + "/about", errors="replace").read().rstrip().rsplit("\n", 4)
        self.measures = kind == "measures" and self.code != "2"
        self.text = {"out": "", "err": ""}
        for name in os.listdir(folder):
            text = open(f"{folder}/{name}", errors="surrogateescape").read()
            for place, instead in zip(places, ("SCRATCH", "ROOT")):
                text = text.replace(place, instead)
            self.text[name] = text


class Comparison:
    def __init__(self, old, new):
        self.found, self.prose = [], 0
        self.timed = TIMED.match(old.line)
        self.threads = re.search(r"'(-j|--threads|--jobs)=?' ?'?([2-9]|1\d)", old.line)
        self.differ("exit code", old.code, new.code)
        if old.measures or new.measures:
            return
        self.differ("stderr", *(SAID.findall(one.text["err"]) for one in (old, new)))
        prose = re.match(r"orrery '(explain|schema)'|.*'(--help|-h)'", old.line) and "'--json'" not in old.line
        for name in ("json",) if prose else ("json", "out"):
            self.document(name, old.text.get(name, ""), new.text.get(name, ""))

    def differ(self, place, old, new):
        if old != new:
            self.found.append(f"{place}: {str(old)[:200]} -> {str(new)[:200]}")

    def document(self, name, old, new):
        try:
            documents = json.loads(old), json.loads(new)
        except ValueError:
            return self.timed or self.numbers(name, TEXT_TIMES.sub("", old), TEXT_TIMES.sub("", new))
        self.json(*documents, name, "")

    def numbers(self, name, old, new):
        a, b = list(NUMBER.finditer(old)), list(NUMBER.finditer(new))
        for i in range(max(len(a), len(b))):
            x, y = (found[i] if i < len(found) else None for found in (a, b))
            if not x or not y or x[0] != y[0]:
                lines = (t[t.rfind("\n", 0, m.start()) + 1 :].split("\n")[0].strip() if m else "(no more)" for t, m in ((old, x), (new, y)))
                return self.found.append("{}, number {}: {} -> {}\n    {}\n    {}".format(name, i + 1, x and x[0], y and y[0], *lines))

    def json(self, old, new, place, key):
        if isinstance(old, dict) and isinstance(new, dict):
            for name in {**old, **new}:
                inner = f"{place}.{name}"
                if not (name in LEFT_OUT or TIMES.search(inner) or self.threads and name in COUNTERS or self.timed and name == "seconds"):
                    self.json(old.get(name, "(no such key)"), new.get(name, "(no such key)"), inner, name)
        elif isinstance(old, list) and isinstance(new, list):
            self.differ(f"length of {place}", len(old), len(new))
            for i, (a, b) in enumerate(zip(old, new)):
                self.json(a, b, f"{place}[{i}]", key)
        elif isinstance(old, str) and isinstance(new, str) and old != new and "(no such key)" not in (old, new) and (
            key in PROSE or " " in old and " " in new and NUMBER.findall(old) == NUMBER.findall(new)):
            self.prose += 1
        else:
            self.differ(place, json.dumps(old) if old is True or old is False else old, new if type(new) is not bool else json.dumps(new))


old, new = ({os.path.relpath(path, root): path for path, _, files in os.walk(root) if "about" in files} for root in sys.argv[1:3])
equal, differ, left, prose = 0, 0, 0, 0
for name in sorted(name for name in {**old, **new} if re.search(sys.argv[3], os.path.dirname(name))):
    if name not in old or name not in new:
        print(f"{Command(old.get(name) or new.get(name)).line}\n  {name}: run with {'OLD' if name in old else 'NEW'} only")
        differ += 1
        continue
    a, b = Command(old[name]), Command(new[name])
    compared = Comparison(a, b)
    prose += compared.prose
    if compared.found:
        print(f"{a.line}\n  {name}", *compared.found[:5], *(["..."] if compared.found[5:] else []), sep="\n  ")
        differ += 1
    elif a.measures or b.measures:
        left += 1
    else:
        equal += 1
print(f"{prose} texts in documents read differently")
print(f"{equal + differ + left} commands: {equal} equal, {differ} differ, {left} left out (measure times)")
sys.exit(differ > 0 or not old)
END
}

jobs=${ORRERY_JOBS:-$(nproc)} kept='' wanted=''
while getopts k:t:j: option; do
  case $option in
    k) kept=$OPTARG ;;
    t) wanted=$OPTARG ;;
    j) jobs=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
(($# >= 2 && $# <= 4)) || { sed -n '2s/^# //p' "$0" >&2 && exit 2; }

# The checkout around a program, or else this one.
root_of() {
  local folder=$1
  until [[ $folder == / || -d $folder/catalog && -d $folder/examples ]]; do folder=$(dirname "$folder"); done
  if [[ $folder == / ]]; then dirname "$here"; else echo "$folder"; fi
}
old=$(realpath -e "$1") new=$(realpath -e "$2")
root_old=$(realpath -e "${3:-$(root_of "$old")}") root_new=$(realpath -e "${4:-$(root_of "$new")}")
SAME_SHARED=$(realpath -m "$here/../../shared")
SAME_PROCESSORS=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
export SAME_SHARED SAME_PROCESSORS
[[ -d $SAME_SHARED ]] || echo "same_numbers.sh: $SAME_SHARED is not there, nor are its goldens compared" >&2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
kept=$(realpath "${kept:-$scratch/kept}")
mkdir -p "$kept"
if ! cmp -s "$old" "$kept/program"; then
  rm -rf "$kept"/{commands,records,program}
  mkdir -p "$kept/commands"
  cp -r "$root_old/tests/cli" "$root_old/tests/errors" "$kept/commands"
  sed -i '\|/tests/kill.sh|d' "$kept/commands/cli/sweep.test"
  read -ra documents < <(sed -n 's/^ *foreach(document \(.*\))$/\1/p' "$root_old/tests/CMakeLists.txt")
  for document in "${documents[@]}"; do install -D "$root_old/$document.md" "$kept/commands/documents/$document.md"; done
  more "$root_old" | while read -r topic command; do printf '  $ %s\n' "$command" >>"$kept/commands/cli/more_$topic.test"; done
  cp "$old" "$kept/program"
fi
run_all "$old" "$root_old" "$kept/records"
run_all "$new" "$root_new" "$scratch/records"
compare "$kept/records" "$scratch/records" "$wanted"
