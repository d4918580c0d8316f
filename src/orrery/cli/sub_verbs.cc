#include "orrery/cli/sub_verbs.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::verbs {

int run_sub_verb(const SubVerbs& verbs, const Arguments& arguments, Console& console) {
  std::vector<std::string> names;
  for (const SubVerb& one : verbs.all) names.emplace_back(one.name);
  if (arguments == Arguments{kDescribe}) {
    try {
      return verbs.all.front().run(arguments, console);
    } catch (Described& line) {
      line.subverbs = names;
      throw;
    }
  }
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  for (const SubVerb& one : verbs.all)
    if (first == one.name) return one.run({arguments.begin() + 1, arguments.end()}, console);
  if (first != "--help" && first != "-h" && first != "help")
    misuse("O1101", fmt::format("`orrery {}` does not know what to do with `{}`", verbs.verb, first),
           base::did_you_mean(first, names, fmt::format("it has: {}", base::joined(names, ", "))));
  console.out << fmt::format("orrery {0}: {1}\n\nusage: orrery {0} VERB [options]\n\n", verbs.verb, verbs.summary);
  std::size_t width = 9;
  for (const SubVerb& one : verbs.all) width = std::max(width, std::string_view(one.name).size());
  for (const SubVerb& one : verbs.all) console.out << fmt::format("  {:<{}} {}\n", one.name, width, one.summary);
  console.out << fmt::format("\n`orrery {} VERB --help` shows a verb's options. Example:\n  {}\n", verbs.verb,
                             verbs.example);
  return kDone;
}

}  // namespace orrery::verbs
