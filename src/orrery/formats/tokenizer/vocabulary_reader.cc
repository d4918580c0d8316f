#include "orrery/formats/tokenizer/vocabulary_reader.h"

#include <limits>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::formats::tokenizer {

std::shared_ptr<Vocabulary> read_vocabulary(const json::Node& object, base::Diagnostics& found) {
  auto vocabulary = std::make_shared<Vocabulary>();
  if (!object.is_object()) {
    found.error("O1621", fmt::format("a vocabulary is an object of tokens and ids, and this is {}", describe(object)),
                object.where);
    return vocabulary;
  }
  for (const json::Member& entry : object.members) {
    const auto id = entry.value.is_number() ? base::whole_number(entry.value.number) : std::nullopt;
    if (!id || *id < 0 || *id > std::numeric_limits<Id>::max() || static_cast<double>(*id) != entry.value.number) {
      found.error("O1621",
                  fmt::format("the id of `{}` must be a count below 2^31, and is {}", entry.key, describe(entry.value)),
                  entry.value.where);
      continue;
    }
    if (const std::string* const other = vocabulary->text(static_cast<Id>(*id)))
      found.error("O1621", fmt::format("`{}` and `{}` have the same id, {}", *other, entry.key, *id),
                  entry.value.where);
    if (!vocabulary->add(entry.key, static_cast<Id>(*id)))
      found.error("O1621", fmt::format("`{}` stands twice in the vocabulary", entry.key), entry.key_where);
  }
  if (object.members.empty()) found.error("O1621", "the vocabulary is empty", object.where);
  return vocabulary;
}

std::shared_ptr<Vocabulary> read_vocabulary_lines(const File& file, base::Diagnostics& found) {
  auto vocabulary = std::make_shared<Vocabulary>();
  std::string_view rest = file->text;
  for (Id line = 0; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view token = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!token.empty() && token.back() == '\r') token.remove_suffix(1);
    if (!vocabulary->add(std::string(token), line))
      found
          .error("O1621", fmt::format("`{}` stands twice in the vocabulary", token),
                 {file, line + 1, 1, static_cast<int>(std::max<std::size_t>(1, token.size()))})
          .note(fmt::format("line {} has it, too, and a token's line is its id", *vocabulary->find(token) + 1));
  }
  if (vocabulary->size() == 0) found.error("O1621", "the vocabulary is empty", {file, 0, 0});
  return vocabulary;
}

std::optional<Merge> merge_of(const std::string& left, const std::string& right, const Vocabulary& vocabulary,
                              const base::Location& where, base::Diagnostics& found) {
  const std::string all = left + right;
  std::optional<Id> ids[3];
  const std::string* const names[3] = {&left, &right, &all};
  for (int i = 0; i < 3; ++i) {
    ids[i] = vocabulary.find(*names[i]);
    if (ids[i]) continue;
    found.error("O1622", fmt::format("`{}` is not in the vocabulary", *names[i]), where)
        .note(fmt::format("the merge is `{}` and `{}` to `{}`", left, right, all));
    return std::nullopt;
  }
  return Merge{*ids[0], *ids[1], *ids[2]};
}

std::optional<Merge> merge_line(std::string_view line, const Vocabulary& vocabulary, const base::Location& where,
                                base::Diagnostics& found) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size() ||
      line.find(' ', blank + 1) != std::string_view::npos) {
    found.error("O1622", "a merge is two tokens with a blank between", where);
    return std::nullopt;
  }
  return merge_of(std::string(line.substr(0, blank)), std::string(line.substr(blank + 1)), vocabulary, where, found);
}

void check_bytes(const Vocabulary& vocabulary, const base::Location& where, base::Diagnostics& warnings) {
  int missing = 0;
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(character_of_byte(static_cast<unsigned char>(byte)), character);
    if (!vocabulary.find(character)) ++missing;
  }
  if (missing > 0)
    warnings.warning("O1627", fmt::format("{} of 256 bytes have no token in the vocabulary; texts lose them", missing),
                     where);
}

}  // namespace orrery::formats::tokenizer
