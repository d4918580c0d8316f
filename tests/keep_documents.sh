#!/usr/bin/env bash
# Stands for `orrery` where tests run it: what $ORRERY prints as JSON is kept in the folder $DOCUMENTS, too. With ALL_JSON
# set, every command is asked for JSON.
set -uo pipefail

if [[ -n ${ALL_JSON:-} ]]; then
  set -- "$@" --json
elif [[ " $* " != *' --json '* ]]; then
  exec "$ORRERY" "$@"
fi
[[ " $* " != *' --plans '* ]] || exec "$ORRERY" "$@" # a line of JSON a row, and no document
document=$DOCUMENTS/$$.json
"$ORRERY" "$@" >"$document"
code=$?
cat "$document"
exit "$code"
