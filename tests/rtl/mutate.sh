#!/usr/bin/env bash
# mutate.sh RTL OUT FILE EXPRESSION: a copy of the folder RTL in OUT in which sed's EXPRESSION has changed FILE. What changes nothing
# is built all the same, and told in OUT/unchanged, so that its test fails, and not the build of all others.
set -euo pipefail
rtl=$1 out=$2 file=$3 expression=$4
rm -rf "$out"
mkdir -p "$out"
cp "$rtl"/*.sv "$rtl"/*.svh "$out"
[[ ! -f $out/$file ]] || sed -i "$expression" "$out/$file"
if [[ ! -f $out/$file ]] || cmp -s "$rtl/$file" "$out/$file"; then
  printf '%s: %s changes nothing\n' "$file" "$expression" | tee "$out/unchanged" >&2
fi
