#!/usr/bin/env bash
# self_test.sh: the checks and runners beside this file can fail. Each breaks one rule in a scratch
# checkout and must be caught.
set -uo pipefail
here=$(realpath "$(dirname "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# fresh: a small checkout without breaches in $tree.
fresh() {
  tree=$(mktemp -d -p "$scratch")
  mkdir -p "$tree"/src/orrery/{base,engines/{nest,cluster},runtime/layer,formats/{yaml,timeloop,huggingface},inputs,present,cli,verbs/{map,train}} "$tree"/catalog/errors \
    "$tree"/tests/{cli,errors/O0101}
  printf '#pragma once\n#include <fmt/format.h>\n' >"$tree/src/orrery/base/a.h"
  printf '#include "orrery/base/a.h"\nauto c = "O0101";\n' >"$tree/src/orrery/engines/nest/b.cc"
  printf '#include "orrery/formats/yaml/node.h"\n' >"$tree/src/orrery/formats/timeloop/c.cc"
  printf '#include "orrery/present/table.h"\n' >"$tree/src/orrery/verbs/map/table.cc"
  printf '#pragma once\n' >"$tree/src/orrery/formats/yaml/node.h"
  printf '# O0101: title\n\n## Example\n\n## Way out\n' >"$tree/catalog/errors/O0101.md"
  cp "$here/../match.awk" "$tree/tests"
  printf '#!/bin/sh\ncat "$@"; exit 2\n' >"$tree/orrery"
  chmod +x "$tree/orrery"
}

# claim WHAT 0|1 TEXT COMMAND...: the command ends with that code and prints TEXT.
claim() {
  local what=$1 wanted=$2 text=$3 printed code
  shift 3
  printed=$("$@" 2>&1)
  code=$?
  if ((code != wanted)) || [[ $printed != *"$text"* ]]; then
    printf 'wrong: %s (exit code %d)\n%s\n' "$what" "$code" "$printed"
    failures=$((failures + 1))
  fi
}

fresh
claim "a clean checkout passes" 0 "" "$here/includes.sh" "$tree"
claim "a clean checkout passes" 0 "" "$here/lengths.sh" "$tree"
claim "a clean checkout passes" 0 "" "$here/codes.sh" "$tree"

include_breach() { # WHAT FILE TEXT MESSAGE
  fresh
  printf '%b' "$3" >"$tree/src/orrery/$2"
  claim "$1" 1 "$4" "$here/includes.sh" "$tree"
}
include_breach "a floor above is caught" base/x.cc '\n#include "orrery/engines/nest/b.h"\n' 'src/orrery/base/x.cc:2:'
include_breach "engines do not know each other" engines/nest/x.cc '#include "orrery/engines/cluster/b.h"\n' 'x.cc:1:'
include_breach "engines do not know what runs" engines/nest/x.cc '#include "orrery/runtime/layer/b.h"\n' 'x.cc:1:'
include_breach "inputs know no verb" inputs/x.cc '#include "orrery/verbs/map/run.h"\n' 'inputs may not include'
include_breach "verbs do not know each other" verbs/map/run.cc '#include "orrery/verbs/train/run.h"\n' 'may not include another'
include_breach "what is computed is not shown" verbs/map/run.cc '#include "orrery/present/table.h"\n' 'run.cc:1:'
include_breach "what is computed knows no command line" verbs/map/run.cc '#include "orrery/cli/command_line.h"\n' 'run.cc:1:'
include_breach "what is computed knows no table" verbs/map/run.cc '#include "orrery/verbs/map/table.h"\n' 'run.cc:1:'
include_breach "a short path is caught" engines/nest/x.cc '#include "a.h"\n' 'x.cc:1:'
include_breach "a foreign header in a header is caught" engines/nest/x.h '#pragma once\n#include <yaml-cpp/yaml.h>\n' 'x.h:2:'
include_breach "a header without guard is caught" engines/nest/x.h 'int a;\n' 'x.h:1:'
include_breach "a file without a room is caught" attic.cc 'int a;\n' 'attic.cc:1:'
include_breach "printing is caught" engines/nest/x.cc 'void f() { std::cout << 1; }\n' 'x.cc:1:'
include_breach "exit is caught" cli/x.cc 'void f() { exit(1); }\n' 'x.cc:1:'

length_breach() { # WHAT MESSAGE FILE COMMAND...
  fresh
  local what=$1 message=$2 file=$3
  shift 3
  "$@" >"$tree/src/orrery/$file"
  claim "$what" 1 "$message" "$here/lengths.sh" "$tree"
}
lines() { # FIRST REPEATED COUNT LAST
  printf '%s\n' "$1"
  seq "$3" | sed "s/.*/$2/"
  printf '%s\n' "$4"
}
length_breach "a file over 900 lines is caught" "long.cc:900" engines/nest/long.cc seq 901
length_breach "a function over 80 lines is caught" "x.cc:1: a function of 82" engines/nest/x.cc lines 'void f() {' '  g();' 81 '}'
length_breach "two headers of one name are caught" "has this name, too" engines/nest/a.h echo '#pragma once'
fresh
lines 'const auto t = table({' '  1,' 100 '});' >"$tree/src/orrery/engines/nest/x.cc"
claim "a long table is none" 0 "" "$here/lengths.sh" "$tree"
fresh
for number in {1..46}; do echo >"$tree/src/orrery/engines/nest/x$number.cc"; done
claim "a full folder is caught" 1 "files; at most 45" "$here/lengths.sh" "$tree"

claim "a clean checkout passes" 0 "" "$here/casts.sh" "$tree"
printf 'auto n = static_cast<base::Count>(std::ceil(x));\n' >"$tree/src/orrery/engines/nest/x.cc"
claim "a cast of a rounded value is caught" 1 "x.cc:1:" "$here/casts.sh" "$tree"
printf 'auto n = static_cast<Count>(\n    std::floor(x));\n' >"$tree/src/orrery/engines/nest/x.cc"
claim "a cast over two lines is caught" 1 "x.cc:1:" "$here/casts.sh" "$tree"
printf 'auto n = std::llround(x);\n' >"$tree/src/orrery/engines/nest/x.cc"
claim "rounding to an integer is caught" 1 "x.cc:1:" "$here/casts.sh" "$tree"

fresh
claim "a clean checkout passes" 0 "" "$here/programs.sh" "$tree"
printf 'int n = std::system(text);\n' >"$tree/src/orrery/engines/nest/x.cc"
claim "a process that is started is caught" 1 "x.cc: system" "$here/programs.sh" "$tree"

fresh
rm "$tree/catalog/errors/O0101.md"
claim "a code without page is caught" 1 "b.cc:2: O0101 has no page" "$here/codes.sh" "$tree"
fresh
rmdir "$tree/tests/errors/O0101"
claim "a code without test is caught" 1 "no test triggers O0101" "$here/codes.sh" "$tree"
fresh
printf '# O0999: title\n\n## Example\n\n## Way out\n' >"$tree/catalog/errors/O0999.md"
claim "a page without code is caught" 1 "nothing in src/ emits O0999" "$here/codes.sh" "$tree"
fresh
printf '# O0101: title\n' >"$tree/catalog/errors/O0101.md"
claim "a page without example is caught" 1 "lacks the heading" "$here/codes.sh" "$tree"

names_breach() { # WHAT CODE MESSAGE FILE TEXT
  fresh
  printf '%b' "$5" >>"$tree/$4"
  claim "$1" "$2" "$3" "$here/names.sh" "$tree"
}
# shellcheck disable=SC2016 # the backquotes are Markdown
names_breach "names of what exists pass" 0 "" ARCHITECTURE.md 'Text.\n\n| `nest/b.cc`, `c.cc` | `<x>.cc` in `src/orrery/engines/nest/` |\n'
# shellcheck disable=SC2016
names_breach "a name of a lost file is caught" 1 "ARCHITECTURE.md:2: there is no \`nest/lost.cc\`" ARCHITECTURE.md '\n`nest/lost.cc`\n'
# shellcheck disable=SC2016
names_breach "a file of another folder is caught" 1 "ARCHITECTURE.md:3: there is no \`a.h\`" ARCHITECTURE.md '| file in `nest/` | role |\n|---|---|\n| `a.h` | x |\n'
names_breach "a comment that names a lost file is caught" 1 "b.cc:3: there is no \`base/lost.h\`" src/orrery/engines/nest/b.cc '// See base/lost.h.\n'

text_test() { # WHAT CODE MESSAGE TEXT
  fresh
  printf '%b' "$4" >"$tree/tests/cli/x.test"
  claim "$1" "$2" "$3" "$here/../run_cli.sh" "$tree/orrery" "$tree" "$tree/tests/cli/x.test"
}
text_test "a true text test passes" 0 "" 'Prose.\n\n  $ echo a b c\n  a ... c\n  $ exit 3\n  [3]\n'
text_test "lines may be left out" 0 "" '  $ printf "1\\n2\\n3\\n4\\n"\n  1\n  ...\n  4\n'
text_test "no line may be left out" 0 "" '  $ printf "1\\n2\\n"\n  1\n  ...\n  2\n  ...\n'
text_test "a command may go on" 0 "" '  $ cat <<E\n  > one\n  > E\n  one\n'
text_test "a wrong line is caught" 1 "no line fits: b" '  $ echo a\n  b\n'
text_test "a missing line is caught" 1 "no line fits: b" '  $ echo a\n  a\n  b\n'
text_test "a surplus line is caught" 1 "not expected: b" '  $ printf "a\\nb\\n"\n  a\n'
text_test "a wrong exit code is caught" 1 "" '  $ exit 3\n  [2]\n'
text_test "an unannounced exit code is caught" 1 "[3]" '  $ exit 3\n'
text_test "a test without command is caught" 1 "has no command" 'Prose.\n'
text_test "an overlap does not count twice" 1 "" '  $ echo aba\n  ab...ba\n'

# An error case whose command prints a file that stands for Orrery's message.
error_test() { # WHAT CODE MESSAGE MESSAGE_TEXT EXPECTED
  fresh
  local folder=$tree/tests/errors/O0101
  printf 'name: x\nsize: -1\n' >"$folder/chip.yaml"
  printf 'orrery message\n' >"$folder/command"
  printf '%b' "$4" >"$folder/message"
  printf '%b' "$5" >"$folder/expected"
  claim "$1" "$2" "$3" "$here/../run_error.sh" "$tree/orrery" "$tree" "$folder"
}
good='error[O0101]: bad\n  --> chip.yaml:2:7\n   |\n 2 | size: -1\n   |       ^^ negative\n'
error_test "a true error case passes" 0 "" "$good" "$good"
error_test "another text is caught" 1 "no line fits" "$good" 'error[O0101]: worse\n...\n'
error_test "another code is caught" 1 "does not name O0101" "${good/O0101/O0102}" '...\n'
error_test "a wrong exit code is caught" 1 "exit code 2 instead of 0" "$good" '...\n[0]\n'
error_test "a missing caret is caught" 1 "draws no caret" "${good/^^/}" '...\n'
error_test "a place outside the file is caught" 1 "does not show line 7" "${good/:2:/:7:}" '...\n'
error_test "a file that is not there is caught" 1 "does not exist" "${good/chip/ship}" '...\n'

exit $((failures > 0))
