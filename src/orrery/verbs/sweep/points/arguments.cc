#include "orrery/verbs/sweep/points/arguments.h"

#include <algorithm>
#include <cctype>

namespace orrery::sweep {
namespace {

std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

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

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + quoted(word);
  return out;
}

std::string command_line(const std::string& verb, const std::vector<std::string>& arguments,
                         const base::Overrides& point) {
  const SplitPoint parts = split(point);
  std::string out = "orrery " + verb;
  for (const std::vector<std::string>* list : {&arguments, &parts.options})
    if (!list->empty()) out += " " + shell_words(*list);
  for (const base::Override& set : parts.settings) out += " --set " + quoted(set.path + "=" + set.value);
  return out;
}

}  // namespace orrery::sweep
