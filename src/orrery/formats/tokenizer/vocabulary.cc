#include <algorithm>

#include "orrery/formats/tokenizer/models.h"

namespace orrery::formats::tokenizer {

bool Vocabulary::add(const std::string& token, Id id) {
  const auto [entry, fresh] = ids_.emplace(token, id);
  if (!fresh) return false;
  texts_.emplace(id, &entry->first);
  longest_ = std::max(longest_, token.size());
  return true;
}

std::optional<Id> Vocabulary::find(std::string_view token) const {
  const auto entry = ids_.find(token);
  return entry == ids_.end() ? std::nullopt : std::optional(entry->second);
}

const std::string* Vocabulary::text(Id id) const {
  const auto entry = texts_.find(id);
  return entry == texts_.end() ? nullptr : entry->second;
}

}  // namespace orrery::formats::tokenizer
