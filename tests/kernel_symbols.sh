#!/usr/bin/env bash
# kernel_symbols.sh ARCHIVE: an object that is compiled for one instruction set (isa_<set>.cc) shares no function with any other.
# An inline function or template outside the unnamed namespace would be a weak symbol; of those the linker keeps one copy, perhaps
# the one with instructions that the machine lacks, for the whole program. The only symbol such an object gives is its table.
set -euo pipefail
archive=${1:?usage: kernel_symbols.sh ARCHIVE}

found=0
breaches=0
while read -r object; do
  [[ $object == isa_*.cc.o && $object != isa.cc.o && $object != isa_test.cc.o ]] || continue
  found=$((found + 1))
  while read -r symbol; do
    printf '%s gives %s\n' "$object" "$symbol"
    breaches=$((breaches + 1))
  done < <(nm -C --defined-only --extern-only "$archive" 2>/dev/null |
    awk -v object="$object:" '/:$/ { own = $0 == object; next } own && NF { $1 = ""; print }' |
    grep -vE '^ [DR] orrery::kernels::k[A-Za-z0-9]+(Table|Products)$' || true)
done < <(ar t "$archive")
if ((found < 1)); then
  echo "no object isa_*.cc.o in $archive"
  exit 1
fi
exit $((breaches > 0))
