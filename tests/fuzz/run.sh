#!/usr/bin/env bash
# run.sh FUZZER SECONDS OUTPUT_FOLDER: runs a libFuzzer program for so long on what the project's own files lead to. Prints how
# many inputs it tried; fails when one crashed, hung for 10 s or took 2 GiB, and leaves that input in OUTPUT_FOLDER.
set -euo pipefail
fuzzer=$(realpath "$1") seconds=$2 output=$3
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
name=$(basename "$fuzzer")
mkdir -p "$output/corpus/$name"
seeds=()
for folder in examples catalog tests/errors tests/fuzz_corpus; do
  [[ ! -d $folder ]] || seeds+=("$folder")
done
if "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
  -artifact_prefix="$output/$name-" "$output/corpus/$name" "${seeds[@]}" >"$output/$name.log" 2>&1; then
  sed -n "s/^stat::number_of_executed_units: */$name, inputs tried: /p" "$output/$name.log"
else
  tail -n 60 "$output/$name.log"
  exit 1
fi
