#!/usr/bin/env bash
# disk.sh ORRERY: a store on a disk that is full, and on one that is read-only: the message says so, what was stored is
# kept and whole, and with room the same command goes on. Skipped (77) where no small disk can be mounted: not root.
set -euo pipefail

orrery=$(realpath "$1")
scratch=$(mktemp -d)
disk=$scratch/disk
mkdir "$disk"
if ((EUID != 0)) || ! mount -t tmpfs -o size=200k tmpfs "$disk" 2>/dev/null; then
  rm -rf "$scratch"
  printf 'disk.sh: skipped: mounting a small disk needs root\n'
  exit 77
fi
trap 'umount "$disk"; rm -rf "$scratch"' EXIT

study=(sweep map --chip gemmini --gemm "256,256,256" --all --quiet --threads 1
  --vary arch.DRAM.read_bandwidth=1..24 --vary arch.Scratchpad.read_bandwidth=1..24)
fails_with() { # MESSAGE: the study ends with exit code 2 and says so
  local code=0
  "$orrery" "${study[@]}" --store "$disk/s.db" >"$scratch/said" 2>&1 || code=$?
  ((code == 2)) && grep -q "error\[O2054\].*$1" "$scratch/said" || { cat "$scratch/said" && exit 1; }
}
stored() { "$orrery" sweep --status --store "$disk/s.db" --json | awk -F'[:,]' '/"stored"/ {print $2 + 0}'; }
whole() { "$orrery" sweep --status --store "$disk/s.db" | grep -q 'integrity ok'; }

fails_with 'the disk is full'
whole
some=$(stored)
((some > 0)) || { printf 'disk.sh: nothing was stored before the disk was full\n' && exit 1; }
mount -o remount,ro "$disk"
fails_with 'Read-only file system'
whole
[[ $(stored) == "$some" ]] || { printf 'disk.sh: stored points are lost\n' && exit 1; }
mount -o remount,rw,size=16m "$disk"
"$orrery" "${study[@]}" --store "$disk/s.db" --export "$scratch/after.csv" >"$scratch/answer"
grep -q "^$some of them were stored before" "$scratch/answer" || { cat "$scratch/answer" && exit 1; }
"$orrery" "${study[@]}" --store "$scratch/other.db" --export "$scratch/other.csv" >/dev/null
cmp "$scratch/after.csv" "$scratch/other.csv"
printf 'full and read-only disks are told, %d points kept, and the study went on\n' "$some"
