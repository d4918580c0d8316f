// `where:` an expression over the fields that vary: `arch.PERows.meshY * arch.PECols.meshX <= 1024`.
//
// The arithmetic is that of Timeloop's documents (formats/timeloop/expressions). A path stands for its value at the
// point; so does its last name, where only one path ends in it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/formats/timeloop/expressions/expression.h"

namespace orrery::sweep {

class Filter {
 public:
  // `paths`: those that vary. Throws InputError O2049 for what is no expression, or names what does not vary.
  Filter(const std::string& text, const base::Location& where, const std::vector<std::string>& paths);

  // Throws InputError O2049 where the expression has no value there.
  bool keeps(const base::Overrides& values) const;
  const std::string& text() const { return text_; }
  const base::Location& where() const { return where_; }

 private:
  [[noreturn]] void refuse(const formats::timeloop::ExpressionError& error, const std::string& more) const;
  std::string text_;
  base::Location where_;
  formats::timeloop::Expression expression_;
  std::vector<std::pair<std::string, std::size_t>> names_;  // of the expression: which of the point's values
};

}  // namespace orrery::sweep
