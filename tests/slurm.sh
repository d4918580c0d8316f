#!/usr/bin/env bash
# slurm.sh ORRERY: a sweep as a job array of a real Slurm of one node, made for the test: munged, slurmctld and slurmd on
# the loopback, started and stopped here. One of its tasks is killed midway; the sweep submits it again, and its answer is
# that of a sweep without Slurm. Needs root and Debian's packages slurm-wlm and munge; no part of the default tests.
set -euo pipefail

orrery=$(realpath "$1")
for program in munged slurmctld slurmd sbatch; do
  command -v "$program" >/dev/null || { printf 'slurm.sh: no %s: apt-get install slurm-wlm munge\n' "$program" >&2 && exit 77; }
done
((EUID == 0)) || { printf 'slurm.sh: needs root\n' >&2 && exit 77; }

scratch=$(mktemp -d)
host=$(hostname -s)
started=()
clean_up() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap clean_up EXIT

mkdir -m 700 "$scratch/munge" "$scratch/state" "$scratch/spool"
chmod 755 "$scratch"
dd if=/dev/urandom of="$scratch/munge/key" bs=1024 count=1 status=none
chmod 600 "$scratch/munge/key"
munged --foreground --force --key-file="$scratch/munge/key" --socket="$scratch/munge.sock" \
  --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" &
started+=($!)

cat >"$scratch/slurm.conf" <<CONF
ClusterName=orrery
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.sock
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ReturnToService=2
KillWait=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=debug Nodes=$host Default=YES State=UP OverSubscribe=FORCE:4
CONF
export SLURM_CONF=$scratch/slurm.conf
for _ in $(seq 50); do [[ -S $scratch/munge.sock ]] && break || sleep 0.1; done
slurmctld -D -f "$SLURM_CONF" &
started+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" &
started+=($!)
for _ in $(seq 100); do [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle ]] && break || sleep 0.3; done
[[ $(sinfo --noheader --format=%T) == idle ]] || { tail -n 5 "$scratch"/*.log >&2 && exit 1; }

cd "$scratch"
study=(map --chip gemmini --gemm "512,512,512" --all --vary arch.Scratchpad.read_bandwidth=1..60 --vary arch.DRAM.read_bandwidth=1..60)
"$orrery" sweep "${study[@]}" --quiet --store alone.db --export alone.csv >/dev/null
"$orrery" sweep "${study[@]}" --slurm --parts 3 --threads 1 --store array.db --export array.csv >answer 2>said &
sweep=$!
# Once a task runs, it is killed.
killed=no
for _ in $(seq 200); do
  task=$(pgrep -f 'shard 2/3' | tail -n 1 || true)
  if [[ -n $task ]] && kill -9 "$task" 2>/dev/null; then killed=yes && break; fi
  sleep 0.05
done
wait "$sweep" || { cat answer said && exit 1; }
cmp alone.csv array.csv
printf 'three shards by Slurm, one killed midway: %s; the answer is the same\n' "$killed"
[[ $killed == yes ]]
