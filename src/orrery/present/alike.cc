// Two warnings are alike when their sentences differ in names and numbers only: what stands between backquotes and what
// is made of digits is struck out, and the rest is compared.
//
//   `output_tensor_size` of kernel `Q` is 8, and its shape makes 4 bytes   ->   `` of kernel `` is 0, and its shape ...
//
// Cost: linear in the messages, apart from the maps.
#include "orrery/present/alike.h"

#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

using base::Diagnostic;

constexpr std::size_t kAlikeShown = 3;  // so many stay as they are
constexpr std::size_t kNamed = 6;       // of those left out

// The sentence without names and numbers, and the names.
struct Sentence {
  std::string bare;
  std::vector<std::string> names;
};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

Sentence taken_apart(std::string_view message) {
  Sentence sentence;
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t close = message[at] == '`' ? message.find('`', at + 1) : std::string_view::npos;
    if (close != std::string_view::npos) {
      sentence.names.emplace_back(message.substr(at, close + 1 - at));
      sentence.bare += "``";
      at = close + 1;
    } else if (is_digit(message[at])) {
      while (at < message.size() && (is_digit(message[at]) || message[at] == '.' || message[at] == ',')) ++at;
      sentence.bare += '0';
    } else {
      sentence.bare += message[at++];
    }
  }
  return sentence;
}

std::string file_name(const Diagnostic& diagnostic) {
  return diagnostic.primary.where.known() ? diagnostic.primary.where.file->name : "";
}

// All that is shown of a message.
std::string in_every_word(const Diagnostic& diagnostic) {
  const base::Location& where = diagnostic.primary.where;
  std::string key =
      fmt::format("{}\n{}\n{}\n{}:{}:{}\n{}", static_cast<int>(diagnostic.severity), diagnostic.code,
                  diagnostic.message, file_name(diagnostic), where.line, where.column, diagnostic.primary.text);
  for (const base::Label& label : diagnostic.secondary)
    key += fmt::format("\n{}:{}:{}", label.text, label.where.line, label.where.column);
  for (const std::string& note : diagnostic.notes) key += "\n" + note;
  for (const std::string& hint : diagnostic.hints) key += "\n" + hint;
  return key;
}

// "`K` in line 34": what a message names that the first one does not, and where.
std::string in_short(const Diagnostic& diagnostic, const std::set<std::string>& known) {
  std::string text;
  for (const std::string& name : taken_apart(diagnostic.message).names)
    if (known.count(name) == 0) text += (text.empty() ? "" : " ") + name;
  if (diagnostic.primary.where.line > 0)
    text += fmt::format("{}line {}", text.empty() ? "" : " in ", diagnostic.primary.where.line);
  return text;
}

std::string remark(const std::vector<Diagnostic>& found, const std::vector<std::size_t>& group) {
  const std::vector<std::string> first = taken_apart(found[group.front()].message).names;
  const std::set<std::string> known(first.begin(), first.end());
  std::string list;
  for (std::size_t i = 1; i < group.size() && i <= kNamed; ++i) {
    const std::string text = in_short(found[group[i]], known);
    if (!text.empty()) list += (list.empty() ? "" : ", ") + text;
  }
  const char* rest = group.size() - 1 > kNamed && !list.empty() ? ", ..." : "";
  return fmt::format("and {} more like it{}{}{}; `--json` lists all", group.size() - 1, list.empty() ? "" : ": ", list,
                     rest);
}

}  // namespace

std::vector<Diagnostic> fold_alike(const std::vector<Diagnostic>& found) {
  std::set<std::string> seen;
  std::vector<bool> again(found.size());
  std::map<std::string, std::vector<std::size_t>> groups;
  std::vector<std::vector<std::size_t>*> group_of(found.size(), nullptr);
  for (std::size_t i = 0; i < found.size(); ++i) {
    again[i] = !seen.insert(in_every_word(found[i])).second;
    if (again[i] || found[i].severity == base::Severity::kError) continue;
    const std::string key = found[i].code + "\n" + file_name(found[i]) + "\n" + taken_apart(found[i].message).bare;
    group_of[i] = &groups[key];
    group_of[i]->push_back(i);
  }
  std::vector<Diagnostic> folded;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<std::size_t>* group = group_of[i];
    const bool many = group != nullptr && group->size() > kAlikeShown;
    if (again[i] || (many && group->front() != i)) continue;
    folded.push_back(found[i]);
    if (many) folded.back().note(remark(found, *group));
  }
  return folded;
}

}  // namespace orrery::verbs
