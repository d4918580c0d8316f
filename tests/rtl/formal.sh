#!/usr/bin/env bash
# formal.sh YOSYS RTL: proves the assertions that stand in the modules under FORMAL, by induction, for all states and inputs after a
# reset; then breaks each module, and the proof must fail.
set -euo pipefail
yosys=$1 rtl=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

prove() { # FOLDER MODULE
  "$yosys" -Q -T -p "read_verilog -formal -sv $1/fifo.sv $1/pack_unit.sv $1/packer.sv $1/channel.sv $1/request_program.sv $1/controller.sv; prep -flatten -top $2; memory_map; async2sync;
    sat -verify -tempinduct -prove-asserts -set-assumes -set-at 1 rst 1 -seq 1 -maxsteps 8 $2" 2>&1
}

failed=0
holds() { # MODULE
  if grep -q 'Induction step proven: SUCCESS!' <<<"$(prove "$rtl" "$1")"; then
    printf '%s: proven\n' "$1"
  else
    printf '%s: NOT proven\n' "$1"
    failed=1
  fi
}
breaks() { # MODULE FILE EXPRESSION
  rm -rf "$scratch/rtl" && mkdir "$scratch/rtl" && cp "$rtl"/*.sv "$rtl"/*.svh "$scratch/rtl"
  sed -i "$3" "$scratch/rtl/$2"
  cmp -s "$rtl/$2" "$scratch/rtl/$2" && { printf '%s: %s changes nothing\n' "$2" "$3"; failed=1; }
  if grep -q 'proven: SUCCESS!' <<<"$(prove "$scratch/rtl" "$1")"; then
    printf '%s: proven although it is broken by %s\n' "$1" "$3"
    failed=1
  else
    printf '%s: not proven when broken by %s\n' "$1" "$3"
  fi
}
holds fifo
holds pack_unit
holds packer
holds channel
holds controller
breaks fifo fifo.sv "s/in_ready = count != COUNT_BITS'(DEPTH)/in_ready = 1'b1/"
breaks fifo fifo.sv "s/in_ready = count != COUNT_BITS'(DEPTH)/& \&\& (first != LAST || count == '0)/"
breaks pack_unit pack_unit.sv "s/count <= full ? '0 : count/count <= count/"
breaks packer packer.sv "s/columns == PORT_BITS'(PORTS);/columns == PORT_BITS'(PORTS + 1);/"
breaks channel channel.sv "s/assign last = comes/assign last = in_valid/"
breaks controller controller.sv "s/merged_blocks_n + 2 > executed_blocks_n/merged_blocks_n + 3 > executed_blocks_n/"
exit "$failed"
