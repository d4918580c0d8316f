// The values that a field takes in a study, as text: each is what `--set` or an option would be given.
//
//   8,16,32         these
//   1..8            from 1 to 8, by 1
//   0.1..0.5:0.1    by 0.1
//   64Ki..1Mi:x2    each twice the one before: 65536 to 1048576
//
// Lists may hold ranges. Ki, Mi, Gi and Ti multiply whole numbers by powers of 1024. What is no number stands as it is.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::sweep {

inline constexpr std::size_t kMostValues = 1'000'000;  // of one field

// Throws InputError O2046 for ranges that never end, are empty or too long; `where` is the place of the text.
std::vector<std::string> values_of(const std::string& text, const base::Location& where);

// One value of a list in a document, which may be a range.
void append_values(const std::string& text, const base::Location& where, std::vector<std::string>& out);

// The number that a value is, if it is one.
bool is_number(const std::string& text, double& number);

}  // namespace orrery::sweep
