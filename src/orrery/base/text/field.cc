#include "orrery/base/text/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::base {
namespace {

template <typename Integer>
Field whole(std::string path, Integer& member, Integer least, Integer most, std::string text) {
  Field field{std::move(path),
              most == kUnbounded ? fmt::format("a whole number from {} on", least)
                                 : fmt::format("a whole number from {} to {}", least, most),
              std::move(text),
              least,
              most,
              {},
              {}};
  field.get = [&member] { return FieldValue(static_cast<Count>(member)); };
  field.set = [&member, least, most](const std::string& given) {
    const std::optional<Integer> value = parse_number<Integer>(given, least, most);
    if (!value) return false;
    member = *value;
    return true;
  };
  return field;
}

}  // namespace

Field whole_field(std::string path, Count& member, Count least, Count most, std::string text) {
  return whole(std::move(path), member, least, most, std::move(text));
}

Field whole_field(std::string path, int& member, int least, int most, std::string text) {
  return whole(std::move(path), member, least, most, std::move(text));
}

namespace {

Field real(std::string path, std::string values, double& member, double least, double most, std::string text) {
  Field field{std::move(path), std::move(values), std::move(text), 0, 1, {}, {}};
  field.get = [&member] { return FieldValue(member); };
  field.set = [&member, least, most](const std::string& given) {
    const std::optional<double> value = parse_number<double>(given, least, most);
    if (!value) return false;
    member = *value;
    return true;
  };
  return field;
}

}  // namespace

Field number_field(std::string path, double& member, double least, double most, std::string text) {
  return real(std::move(path), fmt::format("a number from {:g} to {:g}", least, most), member, least, most,
              std::move(text));
}

Field share_field(std::string path, double& member, std::string text) {
  return real(std::move(path), "a share from 0 to 1", member, 0, 1, std::move(text));
}

Field truth_field(std::string path, bool& member, std::string text) {
  Field field = named_field(
      std::move(path), {"true", "false"}, [] { return 0u; }, [&member](std::size_t index) { member = index == 0; },
      std::move(text));
  field.get = [&member] { return FieldValue(member); };  // not its name: JSON knows truths
  field.choices.clear();
  return field;
}

Field named_field(std::string path, const std::vector<std::string>& names, std::function<std::size_t()> get,
                  std::function<void(std::size_t)> set, std::string text) {
  Field field{std::move(path),
              names.size() == 2 ? fmt::format("{} or {}", names[0], names[1])
                                : fmt::format("one of {}", base::joined(names, ", ")),
              std::move(text),
              0,
              kUnbounded,
              {},
              {}};
  field.get = [names, get = std::move(get)] {
    const std::size_t at = get();
    return FieldValue(at < names.size() ? names[at] : std::string());
  };
  field.choices = names;
  field.set = [names, set = std::move(set)](const std::string& given) {
    const auto at = std::find(names.begin(), names.end(), given);
    if (at != names.end()) set(static_cast<std::size_t>(at - names.begin()));
    return at != names.end();
  };
  return field;
}

const Field* find_field(const Fields& fields, std::string_view path) {
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.path == path; });
  return at == fields.end() ? nullptr : &*at;
}

const Field* asked_field(const Fields& fields, const Override& set, const OverrideText& shown, const char* code,
                         const char* owner, Diagnostics& found) {
  if (const Field* field = find_field(fields, set.path)) return field;
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.path);
  found.error(code, fmt::format("{} has no field `{}`", owner, set.path), shown.path())
      .note(fmt::format("it has: {}", base::joined(names, ", ")))
      .hint(did_you_mean(set.path, names));
  return nullptr;
}

std::string field_table(const Fields& fields, std::string_view root) {
  std::string out = "| field | values | |\n|---|---|---|\n";
  constexpr std::size_t kWidest = 120;
  for (const Field& field : fields) {
    std::string row = fmt::format("| `{}{}` | {} |", root, field.path, field.values);
    for (const std::string_view word : split(field.text, ' ')) {
      if (row.size() + 1 + word.size() + 2 > kWidest) {
        out += row + " |\n";
        row = "| | |";
      }
      row.append(" ").append(word);
    }
    out += row + " |\n";
  }
  return out;
}

}  // namespace orrery::base
