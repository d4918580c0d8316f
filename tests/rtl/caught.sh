#!/usr/bin/env bash
# caught.sh PROGRAM: the bench of a module with a seeded defect must fail, and print the stimulus that shows it.
set -uo pipefail
output=$("$1" 2>&1)
code=$?
printf '%s\n' "$output"
((code == 1)) && grep -q 'the shortest failing stimulus' <<<"$output"
