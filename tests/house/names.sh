#!/usr/bin/env bash
# names.sh ROOT: every file or folder that ARCHITECTURE.md, HACKING.md, README.md, docs/ and the comments of src/ name
# exists.
#
# In the documents: what stands between backquotes and looks like a path, that is, ends in a known suffix or has a `/`
# and begins with a folder of the project. In comments of src/: words that end in .h, .cc, .md or .sh. A path may begin
# at the root, at src/orrery/ or at any folder below; `*` stands for any letters, `<CODE>` too.
set -euo pipefail
cd "${1:-.}"

breaches=0
breach() {
  printf '%s\n' "$*"
  breaches=$((breaches + 1))
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# "./src/orrery/nest" -> "/src/orrery/nest": what is sought is the end of one of these.
find . \( -name .git -o -name build \) -prune -o -print | sed 's,^\.,,' | sort >"$scratch/present"

# FILE:LINE:NAME of what looks like a path.
documents=(ARCHITECTURE.md HACKING.md README.md)
while IFS= read -r document; do documents+=("$document"); done < <(find docs -name '*.md' 2>/dev/null | sort)
for document in "${documents[@]}"; do
  [[ -f $document ]] || continue
  # shellcheck disable=SC2016 # backquotes are what is looked for
  { grep -noE '`[A-Za-z0-9_.*<>/-]+`' "$document" || true; } | tr -d '`' | sed "s,^,$document:,"
done >"$scratch/named"
if [[ -d src ]]; then
  { grep -rnE '^[^"]*// ' src --include='*.h' --include='*.cc' || true; } |
    sed -nE 's,^([^:]+:[0-9]+):.*// (.*)$,\1 \2,p' |
    awk '{
      for (i = 2; i <= NF; i++) {
        word = $i
        gsub(/^[`("]+|[`)".,;:]+$/, "", word)
        if (word ~ /^[a-z][A-Za-z0-9_*\/-]*\.(h|cc|md|sh)$/) print $1 ":" word
      }
    }' >>"$scratch/named"
fi

awk -v present="$scratch/present" '
  function exists(name,   pattern, i) {
    pattern = name
    gsub(/<[^>]*>/, "*", pattern)
    gsub(/[.]/, "[.]", pattern)
    gsub(/\*/, "[^/]*", pattern)
    sub(/\/$/, "", pattern)
    if (pattern in known) return known[pattern]
    for (i = 1; i <= count; i++)
      if (paths[i] ~ ("/" pattern "$")) return known[pattern] = 1
    return known[pattern] = 0
  }
  # "nest/" where `place` (FILE:LINE) is a row of the table of that folder; else nothing.
  function folder_at(place,   parts) {
    split(place, parts, ":")
    if (parts[1] != document) {
      document = parts[1]
      delete of_line
      line = 0
      inside = ""
      while ((getline text < document) > 0) {
        ++line
        if (text ~ /^\| file in `[a-z]+\/` \|/) {
          inside = text
          gsub(/^\| file in `|` \|.*/, "", inside)
          inside = "src/orrery/" inside
        } else if (text !~ /^\|/) inside = ""
        of_line[line] = inside
      }
      close(document)
    }
    return name ~ /\// ? "" : of_line[parts[2]]
  }
  BEGIN {
    while ((getline path < present) > 0) {
      paths[++count] = path
      split(path, parts, "/")
      if (parts[2] != "") top[parts[2]] = 1
      if (path ~ /^\/src\/orrery\/[^\/]+$/) top[parts[4]] = 1
    }
  }
  {
    match($0, /^[^:]*:[0-9]+:/)
    place = substr($0, 1, RLENGTH - 1)
    name = substr($0, RLENGTH + 1)
    sub(/^[.]\//, "", name)
    first = name
    sub(/\/.*/, "", first)
    # A table headed "file in `nest/`" lists files of that folder alone.
    file = name ~ /^[^.].*[.](h|cc|awk|sh|test)$/ || (name ~ /\// && first in top)
    if (file && first != "build" && !exists(folder_at(place) name)) print place ": there is no `" name "`"
  }' "$scratch/named" >"$scratch/missing"
if [[ -s $scratch/missing ]]; then breach "$(cat "$scratch/missing")"; fi
exit $((breaches > 0))
