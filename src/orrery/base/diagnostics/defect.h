// Named defects: what the codes that Orrery replaces do otherwise, each behind a switch of its own.
//
// An engine's defects are a struct of truths, all false by default, and one table that says for each its name, what it
// does and which originals have it. An original (`timeloop`, `gen2`) is the set of its defects; `--compat` takes
// either. docs/compatibility.md lists all of them with their effects.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::base {

template <typename Set>
struct Defect {
  std::string_view name;  // "omit_compute_leakage"
  bool Set::*member = nullptr;
  std::string_view originals;  // that have it, with blanks between
  std::string_view text;       // what is done
};

// The first of the words in `text`, which is taken off it; empty at the end.
constexpr std::string_view next_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return word;
}

constexpr bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty())
    if (next_word(text) == word) return true;
  return false;
}

// Switches on in `set` what `name` means: one defect, or all that an original has. False: neither is called so.
template <typename Set, std::size_t kSize>
constexpr bool bring_back(const Defect<Set> (&table)[kSize], std::string_view name, Set& set) {
  bool known = false;
  for (const Defect<Set>& defect : table)
    if (defect.name == name || has_word(defect.originals, name)) set.*defect.member = known = true;
  return known;
}

template <typename Set, std::size_t kSize>
constexpr Set defects_of(const Defect<Set> (&table)[kSize], std::string_view original) {
  Set set;
  bring_back(table, original, set);
  return set;
}

// The switch of a name; null: no such defect.
template <typename Set, std::size_t kSize>
bool* defect_named(const Defect<Set> (&table)[kSize], Set& set, std::string_view name) {
  for (const Defect<Set>& defect : table)
    if (defect.name == name) return &(set.*defect.member);
  return nullptr;
}

// Both in the order of the table.
template <typename Set, std::size_t kSize>
std::vector<std::string> defect_names(const Defect<Set> (&table)[kSize]) {
  std::vector<std::string> names;
  for (const Defect<Set>& defect : table) names.emplace_back(defect.name);
  return names;
}

template <typename Set, std::size_t kSize>
std::vector<std::string> original_names(const Defect<Set> (&table)[kSize]) {
  std::vector<std::string> names;
  for (const Defect<Set>& defect : table)
    for (std::string_view rest = defect.originals; !rest.empty();) {
      const std::string_view name = next_word(rest);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    }
  return names;
}

// What is switched on in `set`: the name of the original that has just that, else the names of the defects.
template <typename Set, std::size_t kSize>
std::vector<std::string> present(const Defect<Set> (&table)[kSize], const Set& set) {
  std::vector<std::string> names;
  for (const Defect<Set>& defect : table)
    if (set.*defect.member) names.emplace_back(defect.name);
  for (const std::string& original : original_names(table))
    if (!names.empty() && defects_of(table, original) == set) return {original};
  return names;
}

// What a user asked to have reproduced, and by which names.
template <typename Set>
struct Reproduced {
  Set defects;
  std::vector<std::string> names;
};

// An original or a defect more. False: neither is called so.
template <typename Set, std::size_t kSize>
bool reproduce(const Defect<Set> (&table)[kSize], const std::string& name, Reproduced<Set>& into) {
  if (!bring_back(table, name, into.defects)) return false;
  if (std::find(into.names.begin(), into.names.end(), name) == into.names.end()) into.names.push_back(name);
  return true;
}

}  // namespace orrery::base
