#!/usr/bin/env bash
# run_document.sh ORRERY ROOT FILE.md [CHECKER]: the commands that a document shows do what it says.
#
# Of the document's code blocks, those that begin with `$ ` are sessions: what follows a command is what it prints, with
# `...` as in run_cli.sh; commands without output between them are run together. Blocks that begin with `orrery ` are
# commands alone, and must succeed. All are run where `examples` lies. The times in a table's last column are left out of
# the comparison.
set -uo pipefail

document=$(realpath "$3")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# shellcheck disable=SC2016
awk '
  # The end of a command: the code of an answer "no" is no failure of a document.
  function end_command() { if (pending) print "  > true"; pending = 0 }
  function end_block() {
    if (pending || refused) { end_command(); print "  ..." } # nothing is shown, or not the end of a message
    refused = 0
  }
  BEGIN { print "The examples lie where the commands are run.\n\n  $ cp -r \"$ROOT\"/examples .\n" }
  /^```/ {
    end_block()
    inside = !inside
    first = inside
    kind = ""
    if (!inside) print "\nUp to line " NR " of the document.\n"
    next
  }
  !inside { next }
  first { kind = /^\$ / ? "session" : /^orrery / ? "commands" : ""; first = 0 }
  kind == "commands" && /^orrery / { print "  $ " $0 " >out 2>&1 || { cat out; exit 1; }" }
  kind != "session" { next }
  /^\$ / {
    if (refused) end_block()
    print (pending ? "  > " : "  $ ") substr($0, 3)
    pending = 1
    next
  }
  {
    begins_message = pending && /^error/
    end_command()
    if (begins_message) { print "  ..."; refused = 1 } # after what goes to stdout
    sub(/^ +\.\.\.$/, "...")
    sub(/optimal +[0-9.]+$/, "optimal...")
    sub(/proof +ms$/, "proof...")
    sub(/^---+$/, "---...")
    sub(/\]$/, "]...") # Timeloop ends such lines with a blank
    sub(/ +\.\.\.$/, "...")
    print "  " $0
  }
' "$document" >"$scratch/$(basename "$document" .md).test"
ORRERY_ACCEPT='' exec "$(dirname "$0")/run_cli.sh" "$1" "$2" "$scratch/$(basename "$document" .md).test" "${4:-}"
