#!/usr/bin/env bash
# mutate.sh RTL OUT FILE EXPRESSION: a copy of the folder RTL in OUT in which sed's EXPRESSION has changed FILE.
set -euo pipefail
rtl=$1 out=$2 file=$3 expression=$4
rm -rf "$out"
mkdir -p "$out"
cp "$rtl"/*.sv "$rtl"/*.svh "$out"
sed -i "$expression" "$out/$file"
! cmp -s "$rtl/$file" "$out/$file" || {
  printf '%s: %s changes nothing\n' "$file" "$expression" >&2
  exit 1
}
