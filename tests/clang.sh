#!/usr/bin/env bash
# clang.sh CHECKOUT BUILD_FOLDER: every source through clang++-14, so that a second compiler's opinion is not a surprise, and
# the fuzzers without sanitizers. Exit code 77: there is no such compiler.
set -euo pipefail
checkout=$1 build=$2
if ! command -v clang++-14 >/dev/null; then
  echo "clang++-14 is not installed: no source was compiled with clang, and no fuzzer was run"
  exit 77
fi
cmake -S "$checkout" -B "$build" -G Ninja -Wno-dev -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG='-O0 -D_GLIBCXX_ASSERTIONS' -DORRERY_FUZZERS=ON -DORRERY_SYNTAX_ONLY=ON >"$build.log" 2>&1 || {
  cat "$build.log"
  exit 1
}
cmake --build "$build" --parallel "${ORRERY_JOBS:-$(nproc)}" -- -k 0
