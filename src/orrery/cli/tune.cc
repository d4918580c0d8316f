// `orrery tune`: its verbs, each with options of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/edit_distance.h"
#include "orrery/cli/tune_measured.h"
#include "orrery/cli/tune_layouts.h"
#include "orrery/cli/tune_ledger.h"
#include "orrery/cli/tune_run.h"
#include "orrery/cli/tune_select.h"
#include "orrery/cli/tune_texts.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/write_for.h"

namespace orrery::cli {
namespace {

struct TuneVerb {
  const char* name;
  const char* summary;
  int (*run)(const Arguments& arguments, Console& console);
};
constexpr TuneVerb kVerbs[] = {{"run", "a transformer layer, run on this machine and measured", run_tune_run},
                               {"bench", "its operators, measured in every layout that may matter", run_tune_bench},
                               {"ledger", "what a layer computes and moves, operator by operator", run_tune_ledger},
                               {"layouts", "every layout of a layer's operators", run_tune_layouts},
                               {"select", "the layouts that make a layer fastest, from measurements", run_tune_select},
                               {"train", "fine-tune a model on texts, here", run_tune_train},
                               {"eval", "how well a model does a task on texts", run_tune_eval},
                               {"embed", "vectors of texts by a model", run_tune_embed},
                               {"generate", "how texts go on, by a model", run_tune_generate}};

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const TuneVerb& verb : kVerbs) out.emplace_back(verb.name);
  return out;
}

}  // namespace

int run_tune(const Arguments& arguments, Console& console) {
  if (arguments == Arguments{kDescribe}) {
    try {
      return run_tune_run(arguments, console);
    } catch (Described& line) {
      line.subverbs = names();
      throw;
    }
  }
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  for (const TuneVerb& verb : kVerbs)
    if (first == verb.name) return verb.run({arguments.begin() + 1, arguments.end()}, console);
  if (first != "--help" && first != "-h" && first != "help")
    misuse("O1101", fmt::format("`orrery tune` does not know what to do with `{}`", first),
           base::did_you_mean(first, names(), fmt::format("it has: {}", fmt::join(names(), ", "))));
  console.out << "orrery tune: layers and models that run on this machine\n\nusage: orrery tune VERB [options]\n\n";
  for (const TuneVerb& verb : kVerbs) console.out << fmt::format("  {:<10}{}\n", verb.name, verb.summary);
  console.out << "\n`orrery tune VERB --help` shows a verb's options. Example:\n"
                 "  orrery tune run --model bert-large --batch 8 --seq 512\n";
  return kDone;
}

}  // namespace orrery::cli
