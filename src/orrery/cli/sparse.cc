// `orrery sparse`: its verbs, each with options of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/edit_distance.h"
#include "orrery/cli/sparse_verbs.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/write_for.h"

namespace orrery::cli {
namespace {

struct SparseVerb {
  const char* name;
  const char* summary;
  int (*run)(const Arguments& arguments, Console& console);
};
constexpr SparseVerb kVerbs[] = {
    {"measure", "a mask, predicted from queries and keys or read: density, load balance, error", run_sparse_measure},
    {"mask", "a mask that does not look at scores: windows, blocks, global tokens", run_sparse_mask},
    {"latency", "how long Sanger's array takes, by its two published models", run_sparse_latency},
    {"pack", "a mask packed onto an array: blocks, utilisation, control words", run_sparse_pack},
    {"sweep", "thresholds x bits x predictors x packings x arrays: which are worth their error", run_sparse_sweep}};

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const SparseVerb& verb : kVerbs) out.emplace_back(verb.name);
  return out;
}

}  // namespace

int run_sparse(const Arguments& arguments, Console& console) {
  if (arguments == Arguments{kDescribe}) {
    try {
      return run_sparse_measure(arguments, console);
    } catch (Described& line) {
      line.subverbs = names();
      throw;
    }
  }
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  for (const SparseVerb& verb : kVerbs)
    if (first == verb.name) return verb.run({arguments.begin() + 1, arguments.end()}, console);
  if (first != "--help" && first != "-h" && first != "help")
    misuse("O1101", fmt::format("`orrery sparse` does not know what to do with `{}`", first),
           base::did_you_mean(first, names(), fmt::format("it has: {}", fmt::join(names(), ", "))));
  console.out << "orrery sparse: attention that skips the scores that do not matter\n\nusage: orrery sparse VERB "
                 "[options]\n\n";
  for (const SparseVerb& verb : kVerbs) console.out << fmt::format("  {:<10}{}\n", verb.name, verb.summary);
  console.out << "\n`orrery sparse VERB --help` shows a verb's options. Example:\n"
                 "  orrery sparse measure --q Q.npy --k K.npy --threshold 0.002\n";
  return kDone;
}

}  // namespace orrery::cli
