// A study as a job array of Slurm: the scheduler starts a shard for each of its tasks, this follows it, submits shards
// again that did not end well, and leaves their stores to be merged.
//
// Nothing of Slurm is linked: `sbatch`, `squeue` and `scancel` are called. A shard is done when its command said so by
// a file beside its store, so that neither accounting nor exit codes are needed.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace orrery::sweep {

struct SlurmJob {
  std::vector<std::string> command;  // its words; --shard and --store follow them
  std::string store;                 // parts are STORE.1-of-4 and so on
  std::string options;               // of sbatch
  unsigned parts = 1;
  unsigned tries = 3;  // of each part
  double poll_seconds = 2;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(unsigned done, unsigned parts, const std::string& job)> progress;
};

// The stores of the parts, all of them done. Throws InputError O2061 where Slurm refuses, is not there, or a part fails
// as often as it may; an empty list where `stop` ended it (the job is cancelled; what was stored stays).
std::vector<std::string> run_on_slurm(const SlurmJob& job);

std::string part_store(const SlurmJob& job, unsigned part);

}  // namespace orrery::sweep
