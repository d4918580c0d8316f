#!/usr/bin/env bash
# syntax_only.sh COMPILER ARGS...: the compiler reads and checks, generates no code, and an empty object file tells the build
# that it did.
set -euo pipefail
"$@" -fsyntax-only
while (($#)) && [[ $1 != -o ]]; do shift; done
: >"$2"
