#!/usr/bin/env bash
# signals.sh ORRERY ROOT CHECKER [ROUNDS [WORD]]: every verb (or those with WORD) meets SIGINT, SIGTERM and a short limit
# of time at random moments, ROUNDS times each; without ROUNDS one of them, soon. It ends within a second (of a limit:
# beside twice the limit), with an exit code that the README lists, one whole document, and files that are whole, none
# of them half-written. CHECKER (check_documents.cc) looks at the documents. ORRERY_PATIENCE: milliseconds in place of a
# second, for busy machines.
set -uo pipefail

orrery=$(realpath "$1") ROOT=$(realpath "$2") checker=$(realpath "$3")
rounds=${4:-0} only=${5:-} latest_ms=3000
((rounds)) || latest_ms=200
patience=${ORRERY_PATIENCE:-1000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export ORRERY_CACHE=$scratch/cache TMPDIR=$scratch/tmp
mkdir tmp rte
RANDOM=${ORRERY_SEED:-11}

# What the commands below read.
for f in bert gpt2; do "$ROOT/tests/tiny_checkpoint.sh" $f $f; done
for i in {1..400}; do for w in $(seq $((i % 20 + 3))); do printf 'w%d ' $(((w * w + i) % 19)); done; echo; done >texts.txt
{ printf 'text,label\n' && for i in {1..40}; do echo "w$((i % 9)) w3 w$((i % 7)),$((i % 2))"; done; } >rows.csv
for _ in 1 2; do
  printf 'index\tsentence1\tsentence2\tlabel\n'
  for i in {1..24}; do printf '%d\tw%d w3\tw%d\t%s\n' $i $((i % 9)) $((i % 7)) "$( ((i % 2)) && echo not_)entailment"; done
done >rte/both
head -n 25 rte/both >rte/train.tsv && tail -n 25 rte/both >rte/dev.tsv
"$orrery" sparse mask longformer --seq 512 --heads 2 -o mask.npy >/dev/null
# Floats: `????` is 0.75, `>>>>` 0.19.
{
  printf '\x93NUMPY\x01\x00v\x00' && printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, 512, 32), }"
  awk 'BEGIN { for (i = 0; i < 65536; ++i) printf "%s", rand() < 0.5 ? "????" : ">>>>" }'
} >q.npy
{ printf 'tp,pp\n' && for i in {1..200000}; do echo "$((1 << i % 4)),$((1 << i % 3))"; done; } >plans.csv
base=$ROOT/tests/errors/base substation=$ROOT/examples/substation

# Long enough to be met, or at once done. `limit` where the verb has --time-limit; `folder` where it writes `out`.
commands=(
  "limit folder map --chip gemmini --model bert-large --seq 4096 --fuse auto"
  "limit folder map --chip edge-npu --gemm 720720,720720,720720"
  "limit folder map --chip many-core --model gpt3-175b --seq 2048 --factors padded"
  "folder eval $base/arch.yaml $base/ERT.yaml $base/problem.yaml $base/mapping.yaml"
  "folder energy $ROOT/examples/gemmini_raw"
  "limit folder train --model gpt3-175b --system a100-selene --gpus 1024 --global-batch 1536"
  "limit train --model gpt2-small --system this-machine --gpus 1 --global-batch 8"
  "limit serve --model gpt2-small --system this-machine --isl 512 --osl 64 --concurrency 4"
  "limit train --model gpt3-175b --system a100-selene --global-batch 1536 --plans plans.csv"
  "limit folder place $ROOT/examples/dataflow/fft.txt"
  "folder graph llm --hidden 1024 --heads 16 --seq 1024 --layers 1000 --layers-in-graph 1000"
  "validate train --all"
  "sweep map --chip gemmini --gemm 512,512,512 --all --vary arch.Scratchpad.read_bandwidth=1..40 --store s.db"
  "folder sweep train --model gpt3-175b --system a100-selene --global-batch 1536 --vary gpus=64..512:64 --store t.db"
  "check $base/arch.yaml $base/problem.yaml"
  "catalog show gpt3-175b"
  "schema study"
  "explain O0702"
  "doctor"
  "limit folder tune run --model bert-large --batch 8 --seq 512"
  "limit tune run --model bert-base --batch 2 --seq 64 --test"
  "limit folder tune bench --model bert-base --batch 1 --seq 64 --resume"
  "tune ledger --model bert-large"
  "folder tune layouts --b 8 --h 16 --i 1024 --j 512"
  "limit tune select $substation"
  "limit folder tune train --checkpoint bert --data rows.csv --task classification --batch 8 --steps 20000"
  "limit tune eval --checkpoint bert --data texts.txt --task mlm"
  "limit tune embed --checkpoint bert --text texts.txt"
  "limit tune generate --checkpoint gpt2 --text texts.txt --max-new-tokens 5"
  "limit folder sparse measure --q q.npy --k q.npy --threshold 0.002"
  "limit sparse mask longformer --seq 8192 --heads 2 -o made.npy --force"
  "sparse latency --sparsity 0.1 --load-balance 0.6"
  "folder sparse pack mask.npy --effort 1000"
  "limit folder sparse pack mask.npy"
  "limit sparse run --checkpoint bert --text texts.txt --threshold 0.01 --save-masks masks --force"
  "limit folder sparse study rte --data rte --checkpoint bert --static dense --steps 2000 --batch 8"
  "limit sparse bench --model_name bert-base --seq_len 512"
  "limit sparse break-even"
  "limit folder sparse sweep --q q.npy --k q.npy --v q.npy --threshold 0.3,0.1 --bits 4,32"
  "limit folder sparse simulate mask.npy"
  "limit folder sparse design mask.npy --array 64x16x64,128x8x64 --bandwidth 8GB/s,128GB/s"
  "folder sparse rtl --tokens 64"
)

failures=0 ran=0 worst=0
problem() {
  printf 'signals.sh: %s: %s (%s, code %d, %d ms)\n' "$line" "$1" "$how" "$code" "$late"
  head -c 300 err
  failures=$((failures + 1))
}
sleep_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# meet HOW: SIGINT or SIGTERM after a random time, or --time-limit.
meet() {
  how=$1
  # shellcheck disable=SC2206 # a line is words
  local words=($line) limited='' folder='' begun pid sent wait_ms=$((RANDOM * RANDOM / 32768 * latest_ms / 32768))
  [[ ${words[0]} != limit ]] || { limited=1 && words=("${words[@]:1}"); }
  [[ ${words[0]} != folder ]] || { folder=1 && words=("${words[@]:1}"); }
  [[ $how != limit || $limited ]] || return
  [[ ! $folder ]] || words+=(-o "out/$number")
  [[ ! $folder || ${words[*]} == *--resume* ]] || words+=(--force)
  [[ ! ${words[*]} =~ 'tune train'|'sparse study' ]] || rm -rf "out/$number"
  wait_ms=$((wait_ms + 1))
  [[ $how != limit ]] || words+=(--time-limit "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))")
  begun=$(date +%s%3N)
  "$orrery" "${words[@]}" --json >answer.json 2>err &
  pid=$!
  if [[ $how == limit ]]; then
    sent=$((begun + 2 * wait_ms))
  else
    # Before the program has begun, nobody can tell it anything.
    until [[ ! -d /proc/$pid ]] || grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status" 2>/dev/null; do :; done
    sleep_ms $wait_ms
    sent=$(date +%s%3N)
    kill -s "$how" $pid 2>/dev/null
  fi
  wait $pid
  code=$?
  late=$(($(date +%s%3N) - sent))
  ran=$((ran + 1))
  ((late <= worst)) || worst=$late
  ((late <= patience)) || problem 'it went on for long'
  [[ $how != limit || $code != 130 ]] || problem 'a limit is no interrupt'
  [[ $how == limit || $code != 3 ]] || problem 'an interrupt is no limit'
  [[ $code =~ ^(0|1|3|130)$ ]] || problem 'the exit code is another one'
  # --plans prints a line a row.
  [[ $line == *--plans* ]] || { [[ -s answer.json ]] && "$checker" answer.json; } >said 2>&1 || { problem 'no document' && cat said; }
  local left
  left=$(find out masks tmp -name '*.part' -o -path 'tmp/*' 2>/dev/null)
  [[ -z $left ]] || { problem "it leaves $left" && rm -rf tmp/* && find out masks -name '*.part' -delete; }
  [[ ! -e out/$number/result.json ]] || "$checker" "out/$number/result.json" >said 2>&1 || problem 'result.json is cut'
}

mkdir out
for ((round = 0; round < (rounds ? rounds : 1); ++round)); do
  for number in "${!commands[@]}"; do
    line=${commands[$number]}
    [[ $line == *"$only"* ]] || continue
    hows=(INT TERM limit)
    ((rounds)) || hows=("${hows[RANDOM % 3]}")
    for how in "${hows[@]}"; do meet "$how"; done
  done
done
printf '%d commands met a signal or a limit, %d failures; the last ended %d ms after it\n' $ran $failures $worst
exit $((failures > 0))
