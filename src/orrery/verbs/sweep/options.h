// A sweep's command line: its own options, and those of the verb whose fields vary.
//
//   orrery sweep [VERB] [arguments of VERB] --vary PATH=VALUES ...     or     orrery sweep study.yaml ...
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/cli/shared_options.h"
#include "orrery/verbs/sweep/run.h"

namespace orrery::verbs {

struct SweepArguments : OutputFolder {
  sweep::Study study;
  std::string store;      // its file
  bool all = false;       // evaluate every point
  bool status = false;    // what the store holds
  std::string export_to;  // .csv or .jsonl
  std::string svg;
  std::string configs;        // Timeloop-Experiments' configurations; empty: none
  bool ignore_heads = false;  // its options, with them
  bool summary = false, table = false;
  base::Diagnostics warnings;
  sweep::Shard shard;
  bool slurm = false;         // as a job array
  std::string slurm_options;  // of sbatch
  int parts = 4;
  Arguments shards;  // what each of them is asked
  int threads = 0;
  double seconds = 0;
};

// False: help was asked for and is printed. Throws InputError: O1101 and O1102 for what the line does not know, O2057
// for shards that are none, and what the parts of a study say.
bool read_sweep(const Arguments& arguments, Console& console, SweepArguments& out);

// The question of a verb that studies ask.
sweep::Request swept_request(const std::string& verb, const Arguments& arguments);

// What a study asks, in a line, for `orrery check`; nothing where the file is no study. Throws InputError for what the
// study would be refused for before it answers.
std::optional<std::string> checked_study(const std::shared_ptr<const base::SourceFile>& file);

}  // namespace orrery::verbs
