#!/usr/bin/env bash
# casts.sh ROOT: no rounded floating value becomes an integer unchecked. Beyond 2^63, and of nan, such a cast has no
# defined value, and a wrong number follows without a trace. base/numbers/whole_number.h has the checked conversions.
set -euo pipefail
cd "${1:-.}"

mapfile -t product < <(find src \( -name '*.h' -o -name '*.cc' \) ! -name '*_test.cc' ! -name '*_bench.cc' ! -name '*_fuzz.cc' \
  ! -name '*_test_*.h' | sort)
# shellcheck disable=SC2016 # the dollars are awk's
awk '
  FNR == 1 { open = "" }
  {
    line = $0
    sub(/\/\/.*/, "", line)
    # A cast may break after its parenthesis.
    if (open != "") { line = open line; number = FNR - 1 } else number = FNR
    open = ""
    if (line ~ /static_cast<[^<>]*>\([ ]*$/) { open = line; next }
    integer = "static_cast<(base::|std::)?(Count|u?int|u?int[0-9]+_t|size_t|long|long long|unsigned)>\\("
    rounded = "[ ]*std::(ceil|floor|round|trunc|rint|nearbyint|sqrt|pow|exp|log|log2|log10|ldexp)\\("
    if (line ~ integer rounded || line ~ /(^|[^a-z_])l?l(round|rint)\(/) {
      printf "%s:%d: a floating value becomes an integer; use base/numbers/whole_number.h\n", FILENAME, number
      breaches++
    }
  }
  END { exit breaches > 0 }' "${product[@]}"
