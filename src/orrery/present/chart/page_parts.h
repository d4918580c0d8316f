// What every page has: its look, and the script that makes charts answer and tables sort.
#pragma once

namespace orrery::verbs {

extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace orrery::verbs
