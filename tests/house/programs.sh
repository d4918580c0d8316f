#!/usr/bin/env bash
# programs.sh ROOT: what starts a process, loads a library or changes files is known. An option that leads to a new line
# here is one of `kStartPrograms` or `kWriteFiles` (verbs/sweep/points/study_document.cc): no document may name what is
# run or written. Files are written by base/text/whole_file.h.
set -euo pipefail
cd "${1:-.}"

known='src/orrery/base/text/whole_file.cc: ftruncate
src/orrery/base/text/whole_file.cc: o_creat
src/orrery/base/text/whole_file.cc: rename
src/orrery/base/text/whole_file.cc: unlink
src/orrery/cli/output_folder.cc: create_directories
src/orrery/formats/cacti/child_process.cc: mkdtemp
src/orrery/formats/cacti/child_process.cc: o_creat
src/orrery/formats/cacti/child_process.cc: posix_spawn
src/orrery/formats/cacti/child_process.cc: remove_all
src/orrery/formats/cacti/program.cc: ofstream
src/orrery/formats/cacti/run_cache.cc: create_directories
src/orrery/formats/tokenizer/sentence_piece_library.cc: dlopen
src/orrery/inputs/networks/trained_checkpoint.cc: create_directories
src/orrery/inputs/networks/trained_checkpoint.cc: rename
src/orrery/runtime/tuning/contractions/blas_library.cc: dlopen
src/orrery/verbs/sparse/break_even/pytorch_attention.cc: o_creat
src/orrery/verbs/sparse/break_even/pytorch_attention.cc: posix_spawnp
src/orrery/verbs/sweep/options.cc: remove
src/orrery/verbs/sweep/options.cc: tmpfile
src/orrery/verbs/sweep/points/slurm.cc: popen
src/orrery/verbs/sweep/store/database.cc: o_creat
src/orrery/verbs/sweep/store/database.cc: sqlite3_open_v2
src/orrery/verbs/tune/layer_plan.cc: create_directories
src/orrery/verbs/tune/tune_store.cc: create_directories
src/orrery/verbs/tune/tune_store.cc: ofstream'

mapfile -t product < <(find src \( -name '*.h' -o -name '*.cc' \) ! -name '*_test.cc' ! -name '*_bench.cc' ! -name '*_fuzz.cc' \
  ! -name '*_test_*.h' | sort)
# `system` is a field, too: of it only `std::system(` and `::system(` are calls.
found=$(awk '
  {
    line = $0
    sub(/\/\/.*/, "", line)
    gsub(/"([^"\\]|\\.)*"/, "", line)
    if (line ~ /^ *#/) line = ""
    files = "(^|[^A-Za-z0-9_])(ofstream|O_CREAT|((fs|filesystem)?::)(rename|remove|remove_all|copy|copy_file|" \
            "create_director(y|ies)|resize_file|unlink|mkdir|ftruncate)[ ]*\\(|(fopen|tmpfile|mkdtemp|mkstemps?|" \
            "sqlite3_open_v2)[ ]*\\()"
    for (rest = line; match(rest, files); rest = substr(rest, RSTART + RLENGTH)) {
      call = substr(rest, RSTART, RLENGTH)
      sub(/.*::/, "", call)
      gsub(/[^A-Za-z0-9_]/, "", call)
      print FILENAME ": " tolower(call)
    }
    calls = "((^|[^A-Za-z0-9_.>])(posix_spawnp?|v?fork|f?exec(l|le|lp|v|ve|vp|vpe|veat)|popen|dlopen)|::system)[ ]*\\("
    while (match(line, calls)) {
      call = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      gsub(/[^a-z0-9_]/, "", call)
      print FILENAME ": " call
    }
  }' "${product[@]}" | sort -u)
comm -13 <(sort <<<"$known") <(printf '%s\n' "$found" | grep -v '^$') |
  awk '{ print "starts a process, loads a library or changes files, which programs.sh does not know: " $0; breaches++ }
       END { exit breaches > 0 }'
