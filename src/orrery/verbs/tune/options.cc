// `orrery tune`: its verbs, each with options of its own.
#include "orrery/verbs/tune/layouts/options.h"
#include "orrery/cli/sub_verbs.h"
#include "orrery/program/verbs.h"
#include "orrery/verbs/finetune/options.h"
#include "orrery/verbs/tune/bench/options.h"
#include "orrery/verbs/tune/ledger/options.h"
#include "orrery/verbs/tune/run/options.h"
#include "orrery/verbs/tune/select/options.h"

namespace orrery::verbs {

int run_tune(const Arguments& arguments, Console& console) {
  static constexpr SubVerb kVerbs[] = {
      {"run", "a transformer layer, run on this machine and measured", run_tune_run},
      {"bench", "its operators, measured in every layout that may matter", run_tune_bench},
      {"ledger", "what a layer computes and moves, operator by operator", run_tune_ledger},
      {"layouts", "every layout of a layer's operators", run_tune_layouts},
      {"select", "the layouts that make a layer fastest, from measurements", run_tune_select},
      {"train", "fine-tune a model on texts, here", run_tune_train},
      {"eval", "how well a model does a task on texts", run_tune_eval},
      {"embed", "vectors of texts by a model", run_tune_embed},
      {"generate", "how texts go on, by a model", run_tune_generate}};
  return run_sub_verb({"tune", "layers and models that run on this machine", kVerbs,
                       "orrery tune run --model bert-large --batch 8 --seq 512"},
                      arguments, console);
}

}  // namespace orrery::verbs
