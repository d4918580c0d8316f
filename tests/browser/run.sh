#!/usr/bin/env bash
# run.sh ORRERY ROOT [FOLDER]: the pages of the examples in headless Chromium: every chart is drawn, without an error on
# the console; tooltips, filters and sorting work (probe.js); on a wide and a 360-pixel window, in a dark scheme, and as
# PDF; and in real time (real_time.py). Pages and screenshots stay in FOLDER, to be looked at.
set -uo pipefail

orrery=$(realpath "$1")
ROOT=$(realpath "$2")
folder=${3:-$(mktemp -d)}
mkdir -p "$folder" && folder=$(realpath "$folder")
cd "$folder" || exit 1
E=$ROOT/examples
failures=0 made=()

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
  made+=("$name.html")
  "$orrery" "$@" --html "$name.html" --force >/dev/null 2>"$name.err" || { cat "$name.err" && failures=$((failures + 1)); }
  look "$name"
}

# Those of the README's examples that have charts, and of more.
ln -sfn "$E" examples
while IFS= read -ru 3 line; do
  if [[ $line =~ ^[a-z]+= ]]; then
    eval "$line"
  else
    read -ra words < <(eval "echo ${line%%[|>;]*}") # up to where its output goes
    [[ ${words[-1]} != 2 ]] || unset 'words[-1]'
    name=${words[1]}
    [[ ! $name =~ ^(tune|sparse)$ ]] || name+=_${words[2]}
    "$orrery" "${words[@]:1}" --help 2>/dev/null | grep -q -e --html && page "readme_$name" "${words[@]:1}"
  fi
done 3< <(sed -n 's/^\$ \(orrery .*\|[a-z]*=".*"\)$/\1/p' "$ROOT/README.md")
page front map --chip gemmini --gemm 256,256,256 --pareto energy,delay
page fuse map --fuse --compat accelforge "$E/fused/buffer.yaml" "$E/fused/mlp.yaml" --pareto energy,delay
page serve serve --model llama3.1-70b --system dgx-h100 --gpus 8 --precision fp8 --isl 2048 --osl 256 --rate 4 \
  --tpot-limit 0.03 --top 4
page degrees train --model llama3-8b --system dgx-h100 --gpus 64 --global-batch 256 --map
page ledger tune ledger --model bert-large --batch 8 --seq 512
page heads sparse mask bigbird --seq 1024 --heads 8
page layers sweep map --chip gemmini --model bert-base --seq 128 --vary arch.Scratchpad.depth=16Ki..64Ki:x2 \
  --vary arch.Accumulator.depth=256..1024:x2 --objectives energy,cycles --all --store layers.db
for chip in gemmini eyeriss; do "$orrery" map --chip $chip --gemm 64,64,64 --json >"$chip.json" 2>/dev/null; done
"$orrery" report gemmini.json eyeriss.json layers.db -o several.html --force >/dev/null || failures=$((failures + 1))
look several
rm -rf "$folder/profile"
# How long they take, and a study of 10,000 points.
"$orrery" sweep map --chip gemmini --gemm 512,512,512 --vary arch.Scratchpad.depth=1024..102400:1024 \
  --vary arch.Accumulator.depth=64..6400:64 --objectives edp,area --all --store large.db --html study.html --force -q >/dev/null
python3 "$ROOT/tests/browser/real_time.py" study.html "${made[@]}" || failures=$((failures + 1))
echo "pages and screenshots are in $folder"
exit $((failures > 0))
