// Diagnostics of several layers on one chip repeat each other; each is kept once.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

class Gathered {
 public:
  void add(const std::vector<base::Diagnostic>& found) {
    for (const base::Diagnostic& diagnostic : found) {
      const base::Location& where = diagnostic.primary.where;
      const auto key = std::make_tuple(diagnostic.code, diagnostic.message, where.known() ? where.file->name : "",
                                       where.line, where.column);
      if (seen_.insert(key).second) all_.add(diagnostic);
    }
  }
  const base::Diagnostics& all() const { return all_; }

 private:
  std::set<std::tuple<std::string, std::string, std::string, int, int>> seen_;
  base::Diagnostics all_;
};

}  // namespace orrery::verbs
