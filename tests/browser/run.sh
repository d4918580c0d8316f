#!/usr/bin/env bash
# run.sh ORRERY ROOT [FOLDER]: the pages of the examples in headless Chromium: every chart is drawn, without an error on
# the console; tooltips, filters and sorting work (probe.js); on a wide and a 360-pixel window, in a dark scheme, and as
# PDF. Pages and screenshots stay in FOLDER, to be looked at.
set -uo pipefail

orrery=$(realpath "$1")
ROOT=$(realpath "$2")
folder=${3:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder" || exit 1
E=$ROOT/examples
failures=0

browser() { # browser WIDTH,HEIGHT FLAGS...
  local size=$1
  shift
  timeout 120 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr \
    --user-data-dir="$folder/profile" --virtual-time-budget=5000 --window-size="$size" "$@"
}

look() { # look NAME: the page NAME.html
  local name=$1 said mode begun
  { cat "$name.html" && echo '<script>' && cat "$ROOT/tests/browser/probe.js" && echo '</script>'; } >probed.html
  for mode in wide dark phone; do
    local flags=() size=1000,1600 shown=probed.html
    [[ $mode != dark ]] || flags=(--blink-settings=preferredColorScheme=0)
    [[ $mode != phone ]] || size=500,1600 shown=phone.html # the least window; in a frame of 360 pixels
    begun=$(date +%s%N)
    browser "$size" "${flags[@]}" --dump-dom "file://$folder/$shown" >dom.html 2>console.txt
    said=$(grep -o 'data-probe="[^"]*"' dom.html | sed 's/data-probe="//; s/"$//')
    [[ $said == well* ]] || { failures=$((failures + 1)) && said="FAILED: ${said:-no answer}"; }
    if grep -q ':CONSOLE' console.txt; then
      failures=$((failures + 1))
      grep ':CONSOLE' console.txt | cut -c1-200
    fi
    printf '%-12s %-6s %s (%d ms)\n' "$name" "$mode" "$said" $((($(date +%s%N) - begun) / 1000000))
    browser "$size" "${flags[@]}" --screenshot="$folder/$name-$mode.png" "file://$folder/$name.html" >/dev/null 2>&1
  done
  browser 1000,1400 --print-to-pdf="$folder/$name.pdf" --no-pdf-header-footer "file://$folder/$name.html" >/dev/null 2>&1
  head -c 5 "$name.pdf" 2>/dev/null | grep -q '%PDF-' || { failures=$((failures + 1)) && echo "$name: no PDF"; }
}

cat >phone.html <<'HTML'
<!DOCTYPE html><body><iframe src="probed.html" style="width: 360px; height: 1500px; border: 0"></iframe><script>
addEventListener('message', function (event) { document.body.setAttribute('data-probe', event.data); });
</script></body>
HTML

page() { # page NAME COMMAND...: what --html writes
  local name=$1
  shift
  "$orrery" "$@" --html "$name.html" --force >/dev/null 2>"$name.err" || { cat "$name.err" && failures=$((failures + 1)); }
  look "$name"
}

page map map --chip gemmini --model bert-large --seq 4096
page front map --chip gemmini --gemm 256,256,256 --pareto energy,delay
page eval eval "$E"/gemmini/*.yaml "$E/gemmini/layers/KTQ.yaml" "$E/gemmini/mappings/KTQ.yaml"
page energy energy "$E/gemmini_raw"
page train train --model llama3-70b --system dgx-h100 --gpus 512 --global-batch 1024
page fuse map --fuse --compat accelforge "$E/fused/buffer.yaml" "$E/fused/mlp.yaml" --pareto energy,delay
page serve serve --model llama3.1-70b --system dgx-h100 --gpus 8 --precision fp8 --isl 2048 --osl 256 --rate 4 \
  --tpot-limit 0.03 --top 4
page degrees train --model llama3-8b --system dgx-h100 --gpus 64 --global-batch 256 --map
page validate validate train
page place place "$E/dataflow/gpt3_1t.txt"
page select tune select "$E/substation"
page ledger tune ledger --model bert-large --batch 8 --seq 512
page mask sparse mask longformer --seq 4096
page sweep sweep map --chip gemmini --gemm 512,512,512 --vary arch.Scratchpad.depth=2Ki..64Ki:x2 \
  --vary arch.Accumulator.depth=128,256,512,1024 --objectives edp,area --store sweep.db
for chip in gemmini eyeriss; do "$orrery" map --chip $chip --gemm 64,64,64 --json >"$chip.json" 2>/dev/null; done
"$orrery" report gemmini.json eyeriss.json sweep.db -o several.html --force >/dev/null || failures=$((failures + 1))
look several
rm -rf "$folder/profile"
echo "pages and screenshots are in $folder"
exit $((failures > 0))
