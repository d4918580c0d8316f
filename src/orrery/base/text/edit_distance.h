// "Did you mean ...": the known name nearest to one that was misspelt.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace orrery::base {

// Least number of inserted, removed or replaced bytes, and swapped neighbours, that turns `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `wanted` most likely stands for, or "" when none is near enough to suggest: at most a
// third of the longer name (at least one edit) may differ, and in names of up to three letters the first letter must
// agree, in names of two both. Differences in case and between `-` and `_` hardly count. An exact match is returned as
// is; of two equally near candidates, the earlier.
std::string closest(std::string_view wanted, std::span<const std::string> candidates);

// "did you mean `X`?", where X is `meant`, or the candidate closest to `wanted`; `otherwise` when there is
// none.
std::string did_you_mean(std::string_view meant, std::string otherwise = {});
std::string did_you_mean(std::string_view wanted, std::span<const std::string> candidates, std::string otherwise = {});

}  // namespace orrery::base
