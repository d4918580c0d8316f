#include "orrery/verbs/sweep/points/arguments.h"

#include <sstream>

#include "orrery/base/text/shell_words.h"

namespace orrery::sweep {
SplitPoint split(const base::Overrides& point) {
  SplitPoint out;
  for (const base::Override& set : point) {
    if (set.path.find('.') != std::string::npos) {
      out.settings.push_back(set);
    } else if (set.value == "true") {
      out.options.push_back("--" + set.path);
    } else if (set.value != "false") {
      out.options.push_back("--" + set.path + "=" + set.value);
    }
  }
  return out;
}

std::string values_text(const base::Overrides& point) {
  std::string out;
  for (const base::Override& set : point) out += (out.empty() ? "" : ", ") + set.path + "=" + set.value;
  return out;
}

std::vector<std::string> verb_words(const std::string& verb, const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  std::istringstream names(verb);
  for (std::string name; names >> name;) out.push_back(name);
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

std::string command_line(const std::string& verb, const std::vector<std::string>& arguments,
                         const base::Overrides& point) {
  const SplitPoint parts = split(point);
  std::string out = "orrery " + verb;
  for (const std::vector<std::string>* list : {&arguments, &parts.options})
    if (!list->empty()) out += " " + base::shell_words(*list);
  for (const base::Override& set : parts.settings) out += " --set " + base::shell_words({set.path + "=" + set.value});
  return out;
}

}  // namespace orrery::sweep
