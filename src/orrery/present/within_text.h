// An expected error in words.
#pragma once

#include <string>

namespace orrery::verbs {

// Of |predicted / measured - 1|: "within 29 %", "to a factor of 2.7" from 1 on, since what is measured may be so many
// times less, "how far off is unknown" from a factor of ten on.
std::string within_text(double share);

}  // namespace orrery::verbs
