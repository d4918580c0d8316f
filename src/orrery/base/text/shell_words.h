// Words as a shell takes them.
#pragma once

#include <string>
#include <vector>

namespace orrery::base {

// Blanks between; quoted where a shell needs it. Words that hold control characters, or bytes that are no UTF-8, are
// written as bash, ksh and zsh read them: $'\033'.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace orrery::base
