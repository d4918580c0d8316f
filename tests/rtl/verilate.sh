#!/usr/bin/env bash
# verilate.sh VERILATOR RTL OUT MODULE [-GPARAMETER=VALUE | OPTION...]: MODULE of the folder RTL as C++ class Vdut in OUT, and OUT/all.cc,
# which includes all of it.
set -euo pipefail
verilator=$1 rtl=$2 out=$3 module=$4
shift 4
rm -rf "$out"
mkdir -p "$out"
"$verilator" --cc --no-timing -Wall -Wno-WIDTHCONCAT -O3 --prefix Vdut --top-module "$module" -Mdir "$out" -y "$rtl" "$@" "$rtl/$module.sv"
for file in "$out"/Vdut*.cpp; do printf '#include "%s"\n' "$(basename "$file")"; done >"$out/all.cc"
