// Large whole numbers as people read them.
#pragma once

#include <string>

namespace orrery::base {

// "412,316,860,416": rounded to a whole number, in groups of three digits.
std::string grouped(double value);

}  // namespace orrery::base
