#!/usr/bin/env bash
# synthesis.sh YOSYS RTL [--whole | MODULE PARAMETER=VALUE... | --all | --area [PARAMETER=VALUE...] | --parts]: what synthesis
# makes of modules.
#
# Without a module it only checks: every module below the core elaborates, has no latch and no combinational loop; with --whole
# the accelerator as a whole, too. With one, or with the list below, it prints a line a module: gates and flip-flops of all below
# it, bits of memories of 16 words or more, the longest path in two-input gates, transistors in static CMOS, and an area.
# --area is the accelerator by its parts: each module is synthesised once, by itself, and counted as often as it stands there.
# --parts holds such a sum against the synthesis of the same as one: they may be 5 % apart, else it fails.
#
# Area at 45 nm: a NAND2 has 4 transistors and 0.798 um^2 in the NanGate 45 nm open cell library, so 0.2 um^2 each; a bit of a
# memory 0.45 um^2, which is what CACTI 7 finds for 256 words of 16 bits (catalog/tables/sram_cacti7.csv; few wide words take up to
# three times that).
set -euo pipefail
yosys=$1 rtl=$2
shift 2
here=$(dirname "$0")

run() { # SCRIPT
  "$yosys" -Q -T -p "$1" 2>&1
}

check() { # MODULE
  local module=$1 log
  log=$(run "read_verilog -sv $rtl/*.sv; hierarchy -check -top $module; proc; flatten; opt_clean; select -assert-none t:\$dlatch t:\$adlatch t:\$dlatchsr t:\$sr; check -assert") || {
    printf '%s: %s\n' "$module" "$(tail -n 5 <<<"$log")"
    return 1
  }
  ! grep -E 'Latch inferred|found logic loop' <<<"$log"
}

# Gates of a module; -flatten makes it and all below it one. State machines stay as they are written: looking for better codes takes
# Yosys hours in request_program.
gates() { # '' | -flatten, MODULE PARAMETERS...
  local flatten=$1 module=$2 set='' parameter paths='' log
  shift 2
  for parameter in "$@"; do set+=" -set ${parameter%=*} ${parameter#*=}"; done
  [[ -z $flatten ]] || paths='ltp -noff;'
  log=$(run "read_verilog -defer -sv $rtl/*.sv; ${set:+chparam $set $module;} hierarchy -check -top $module;
    synth $flatten -noshare -nofsm -top $module -run coarse:fine; memory_map t:\$mem_v2 r:SIZE<16 %i; opt -fast -full; opt -undriven -fine; techmap; opt -fast;
    abc -fast -g gates; opt_clean; select -assert-none t:\$_DLATCH_*; check -assert; $paths memory_unpack; stat -tech cmos") || {
    tail -n 5 <<<"$log" >&2
    return 1
  }
  printf '%s\n' "$log"
}

measure() { # MODULE PARAMETERS...
  gates -flatten "$@" | awk -v module="$1" -v parameters="${*:2}" -f "$here/synthesis.awk"
}

# The area of a module as one and by its parts.
parts() { # MODULE PARAMETERS...
  local one sum
  one=$(gates -flatten "$@" | awk -v field=um2 -f "$here/synthesis.awk")
  sum=$(gates '' "$@" | awk -v field=um2 -f "$here/synthesis.awk")
  awk -v one="$one" -v sum="$sum" -v what="$*" 'BEGIN {
    printf "%s: %.0f um^2 as one, %.0f by its parts, %+.1f %%\n", what, one, sum, 100 * (sum / one - 1)
    exit sum / one > 1.05 || sum / one < 0.95 }'
}

case ${1:-} in
  '' | --whole)
    failed=0
    for file in "$rtl"/*.sv; do
      module=$(basename "$file" .sv)
      [[ $# == 1 || $module != accelerator* ]] || continue
      check "$module" || failed=1
    done
    exit "$failed"
    ;;
  --area)
    shift
    gates '' accelerator "$@" | awk -v table=1 -f "$here/synthesis.awk"
    exit
    ;;
  --parts)
    failed=0
    parts packer ROWS=8 PES=4 PORTS=8 KEY_BITS=10 || failed=1
    parts row_statistics || failed=1
    parts block_run ROWS=2 PES=2 PORTS=4 PORT_BITS=3 || failed=1
    exit "$failed"
    ;;
esac
printf '%-18s %8s %8s %8s %6s %10s %12s\n' module gates flops memory levels transistors um2
if [[ $1 != --all ]]; then
  measure "$@"
  exit
fi
measure exp_unit BITS=32 POINT=16
measure signed_exp_unit
measure log2_unit
measure divider
measure square_root
measure quantiser LANES=4 NORM_BITS=22
measure score_rescale
measure row_statistics
measure row_threshold
measure prediction_pe CODE_BITS=4 SUM_BITS=14
measure pack_unit HEIGHT=8 PES=4 NUMBER_BITS=4 MASK_BITS=4 NONE=8
measure packer
measure mask_decoder
measure pe BITS=32 POINT=16 PORTS=8 CHAIN=4 PUBLISHED=0
measure merger
measure fifo
