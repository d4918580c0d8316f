#!/usr/bin/env bash
# lengths.sh ROOT: one idea per file. None over 900 lines, nine in ten under 400.
set -euo pipefail
cd "${1:-.}"

mapfile -t sources < <(find src -name '*.h' -o -name '*.cc' | sort)
# shellcheck disable=SC2016 # the dollars are awk's
awk '
  { lines[FILENAME] = FNR }
  END {
    for (file in lines) {
      count++
      if (lines[file] > 900) {
        printf "%s:900: %d lines; split the file\n", file, lines[file]
        breaches++
      }
      if (lines[file] >= 400) {
        number++
        long = long sprintf("  %s: %d lines\n", file, lines[file])
      }
    }
    if (number * 10 > count) {
      printf "%d of %d files have 400 lines or more; at most one in ten may:\n%s", number, count, long
      breaches++
    }
    exit breaches > 0
  }' "${sources[@]}"
