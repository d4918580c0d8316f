// `orrery sparse`: its verbs, each with options of its own.
#include "orrery/cli/sub_verbs.h"
#include "orrery/program/verbs.h"
#include "orrery/verbs/prune/sparse_verbs.h"

namespace orrery::verbs {

int run_sparse(const Arguments& arguments, Console& console) {
  static constexpr SubVerb kVerbs[] = {
      {"measure", "a mask, predicted from queries and keys or read: density, load balance, error", run_sparse_measure},
      {"mask", "a mask that does not look at scores: windows, blocks, global tokens", run_sparse_mask},
      {"latency", "how long Sanger's array takes, by its two published models", run_sparse_latency},
      {"pack", "a mask packed onto an array: blocks, utilisation, control words", run_sparse_pack},
      {"run", "a model on texts, attention dense and pruned: density, error, time, quality", run_sparse_run},
      {"study", "a task learned and judged with dense, predicted and static attention", run_sparse_study},
      {"bench", "a dense attention block on this machine, as Sanger's benchmark has it", run_sparse_bench},
      {"break-even", "from which length and density on pruned attention pays here", run_sparse_break_even},
      {"sweep", "thresholds x bits x predictors x packings x arrays: which are worth their error", run_sparse_sweep},
      {"simulate", "masks, arrays or a model on an accelerator, cycle by cycle: time, energy, area, error",
       run_sparse_simulate},
      {"design", "accelerators of many proportions on the same masks: which are worth it", run_sparse_design},
      {"rtl", "the accelerator as SystemVerilog, with vectors that run on it", run_sparse_rtl}};
  return run_sub_verb({"sparse", "attention that skips the scores that do not matter", kVerbs,
                       "orrery sparse measure --q Q.npy --k K.npy --threshold 0.002"},
                      arguments, console);
}

}  // namespace orrery::verbs
