#!/usr/bin/env bash
# synthesis.sh YOSYS RTL [--whole | MODULE PARAMETER=VALUE... | --all]: what synthesis makes of modules.
#
# Without a module it only checks: every module below the core elaborates, has no latch and no combinational loop; with --whole
# the accelerator as a whole, too. With one, or with the
# list below, it prints a line a module: cells and flip-flops of all below it, the longest path in two-input gates, transistors in static
# CMOS (Yosys's count), and an area at 45 nm from them: a NAND2 has 4 transistors and 0.798 um^2 in the NanGate 45 nm open
# cell library, so 0.2 um^2 each.
set -euo pipefail
yosys=$1 rtl=$2
shift 2

run() { # SCRIPT
  "$yosys" -Q -T -p "$1" 2>&1
}

check() { # MODULE PARAMETERS...
  local module=$1 set='' parameter log
  shift
  for parameter in "$@"; do set+=" -set ${parameter%=*} ${parameter#*=}"; done
  log=$(run "read_verilog -defer -sv $rtl/*.sv; ${set:+chparam $set $module;} hierarchy -check -top $module; proc; flatten; opt_clean; select -assert-none t:\$dlatch t:\$adlatch t:\$dlatchsr t:\$sr; check -assert") || {
    printf '%s: %s\n' "$module" "$(tail -n 5 <<<"$log")"
    return 1
  }
  ! grep -E 'Latch inferred|found logic loop' <<<"$log"
}

measure() { # MODULE PARAMETERS...
  local module=$1 set='' parameter log
  shift
  for parameter in "$@"; do set+=" -set ${parameter%=*} ${parameter#*=}"; done
  log=$(run "read_verilog -defer -sv $rtl/*.sv; ${set:+chparam $set $module;} hierarchy -check -top $module; synth -flatten -noabc; abc -fast -g gates; opt_clean; select -assert-none t:\$_DLATCH_*; check -assert; ltp -noff; stat -tech cmos") || {
    tail -n 5 <<<"$log"
    return 1
  }
  awk -v module="$module" -v parameters="$*" '
    /Printing statistics/ { flops = others = 0 }  # those that synth prints itself do not count
    /Number of cells:/ { cells = $4 }
    /^ +\$_.*DFF/ { flops += $2 }
    /Longest topological path/ { sub(/.*length=/, ""); sub(/\).*/, ""); levels = $0 }
    /Estimated number of transistors/ { transistors = $5; sub(/\+/, "", transistors) }
    # Yosys counts 16 for a plain flip-flop and none for the others: enable and reset are 4 more each here.
    /^ +\$_(SDFF|SDFFE|DFFE|SDFFCE)_/ { others += $2 * (16 + (/DFFE/ ? 4 : 0) + (/SDFF/ ? 4 : 0)) }
    END { all = transistors + others
          printf "%-18s %8d %8d %6d %10d %12.0f   %s\n", module, cells, flops, levels, all, all * 0.798 / 4, parameters }
  ' <<<"$log"
}

if (($# == 0)) || [[ $1 == --whole ]]; then
  failed=0
  for file in "$rtl"/*.sv; do
    module=$(basename "$file" .sv)
    [[ $# == 1 || $module != accelerator* ]] || continue
    check "$module" || failed=1
  done
  exit "$failed"
fi
printf '%-18s %8s %8s %6s %10s %12s\n' module cells flops levels transistors um2
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
