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

mapfile -t product < <(find src \( -name '*.h' -o -name '*.cc' \) ! -name '*_test.cc' ! -name '*_bench.cc' ! -name '*_fuzz.cc' \
  ! -name '*_test_*.h')
mapfile -t tests < <(find src tests/cli \( -name '*_test.cc' -o -name '*.test' \))
mapfile -t pages < <(find catalog/errors -name '*.md' 2>/dev/null | sort)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/pages"
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

((${#pages[@]} == 0)) || awk '
  function check_page() {
    if (page == "") return
    if (!example) printf "%s:1: lacks the heading \047## Example\047\n", page
    if (!way_out) printf "%s:1: lacks the heading \047## Way out\047\n", page
  }
  FNR == 1 {
    check_page()
    page = FILENAME
    example = way_out = 0
    code = page
    gsub(/.*\/|\.md$/, "", code)
    if (index($0, "# " code ": ") != 1) printf "%s:1: the first line must be \047# %s: short title\047\n", page, code
  }
  $0 == "## Example" { example = 1 }
  $0 == "## Way out" { way_out = 1 }
  END { check_page() }' "${pages[@]}" >"$scratch/pages"
if [[ -s $scratch/pages ]]; then breach "$(cat "$scratch/pages")"; fi
exit $((breaches > 0))
