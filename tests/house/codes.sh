#!/usr/bin/env bash
# codes.sh ROOT: every diagnostic code that src/ emits has a page in catalog/errors and something that
# triggers it (tests/errors/<CODE>..., a tests/cli case or a *_test.cc); every page belongs to a code.
set -euo pipefail
cd "${1:-.}"

breaches=0
breach() {
  printf '%s\n' "$*"
  breaches=$((breaches + 1))
}
codes_in() { { grep -ohE '\bO[0-9]{4}\b' "$@" || true; } | sort -u; }

mapfile -t product < <(find src \( -name '*.h' -o -name '*.cc' \) ! -name '*_test.cc' ! -name '*_bench.cc' ! -name '*_fuzz.cc')
mapfile -t tests < <(find src tests/cli \( -name '*_test.cc' -o -name '*.test' \))
mapfile -t pages < <(find catalog/errors -name '*.md' 2>/dev/null | sort)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed 's,//.*,,' "${product[@]}" | grep -oE '"O[0-9]{4}"' | tr -d '"' | sort -u >"$scratch/emitted" || true
{
  codes_in /dev/null "${tests[@]}"
  find tests/errors -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | grep -oE '^O[0-9]{4}' || true
} | sort -u >"$scratch/triggered"
printf '%s\n' "${pages[@]##*/}" | sed -n 's/\.md$//p' | sort -u >"$scratch/explained"

where() { grep -nF "\"$1\"" "${product[@]}" | head -n 1 | cut -d: -f1,2; }

while read -r code; do
  breach "$(where "$code"): $code has no page catalog/errors/$code.md"
done < <(comm -23 "$scratch/emitted" "$scratch/explained")
while read -r code; do
  breach "$(where "$code"): no test triggers $code (tests/errors/$code, tests/cli/*.test or a *_test.cc)"
done < <(comm -23 "$scratch/emitted" "$scratch/triggered")
while read -r code; do
  breach "catalog/errors/$code.md:1: nothing in src/ emits $code"
done < <(comm -13 "$scratch/emitted" "$scratch/explained")

for page in "${pages[@]}"; do
  code=$(basename "$page" .md)
  head -n 1 "$page" | grep -qE "^# $code: .+" || breach "$page:1: the first line must be '# $code: short title'"
  for heading in '## Example' '## Way out'; do
    grep -qFx "$heading" "$page" || breach "$page:1: lacks the heading '$heading'"
  done
done
exit $((breaches > 0))
