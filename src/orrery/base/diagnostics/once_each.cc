#include "orrery/base/diagnostics/once_each.h"

#include <map>
#include <string>
#include <tuple>

#include "orrery/base/text/text.h"

namespace orrery::base {

static bool same_place(const Location& a, const Location& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

std::vector<Diagnostic> once_each(const std::vector<Diagnostic>& found) {
  constexpr std::size_t kShown = 3;  // places beside the first
  using Key = std::tuple<std::string, Severity, std::string, std::vector<std::string>, std::vector<std::string>>;
  std::map<Key, std::size_t> first;
  std::vector<Diagnostic> once;
  std::vector<std::size_t> repeated;  // of each
  for (const Diagnostic& diagnostic : found) {
    const bool alone = !diagnostic.primary.where.known() || !diagnostic.primary.text.empty() ||
                       !diagnostic.secondary.empty();  // says more than its message
    const auto [at, fresh] = first.try_emplace(
        {diagnostic.code, diagnostic.severity, diagnostic.message, diagnostic.notes, diagnostic.hints}, once.size());
    if (fresh || alone) {
      once.push_back(diagnostic);
      repeated.push_back(0);
    } else if (same_place(once[at->second].primary.where, diagnostic.primary.where)) {
      continue;
    } else if (++repeated[at->second] <= kShown) {
      once[at->second].also(diagnostic.primary.where, "the same here");
    }
  }
  for (std::size_t i = 0; i < once.size(); ++i)
    if (repeated[i] > kShown) {
      const std::size_t more = repeated[i] - kShown;
      once[i].notes.push_back("and at " + std::to_string(more) + " more place" + plural(more));
    }
  return once;
}

}  // namespace orrery::base
