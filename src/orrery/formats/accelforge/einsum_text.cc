#include "orrery/formats/accelforge/einsum_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "orrery/base/text/text.h"

namespace orrery::formats::accelforge {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// `m` is rank M walked by m, `M: p` is rank M walked by p.
std::pair<std::string, std::string> rank_of(const std::string& rank, const std::string& variable,
                                            const base::Location& where) {
  if (!is_name(variable)) {
    if (variable.find_first_of("+-*/") != std::string::npos)
      base::fail("O2104",
                 fmt::format("`{}` walks over a rank by more than one variable: windows are not supported", variable),
                 where, "write the einsums without windows, or map them one by one with `orrery map`");
    base::fail("O2109", fmt::format("`{}` is no name of a rank variable", variable), where);
  }
  const bool small = std::islower(static_cast<unsigned char>(variable[0])) != 0 || variable[0] == '_';
  if (!small)
    base::fail("O2109", fmt::format("`{}` stands where a rank variable is expected, which begins small", variable),
               where, fmt::format("write `{}: variable` for a rank that is walked by another variable", variable));
  return {rank.empty() ? base::upper(variable) : rank, variable};
}

std::vector<std::pair<std::string, std::string>> projection_of(const yaml::Node& node) {
  std::vector<std::pair<std::string, std::string>> made;
  for (const yaml::Node& item : node.items) made.push_back(rank_of("", item.scalar, item.where));
  for (const yaml::Node::Entry& entry : node.entries)
    made.push_back(rank_of(entry.key, entry.value.scalar, entry.value.where));
  if (made.empty())
    base::fail("O2109", "`projection` is a list of rank variables, or a map of ranks to them", node.where);
  return made;
}

// A piece of an einsum's text, with its place.
class Text {
 public:
  explicit Text(const yaml::Node& node) : node_(node) {}

  base::Location at(std::size_t offset, std::size_t length) const {
    base::Location where = node_.where;
    if (where.line > 0 && node_.scalar.find('\n') == std::string::npos) {
      where.column += static_cast<int>(offset) + (node_.quoted ? 1 : 0);
      where.length = static_cast<int>(std::max<std::size_t>(1, length));
    }
    return where;
  }

  // The accesses that begin between `from` and `to`.
  std::vector<AccessSpec> accesses(std::size_t from, std::size_t to) const {
    const std::string& text = node_.scalar;
    std::vector<AccessSpec> made;
    while (from < to) {
      const std::size_t open = text.find('[', from);
      if (open >= to) break;
      const std::size_t close = text.find(']', open);
      if (close >= to) base::fail("O2109", "`[` is never closed", at(open, 1));
      std::size_t begin = open;
      while (begin > from && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_'))
        --begin;
      AccessSpec access;
      access.tensor = text.substr(begin, open - begin);
      access.where = at(begin, close + 1 - begin);
      if (!is_name(access.tensor)) base::fail("O2109", "`[` follows no name of a tensor", at(open, 1));
      std::size_t part = open + 1;
      for (const std::string_view one : base::split(std::string_view(text).substr(open + 1, close - open - 1), ',')) {
        const std::size_t colon = one.find(':');
        const std::string rank =
            colon == std::string_view::npos ? "" : std::string(base::trimmed(one.substr(0, colon)));
        const std::string variable =
            std::string(base::trimmed(colon == std::string_view::npos ? one : one.substr(colon + 1)));
        access.projection.push_back(rank_of(rank, variable, at(part, one.size())));
        part += one.size() + 1;
      }
      made.push_back(std::move(access));
      from = close + 1;
    }
    return made;
  }

 private:
  const yaml::Node& node_;
};

bool truth_of(const yaml::Node& node) {
  return node.scalar == "True" || node.scalar == "true";
}

void fill(AccessSpec& access, const yaml::Node& from) {
  if (const yaml::Node* bits = from.find("bits_per_value")) access.bits = number_of(*bits, {}, "`bits_per_value`");
  if (const yaml::Node* persistent = from.find("persistent")) access.persistent = truth_of(*persistent);
  if (const yaml::Node* scale = from.find("backing_storage_size_scale"))
    if (number_of(*scale, {}, "`backing_storage_size_scale`") != 1)
      base::fail("O2104", "`backing_storage_size_scale` is not supported", scale->where);
}

constexpr std::string_view kKnown[] = {"name",           "projection", "output",
                                       "bits_per_value", "persistent", "backing_storage_size_scale"};

}  // namespace

std::vector<AccessSpec> accesses_of_text(const yaml::Node& node) {
  const Text text(node);
  const std::size_t equals = node.scalar.find('=');
  if (equals == std::string::npos || node.scalar.find('=', equals + 1) != std::string::npos)
    base::fail("O2109", "an einsum has one `=`, between what it makes and what it reads", node.where,
               "as in `Z[m, n] = A[m, k] * B[k, n]`");
  const std::vector<AccessSpec> made = text.accesses(0, equals);
  std::vector<AccessSpec> accesses = text.accesses(equals + 1, node.scalar.size());
  if (made.size() != 1 || accesses.empty())
    base::fail("O2109", "an einsum makes one tensor of at least one other", node.where,
               "as in `Z[m, n] = A[m, k] * B[k, n]`");
  accesses.push_back(made[0]);
  accesses.back().output = true;
  return accesses;
}

std::vector<AccessSpec> accesses_of_list(const yaml::Node& list, base::Diagnostics& found) {
  std::vector<AccessSpec> inputs, outputs;
  for (const yaml::Node& item : list.items) {
    const yaml::Node* name = item.find("name");
    const yaml::Node* projection = item.find("projection");
    if (name == nullptr || projection == nullptr)
      base::fail("O2109", "a tensor access has a `name` and a `projection`", item.where);
    warn_unknown(item, {std::begin(kKnown), std::end(kKnown)}, "a tensor access", found);
    AccessSpec access;
    access.tensor = name->scalar;
    access.where = name->where;
    access.projection = projection_of(*projection);
    if (const yaml::Node* output = item.find("output")) access.output = truth_of(*output);
    fill(access, item);
    (access.output ? outputs : inputs).push_back(std::move(access));
  }
  if (outputs.size() != 1 || inputs.empty())
    base::fail("O2109",
               fmt::format("an einsum makes one tensor of at least one other, but this makes {} of {}", outputs.size(),
                           inputs.size()),
               list.where, "say `output: True` of the one that is made");
  inputs.push_back(std::move(outputs[0]));
  return inputs;
}

void add_to_accesses(std::vector<AccessSpec>& accesses, const yaml::Node& list, base::Diagnostics& found) {
  for (const yaml::Node& item : list.items) {
    warn_unknown(item, {std::begin(kKnown), std::end(kKnown)}, "a tensor access", found);
    const yaml::Node* name = item.find("name");
    const auto access = std::find_if(accesses.begin(), accesses.end(), [&](const AccessSpec& one) {
      return name != nullptr && one.tensor == name->scalar;
    });
    if (access == accesses.end())
      base::fail("O2109", "this names no tensor of the einsum's text", name != nullptr ? name->where : item.where);
    if (item.find("projection") != nullptr || item.find("output") != nullptr)
      base::fail("O2109", "the einsum's text says already how its tensors are walked", item.where);
    fill(*access, item);
  }
}

}  // namespace orrery::formats::accelforge
