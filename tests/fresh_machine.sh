#!/usr/bin/env bash
# fresh_machine.sh [COMMAND...]: proves the README's first commands on a fresh Debian 12.
#
# Makes a minimal Debian 12 root with debootstrap, unpacks this checkout's HEAD into it and runs there
#   1. `./dev demo` as a user without root and sudo: must print the one line to run, and exit with 2;
#   2. as root the commands given, or else those in the README's `sh` blocks that begin with `./dev demo`,
#      `./dev test` or `build/release/orrery`.
# fresh_machine.sh --package FILE.deb: installs the package that `./dev package` made on such a root, and runs it there.
#
# Needs root, debootstrap and the network; takes the mirror from this machine's apt sources. Takes some
# ten minutes, so it is no part of `./dev test`. FRESH_KEEP=1 leaves the root where it is.
set -euo pipefail
checkout=$(realpath "$(dirname "$0")/..")

fail() {
  printf 'fresh_machine: %s\n' "$*" >&2
  exit 2
}
((EUID == 0)) || fail "needs root"
command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap"
package=''
if [[ ${1:-} == --package ]]; then
  package=$(realpath "${2:?--package needs a file}") || fail "there is no ${2}"
fi
git -C "$checkout" rev-parse HEAD >/dev/null 2>&1 || fail "needs a git checkout"

# The first mirror that this machine uses for Debian itself, in either format of apt's sources.
mirror=$(
  {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
      sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) +bookworm +.*main.*/\2/p' || true
    cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '
      function flush() {
        if (suites ~ /(^| )bookworm( |$)/ && components ~ /(^| )main( |$)/ && uri != "") print uri
        uri = suites = components = ""
      }
      /^[ \t]*$/ { flush() }
      tolower($1) == "uris:" { uri = $2 }
      tolower($1) == "suites:" { suites = substr($0, index($0, $2)) }
      tolower($1) == "components:" { components = substr($0, index($0, $2)) }
      END { flush() }' || true
  } | head -n 1
)
[[ -n $mirror ]] || fail "found no mirror of bookworm in /etc/apt"

root=$(mktemp -d -p "${TMPDIR:-/var/tmp}" orrery-fresh.XXXXXX)
clean_up() {
  local place
  for place in proc sys dev/pts dev; do
    if mountpoint -q "$root/$place"; then umount "$root/$place" || umount -l "$root/$place"; fi
  done
  if [[ -n ${FRESH_KEEP:-} ]]; then
    printf 'fresh_machine: kept %s\n' "$root"
  else
    rm -rf --one-file-system "$root"
  fi
}
trap clean_up EXIT

printf '=== debootstrap\n'
include=()
[[ $mirror != https:* ]] || include=(--include=ca-certificates)
debootstrap --variant=minbase "${include[@]}" bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 20 "$root.log"
  rm -f "$root.log"
  fail "debootstrap failed"
}
rm -f "$root.log"
chmod 755 "$root"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/hosts "$root/etc/hosts"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc" || printf 'fresh_machine: no /proc in the root\n'

if [[ -n $package ]]; then
  cp "$package" "$root/orrery.deb"
  # shellcheck disable=SC2016 # these are for the other bash
  chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -ec '
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update && apt-get -qq install -y --no-install-recommends /orrery.deb
    if dpkg --get-selections | grep -e "-dev[[:space:]]"; then exit 1; fi
    cd /
    orrery --version
    orrery doctor
    orrery map --chip gemmini --gemm 64,64,64
    orrery place /usr/share/doc/orrery/examples/dataflow/gpt3_1t.txt
    apt-get -qq install -y --no-install-recommends man-db
    MANPAGER=cat man orrery | grep VERB
    source /usr/share/bash-completion/completions/orrery
    COMP_WORDS=(orrery map --chip gem) COMP_CWORD=3
    _orrery
    [[ ${COMPREPLY[0]} == gemmini ]]
    mv /usr/share/orrery /usr/share/hidden
    ! orrery catalog' || fail "the package does not serve"
  printf '=== the package serves a fresh Debian 12\n'
  exit 0
fi

mkdir "$root/orrery"
git -C "$checkout" archive HEAD | tar -x -C "$root/orrery"
inside() {
  chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /orrery && $1"
}

printf '=== ./dev demo without root\n'
code=0
said=$(inside 'chown -R nobody . && su -s /bin/bash nobody -c "./dev demo" 2>&1') || code=$?
inside 'chown -R root .'
printf '%s\n' "$said"
((code == 2)) || fail "exit code $code instead of 2"
(($(grep -c '^apt-get update && apt-get install' <<<"$said") == 1)) || fail "does not print the line to run"

if (($# == 0)); then
  # shellcheck disable=SC2016 # the backquotes are Markdown's
  mapfile -t shown < <(sed -n '/^```sh/,/^```/p' "$checkout/README.md" 2>/dev/null |
    grep -E '^(\./dev (demo|test)( |$)|build/release/orrery )')
  for command in './dev test' './dev demo'; do
    [[ " ${shown[*]} " == *" $command "* ]] || shown=("$command" "${shown[@]}")
  done
  set -- "${shown[@]}"
fi
for command in "$@"; do
  printf '=== %s\n' "$command"
  started=$SECONDS
  inside "$command" || fail "'$command' failed with exit code $?"
  printf '=== %s took %d s\n' "$command" $((SECONDS - started))
done
printf '=== a fresh Debian 12 is served\n'
