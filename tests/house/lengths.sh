#!/usr/bin/env bash
# lengths.sh ROOT: what a reader has to take in at once is short. One idea per file: none over 900 lines, nine in ten at most
# 300. A function fits a screen or two: at most 80 lines, unless it is a table, that is, one statement. A folder has at most 45
# files. A header's name says which one is meant: no two have the same, but for the roles that every verb and every engine has.
set -euo pipefail
cd "${1:-.}"

mapfile -t sources < <(find src -name '*.h' -o -name '*.cc' | sort)
# shellcheck disable=SC2016 # the dollars are awk's
awk '
  # clang-format sets functions at namespace scope, and nothing else, so that they begin and end in the first column.
  FNR == 1 { begun = 0 }
  /^[A-Za-z_].*[)a-z&>] \{$/ && !/^(namespace|struct|class|enum|union|extern)/ { begun = FNR; statements = 0 }
  begun && /^  [^ ].*[;}]$/ { statements++ }
  /^}/ && begun {
    if (FNR - begun > 80 && statements > 2 && FILENAME !~ /_(test|bench|fuzz)\.cc$/) {
      printf "%s:%d: a function of %d lines; split it\n", FILENAME, begun, FNR - begun
      breaches++
    }
    begun = 0
  }
  { lines[FILENAME] = FNR }
  END {
    for (file in lines) {
      count++
      folder = file
      sub(/\/[^\/]*$/, "", folder)
      files[folder]++
      if (lines[file] > 900) {
        printf "%s:900: %d lines; split the file\n", file, lines[file]
        breaches++
      }
      if (lines[file] > 300) {
        number++
        long = long sprintf("  %s: %d lines\n", file, lines[file])
      }
      name = file
      sub(/.*\//, "", name)
      if (name !~ /\.h$/) continue
      if (name ~ /^(request|answer|run|options|table|json|report|picture)\.h$/ && file ~ /\/verbs\//) continue
      if (name ~ /^(model|mapping|evaluate|objective|optimize|search|space)\.h$/ && file ~ /\/(engines|formats|verbs)\//) continue
      if (name in named) {
        printf "%s:1: %s has this name, too\n", file, named[name]
        breaches++
      }
      named[name] = file
    }
    for (folder in files)
      if (files[folder] > 45) {
        printf "%s: %d files; at most 45\n", folder, files[folder]
        breaches++
      }
    if (number * 10 > count) {
      printf "%d of %d files have more than 300 lines; at most one in ten may:\n%s", number, count, long
      breaches++
    }
    exit breaches > 0
  }' "${sources[@]}"
