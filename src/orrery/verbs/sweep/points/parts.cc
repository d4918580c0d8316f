#include "orrery/verbs/sweep/points/parts.h"

#include <algorithm>
#include <charconv>

namespace orrery::sweep {

std::vector<StoredPart> parts_of(store::Store& store, const store::StudyRow& study, std::uint64_t point) {
  std::vector<StoredPart> out;
  const auto row = store.point(study.id, point);
  if (!row) return out;
  const std::string& text = row->outcome.parts;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::int64_t id = 0;
    base::Count instances = 1;
    const char* const last = text.data() + end;
    const auto number = std::from_chars(text.data() + at, last, id);
    const auto times = std::from_chars(std::min(number.ptr + 1, last), last, instances);
    if (const auto result = store.result(id))
      out.push_back({std::string(std::min(times.ptr + 1, last), last), instances, result->outcome});
  }
  return out;
}

}  // namespace orrery::sweep
