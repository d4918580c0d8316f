#include "orrery/verbs/sweep/points/parts.h"

#include <charconv>

namespace orrery::sweep {

std::vector<StoredPart> parts_of(store::Store& store, const store::StudyRow& study, std::uint64_t point) {
  std::vector<StoredPart> out;
  const auto row = store.point(study.id, point);
  if (!row) return out;
  const std::string& text = row->outcome.parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::size_t first = text.find(' ', at), second = text.find(' ', first + 1);
    std::int64_t id = 0;
    std::from_chars(text.data() + at, text.data() + first, id);
    base::Count instances = 1;
    std::from_chars(text.data() + first + 1, text.data() + second, instances);
    if (const auto result = store.result(id))
      out.push_back({text.substr(second + 1, end - second - 1), instances, result->outcome});
    at = end + 1;
  }
  return out;
}

}  // namespace orrery::sweep
