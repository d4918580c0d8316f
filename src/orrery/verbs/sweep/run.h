// `orrery sweep`: a study, run. One verb is asked many times while fields of its question vary, and every answer is
// stored. points/ is the study, its grid and what its points come to; engines/ what answers them; store/ the database.
//
// This is the one verb that asks other verbs: it includes their questions (options.h) and functions (run.h).
// No other verb includes a verb but for `check`, which reads studies (options.h); nothing else is to include sweep/.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "orrery/verbs/sweep/engines/engine.h"
#include "orrery/verbs/sweep/points/points.h"
#include "orrery/verbs/sweep/points/ranking.h"
#include "orrery/verbs/sweep/points/shares.h"
#include "orrery/verbs/sweep/points/study.h"

namespace orrery::sweep {

struct Progress {
  std::size_t done = 0, all = 0;
  double seconds = 0;   // of this run
  std::size_t now = 0;  // done in it
  std::string best;     // by the first objective: its value; empty: none yet
};

struct RunOptions {
  bool all = false;  // evaluate every point
  Shard shard;
  EngineOptions engine;
  double seconds = 0;  // end after so long; 0: when all is done
  std::function<void(const Progress&)> progress;
};

struct SweepAnswer {
  Study study;
  store::StudyRow row;
  Points points;
  Ranking ranking;
  std::size_t evaluated = 0, stored_before = 0;  // of the points; the others of a finished run were excluded
  bool finished = true, interrupted = false;
  std::vector<std::string> commands;  // of the best points, by objective; empty: there is none that says it all
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// Throws InputError: what Study::check says, O2047 where no point passes the filters, what every point of the study is
// refused for, and what the store says.
SweepAnswer run(const Study& study, const ReadRequest& read, store::Store& store, const RunOptions& options);

// The same with an engine at hand.
SweepAnswer run_on(const Study& study, Engine& engine, store::Store& store, const RunOptions& options);

// The row of a study: its key is the hash of what fixes its points and the contents of its files.
store::StudyRow row_of(const Study& study, const std::vector<base::Input>& inputs, const std::string& document);

}  // namespace orrery::sweep
