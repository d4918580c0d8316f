#include "orrery/inputs/systems/run_question.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::verbs {

void refuse_choice_of(const std::vector<std::string>& open, base::Diagnostics& found, const std::string& why) {
  auto& no = found.error("O1372", fmt::format("no choice of {} makes the run possible", base::joined(open, ", ")));
  if (!why.empty()) no.note(why);
  no.note("the errors before this one are those of the smallest choice")
      .hint("give numbers of accelerators and of sequences with more divisors, or the degrees themselves");
}

}  // namespace orrery::verbs
