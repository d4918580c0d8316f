#!/usr/bin/env bash
# includes.sh ROOT: a file may include only what stands on the floors below its own.
# Floors and rules: ARCHITECTURE.md. Prints file:line of every breach; exit code 1 when there is one.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
cd "${1:-.}"

mapfile -t sources < <(find src -name '*.h' -o -name '*.cc' | sort)
awk -f "$here/includes.awk" "${sources[@]}"
