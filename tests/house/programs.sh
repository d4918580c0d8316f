#!/usr/bin/env bash
# programs.sh ROOT: what starts a process or loads a library is known. An option that leads to a new line here is one of
# `kStartPrograms` (verbs/sweep/points/study_document.cc), since no document may name what is run.
set -euo pipefail
cd "${1:-.}"

known='src/orrery/formats/cacti/child_process.cc: posix_spawn
src/orrery/formats/tokenizer/sentence_piece_library.cc: dlopen
src/orrery/runtime/tuning/contractions/blas_library.cc: dlopen
src/orrery/verbs/sparse/break_even/pytorch_attention.cc: posix_spawnp
src/orrery/verbs/sweep/points/slurm.cc: popen'

mapfile -t product < <(find src \( -name '*.h' -o -name '*.cc' \) ! -name '*_test.cc' ! -name '*_bench.cc' ! -name '*_fuzz.cc' \
  ! -name '*_test_*.h' | sort)
# `system` is a field, too: of it only `std::system(` and `::system(` are calls.
found=$(awk '
  {
    line = $0
    sub(/\/\/.*/, "", line)
    gsub(/"([^"\\]|\\.)*"/, "", line)
    calls = "((^|[^A-Za-z0-9_.>])(posix_spawnp?|v?fork|f?exec(l|le|lp|v|ve|vp|vpe|veat)|popen|dlopen)|::system)[ ]*\\("
    while (match(line, calls)) {
      call = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      gsub(/[^a-z0-9_]/, "", call)
      print FILENAME ": " call
    }
  }' "${product[@]}" | sort -u)
comm -13 <(sort <<<"$known") <(printf '%s\n' "$found" | grep -v '^$') |
  awk '{ print "starts a process or loads a library, which programs.sh does not know: " $0; breaches++ }
       END { exit breaches > 0 }'
