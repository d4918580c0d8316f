// Optimal string alignment: Levenshtein's table with one more case, the swap of two neighbours,
// because that is the most common typing error.
//
//   d(i, j) = min( d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [a_i != b_j],
//                  d(i-2, j-2) + 1   if a_i = b_(j-1) and a_(i-1) = b_j )
//
// `closest` compares folded names (lower case, `-` and ` ` read as `_`) and lets the unfolded
// difference break ties, so that `pe_array` finds `PE-array` before `pe_arrays`.
//
// Source: Damerau (1964), Wagner and Fischer (1974). Cost: |a| |b| steps, three rows of memory.
#include "orrery/base/text/edit_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery/base/text/text.h"

namespace orrery::base {
namespace {

// A very long text is not a misspelt name, and the table must not take much memory.
constexpr std::size_t kLongestName = 256;

std::string fold(std::string_view name) {
  std::string folded(name);
  for (char& letter : folded) {
    letter = lower(letter);
    if (letter == '-' || letter == ' ') letter = '_';
  }
  return folded;
}

// Short names that differ in one letter mostly name different things (`opt`, `mpt`; `tp`, `pp`). Typing errors are a
// letter too many, one too few, or two swapped; with three letters, also one that replaces the second or third (`KTO`
// for `KTQ`).
constexpr std::size_t kShort = 3;

bool has_another_letter(std::string a, std::string b) {
  if (a.size() != b.size() || (a.size() == kShort && a[0] == b[0])) return false;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a != b;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string closest(std::string_view wanted, std::span<const std::string> candidates) {
  if (wanted.empty() || wanted.size() > kLongestName) return {};
  const std::string folded = fold(wanted);
  std::pair best{std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max()};
  std::string found;
  for (const std::string& candidate : candidates) {
    if (candidate == wanted) return candidate;
    if (candidate.empty() || candidate.size() > kLongestName) continue;
    const std::size_t distance = edit_distance(folded, fold(candidate));
    const std::size_t longer = std::max(wanted.size(), candidate.size());
    if (distance > std::max<std::size_t>(1, longer / 3) || distance >= longer) continue;
    if (distance > 0 && longer <= kShort && has_another_letter(folded, fold(candidate))) continue;
    const std::pair score{distance, edit_distance(wanted, candidate)};
    if (score < best) {
      best = score;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view meant, std::string otherwise) {
  return meant.empty() ? std::move(otherwise) : fmt::format("did you mean `{}`?", meant);
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string> candidates, std::string otherwise) {
  return did_you_mean(closest(wanted, candidates), std::move(otherwise));
}

}  // namespace orrery::base
