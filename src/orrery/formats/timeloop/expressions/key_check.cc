#include "orrery/formats/timeloop/expressions/key_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text/edit_distance.h"

namespace orrery::formats::timeloop {

std::string plain_key(std::string_view key) {
  std::string plain(key);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

void warn_unknown_key(const yaml::Node::Entry& entry, std::span<const std::string> known, const std::string& code,
                      std::string_view what, base::Diagnostics& found) {
  const std::string key = plain_key(entry.key);
  if (key.rfind("ignore", 0) == 0 || std::find(known.begin(), known.end(), key) != known.end()) return;
  base::Diagnostic& warning =
      found.warning(code, fmt::format("{} has no key `{}`; it is ignored", what, entry.key), entry.key_where);
  suggest(warning, key, known, "known keys");
}

void warn_unknown_keys(const yaml::Node& map, std::span<const std::string> known, const std::string& code,
                       std::string_view what, base::Diagnostics& found) {
  for (const yaml::Node::Entry& entry : map.entries) warn_unknown_key(entry, known, code, what, found);
}

std::string quoted_list(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += fmt::format("{}`{}`", list.empty() ? "" : ", ", name);
  return list;
}

void suggest(base::Diagnostic& diagnostic, std::string_view wanted, std::span<const std::string> known,
             std::string_view otherwise) {
  diagnostic.hint(base::did_you_mean(wanted, known));
  if (!known.empty()) diagnostic.note(fmt::format("{}: {}", otherwise, quoted_list(known)));
}

}  // namespace orrery::formats::timeloop
