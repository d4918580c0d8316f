// `--compat NAME`: an original is reproduced, or one defect of it (base/diagnostics/defect.h). One original of an
// engine at a time.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/defect.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/command_line.h"

namespace orrery::verbs {

// False: no original and no defect of `table` is called so. Two originals of it are refused (O1102).
template <typename Set, std::size_t kSize>
bool reproduces(const base::Defect<Set> (&table)[kSize], const std::string& name, base::Reproduced<Set>& into) {
  const std::vector<std::string> originals = base::original_names(table);
  const auto original = [&](const std::string& known) {
    return std::find(originals.begin(), originals.end(), known) != originals.end();
  };
  const auto other = std::find_if(into.names.begin(), into.names.end(),
                                  [&](const std::string& known) { return known != name && original(known); });
  if (original(name) && other != into.names.end())
    misuse("O1102", fmt::format("`--compat {}` and `--compat {}` ask for two models at once", *other, name),
           "run once with each");
  return base::reproduce(table, name, into);
}

// O1102 for a name that is none: `what` says which there would be.
template <typename... Table>
[[noreturn]] void refuse_compat(const std::string& name, const std::string& what, const Table&... tables) {
  std::vector<std::string> originals, defects;
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  (add(originals, base::original_names(tables)), ...);
  (add(defects, base::defect_names(tables)), ...);
  const std::string known = originals.size() == 1 ? fmt::format("write `--compat {}`", originals.front())
                                                  : fmt::format("known: {}", base::joined(originals, ", "));
  misuse("O1102", fmt::format("`--compat {}` names {}", name, what),
         base::did_you_mean(name, originals, base::did_you_mean(name, defects, known)));
}

}  // namespace orrery::verbs
