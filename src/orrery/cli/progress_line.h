// A line on a terminal that shows how far a search is, once it takes long enough to wonder.
#pragma once

#include <string>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

class ProgressLine {
 public:
  explicit ProgressLine(const Console& console) : console_(console) {}
  ~ProgressLine();  // wipes it
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether anybody would see it: on a terminal, not quiet, after half a second.
  bool wanted() const { return console_.terminal && !console_.quiet && clock_.seconds() >= 0.5; }
  void show(const std::string& text);  // only when wanted()

 private:
  const Console& console_;
  base::Stopwatch clock_;
  bool shown_ = false;
};

}  // namespace orrery::verbs
