#!/usr/bin/env bash
# kill_writers.sh ORRERY ROOT [TIMES]: ends what writes files with SIGKILL at random moments, TIMES times (100) each:
# `tune train`, `tune bench`, `sparse study`, `map -o`. Files are whole after each, nothing that was stored is lost or
# stored twice, and what is finished in the end is what an undisturbed run leaves, and nothing else. kill.sh does the
# same to `sweep`.
set -uo pipefail

orrery=$(realpath "$1") ROOT=$(realpath "$2")
times=${3:-100}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
RANDOM=${ORRERY_SEED:-7}
failures=0
problem() {
  printf 'kill_writers.sh: %s\n' "$*"
  failures=$((failures + 1))
}

"$ROOT/tests/tiny_checkpoint.sh" bert bert
{ printf 'text,label\n' && for i in {1..40}; do echo "w$((i % 9)) w3 w$((i % 7)),$((i % 2))"; done; } >rows.csv
mkdir rte
{
  printf 'index\tsentence1\tsentence2\tlabel\n'
  for i in {1..24}; do printf '%d\tw%d w3\tw%d\t%s\n' $i $((i % 9)) $((i % 7)) "$( ((i % 2)) && echo not_)entailment"; done
} >rte/train.tsv
cp rte/train.tsv rte/dev.tsv

# measure COMMAND...: `whole_ms`, how long it takes undisturbed.
measure() {
  local begun
  begun=$(date +%s%3N)
  "$orrery" "$@" --quiet >/dev/null 2>said || { cat said && exit 1; }
  whole_ms=$(($(date +%s%3N) - begun + 1))
}
# end_at_random COMMAND...: within what a whole one takes, mostly; 1: it had ended by itself.
end_at_random() {
  local wait_ms=$((RANDOM * whole_ms / 32768 * 5 / 4)) job
  "$orrery" "$@" --quiet >/dev/null 2>said &
  job=$!
  sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
  kill -9 $job 2>/dev/null && { wait $job 2>/dev/null; return 0; }
  wait $job || { problem "$* fails" && cat said; }
  return 1
}
same() { # WHOLE FOLDER: the same files
  diff -r "$1" "$2" >differs || { problem "$2 is not $1" && head -n 5 differs; }
}

train=(tune train --checkpoint bert --data rows.csv --task classification --batch 8 --threads 1)
train+=(--steps 120 --save-every 5)
measure "${train[@]}" -o trained
killed=0 finished=0
while ((killed < times)); do
  more=() && [[ ! -e killed/training_state.safetensors ]] || more=(--resume)
  # Weights without a state are from a run that was ended before both were there.
  [[ ${more[*]} || ! -e killed/model.safetensors ]] || more=(--force)
  if end_at_random "${train[@]}" -o killed "${more[@]}"; then
    killed=$((killed + 1))
    [[ ! -e killed/model.safetensors ]] ||
      "$orrery" tune eval --checkpoint killed --data rows.csv >/dev/null 2>said || { problem 'weights are cut' && cat said; }
  else
    same trained killed
    rm -rf killed && finished=$((finished + 1))
  fi
done
# shellcheck disable=SC2046 # it is one word
[[ ! -e killed ]] || { "$orrery" "${train[@]}" -o killed --quiet $([[ ! -e killed/training_state.safetensors ]] && echo --force || echo --resume) >/dev/null 2>said; same trained killed; }
printf 'tune train: killed %d times, finished %d times in between\n' $killed $finished

study=(sparse study rte --data rte --checkpoint bert --static dense --steps 40 --batch 8 --threads 1)
measure "${study[@]}" -o studied
killed=0 finished=0
while ((killed < times)); do
  more=() && [[ ! -d studying ]] || more=(--resume)
  if end_at_random "${study[@]}" -o studying "${more[@]}"; then
    killed=$((killed + 1))
    for each in studying/*/model.safetensors; do
      [[ ! -e $each ]] || "$orrery" tune eval --checkpoint "${each%/*}" --data rows.csv --task classification >/dev/null 2>said ||
        { problem "$each is cut" && cat said; }
    done
  else
    same studied studying
    rm -rf studying && finished=$((finished + 1))
  fi
done
printf 'sparse study: killed %d times, finished %d times in between\n' $killed $finished

bench=(tune bench --size "B=1,J=16,H=2,P=8,I=16,U=32" --kernel QKT --threads 1)
measure "${bench[@]}" -o benched
killed=0 finished=0
while ((killed < times)); do
  rm -rf before && { [[ ! -d benching ]] || cp -r benching before; }
  if end_at_random "${bench[@]}" -o benching --resume; then killed=$((killed + 1)); else finished=$((finished + 1)); fi
  for each in benching/*.csv benching/*.txt; do
    [[ -e $each ]] || continue
    kept=before/${each##*/}
    # Of a line that a kill cut short its beginning is there, and goes when the file is next read.
    [[ ! -e $kept || $(tail -c 1 "$kept" | wc -l) == 0 ]] || cmp -s "$kept" <(head -c "$(stat -c %s "$kept")" "$each") ||
      problem "a line of $each is lost"
    # Measurements are known by all but their time.
    [[ -z $(sed 's/,[^,]*,$//' "$each" | sort | uniq -d) ]] || problem "a line of $each is there twice"
  done
  ((finished < 3 || killed * 2 < times)) || rm -rf benching
done
printf 'tune bench: killed %d times, finished %d times in between\n' $killed $finished

map=(map --chip gemmini --model bert-base --threads 1)
measure "${map[@]}" -o mapped
killed=0 finished=0
# All but how long it took.
untimed() { sed -E 's/"(seconds|wall_seconds)": [0-9.e+-]+/"\1": 0/' "$1"; }
while ((killed < times)); do
  end_at_random "${map[@]}" -o mapping --force && killed=$((killed + 1)) || finished=$((finished + 1))
  while IFS= read -r file; do
    [[ $file == *.part ]] && continue
    cmp -s <(untimed "mapped/$file") <(untimed "mapping/$file") || problem "$file is cut"
  done < <(cd mapping 2>/dev/null && find . -type f)
done
"$orrery" "${map[@]}" -o mapping --force --quiet >/dev/null 2>said
diff <(cd mapped && find . | sort) <(cd mapping && find . | sort) || problem 'other files are left'
printf 'map -o: killed %d times, finished %d times in between\n' $killed $finished
exit $((failures > 0))
