#include "orrery/inputs/layers/forced_choice.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/machine/fan_out_name.h"

namespace orrery::verbs {
namespace {

using nest::Comparison;
using nest::Constraint;

constexpr const char* kForms =
    "write `LEVEL.DIM=VALUE` (or `<=`, `>=`), `LEVEL.keep=DATASPACE` or `LEVEL.bypass=DATASPACE`";

// The parts of the text, each with the column where it begins (from 0).
struct Part {
  std::string text;
  std::size_t at = 0;
};

struct Parts {
  Part level, block, subject, value;  // block: "spatial", "temporal" or nothing
  Comparison comparison = Comparison::kEqual;
};

class Reader {
 public:
  Reader(const std::string& text, const workload::Einsum& einsum, const machine::Chip& chip)
      : text_(text),
        einsum_(einsum),
        chip_(chip),
        file_(std::make_shared<const base::SourceFile>(base::SourceFile{"<--why>", text + "\n"})) {}

  Constraint read() const {
    const Parts parts = split();
    Constraint constraint;
    constraint.text = text_;
    constraint.where = place({text_, 0});
    find_level(parts, constraint);
    if (parts.subject.text == "keep" || parts.subject.text == "bypass") {
      constraint.kind = Constraint::Kind::kKeep;
      constraint.keep = parts.subject.text == "keep";
      constraint.spatial = false;
      if (parts.comparison != Comparison::kEqual || !parts.block.text.empty()) wrong(parts.subject, kForms);
      std::vector<std::string> names;
      for (const workload::Dataspace& dataspace : einsum_.dataspaces) names.push_back(dataspace.name);
      constraint.dataspace = index_of(parts.value, names, "dataspace");
      return constraint;
    }
    std::vector<std::string> names;
    for (const workload::Dimension& dimension : einsum_.dimensions) names.push_back(dimension.name);
    constraint.dimension = index_of(parts.subject, names, "dimension");
    constraint.comparison = parts.comparison;
    constraint.value = count_of(parts.value);
    return constraint;
  }

 private:
  base::Location place(const Part& part) const {
    return {file_, 1, static_cast<int>(part.at) + 1, std::max(1, static_cast<int>(part.text.size()))};
  }

  [[noreturn]] void wrong(const Part& part, const std::string& hint) const {
    base::fail("O1116", fmt::format("`--why {}` names no choice", text_), place(part), hint);
  }

  Parts split() const {
    const std::size_t sign = text_.find_first_of("<>=");
    if (sign == std::string::npos) wrong({text_, 0}, kForms);
    Parts parts;
    std::size_t value = sign + 1;
    if (text_[sign] != '=') {
      if (value >= text_.size() || text_[value] != '=')
        wrong({text_.substr(sign, 1), sign}, fmt::format("write `{}=`: the value itself is allowed", text_[sign]));
      parts.comparison = text_[sign] == '<' ? Comparison::kAtMost : Comparison::kAtLeast;
      ++value;
    }
    parts.value = {text_.substr(value), value};
    const std::string left = text_.substr(0, sign);
    const std::size_t dot = left.rfind('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == left.size() || parts.value.text.empty())
      wrong({text_, 0}, kForms);
    parts.subject = {left.substr(dot + 1), dot + 1};
    parts.level = {left.substr(0, dot), 0};
    for (const std::string block : {"spatial", "temporal"}) {
      const std::string& level = parts.level.text;
      if (level.size() <= block.size() + 1 || !level.ends_with("." + block)) continue;
      parts.block = {block, level.size() - block.size()};
      parts.level.text = level.substr(0, level.size() - block.size() - 1);
      break;
    }
    return parts;
  }

  void find_level(const Parts& parts, Constraint& constraint) const {
    std::vector<std::string> names;  // as users call them, outermost first
    std::optional<int> found;
    for (int i = static_cast<int>(chip_.storages.size()); i-- > 0;) {
      const std::string& name = chip_.storages[i].name;
      const std::string_view container = machine::container_of(name);
      names.emplace_back(container.empty() ? std::string_view(name) : container);
      if (parts.level.text == name || parts.level.text == names.back()) {
        found = i;
        constraint.spatial = !container.empty();
      }
    }
    if (!found) {
      const std::string nearest = base::closest(parts.level.text, names);
      base::Diagnostics problems;
      problems.error("O1116", fmt::format("no level is called `{}`", parts.level.text), place(parts.level))
          .note(fmt::format("levels, outermost first: `{}`", base::joined(names, "`, `")))
          .hint(nearest.empty() ? "name one of them" : fmt::format("did you mean `{}`?", nearest));
      problems.throw_if_errors();
    }
    constraint.level = *found;
    if (!parts.block.text.empty()) constraint.spatial = parts.block.text == "spatial";
  }

  int index_of(const Part& wanted, const std::vector<std::string>& names, const char* what) const {
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] == wanted.text) return static_cast<int>(k);
    const std::string nearest = base::closest(wanted.text, names);
    base::fail("O1116", fmt::format("`{}` has no {} `{}`", einsum_.name, what, wanted.text), place(wanted),
               nearest.empty() ? fmt::format("{}s are `{}`", what, base::joined(names, "`, `"))
                               : fmt::format("did you mean `{}`?", nearest));
  }

  base::Count count_of(const Part& part) const {
    const base::Count value = base::parse_number<base::Count>(part.text).value_or(0);
    if (value < 1) wrong(part, fmt::format("`{}` is not a whole number from 1 on", part.text));
    return value;
  }

  const std::string& text_;
  const workload::Einsum& einsum_;
  const machine::Chip& chip_;
  const std::shared_ptr<const base::SourceFile> file_;
};

}  // namespace

nest::Constraint forced_choice(const std::string& text, const workload::Einsum& einsum, const machine::Chip& chip) {
  return Reader(text, einsum, chip).read();
}

}  // namespace orrery::verbs
