#!/usr/bin/env bash
# caught.sh PROGRAM FOLDER: the bench of a module with the seeded defect of FOLDER must fail, and print the stimulus that shows it.
set -uo pipefail
if [[ -e $2/unchanged ]]; then
  cat "$2/unchanged"
  exit 1
fi
output=$("$1" 2>&1)
code=$?
printf '%s\n' "$output"
((code == 1)) && grep -q 'the shortest failing stimulus' <<<"$output"
