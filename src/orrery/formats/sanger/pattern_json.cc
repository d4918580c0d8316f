// A class is a list of parameters, each a key and what takes its value.
#include "orrery/formats/sanger/pattern_json.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::sanger {
namespace {

using base::Count;
using json::Node;
using masks::Pattern;
using masks::PatternKind;

constexpr double kMostValue = 1 << 30;

// Takes a value; what it must be, where it is not.
struct Parameter {
  std::string key;
  std::function<std::string(const Node& value)> take;
};
using Parameters = std::vector<Parameter>;

std::optional<Count> whole(const Node& value) {
  if (!value.is_number() || value.number < 0 || value.number > kMostValue) return std::nullopt;
  const std::optional<Count> out = base::whole_number(value.number);
  return out && static_cast<double>(*out) == value.number ? out : std::nullopt;
}

Parameter count(std::string key, Count& into) {
  return {std::move(key), [&into](const Node& value) -> std::string {
            const auto taken = whole(value);
            if (taken) into = *taken;
            return taken ? "" : "a whole number from 0 to 1073741824";
          }};
}

Parameter truth(std::string key, bool& into) {
  return {std::move(key), [&into](const Node& value) -> std::string {
            if (value.kind != Node::Kind::kTruth) return "true or false";
            into = value.truth;
            return "";
          }};
}

Parameter direction(bool& unidirectional) {
  return {"attention", [&unidirectional](const Node& value) -> std::string {
            if (!value.is_text() || (value.text != "bidirectional" && value.text != "unidirectional"))
              return "\"bidirectional\" or \"unidirectional\"";
            unidirectional = value.text == "unidirectional";
            return "";
          }};
}

Parameter pair(std::string key, Count& first, Count& second) {
  return {std::move(key), [&first, &second](const Node& value) -> std::string {
            const bool two = value.kind == Node::Kind::kList && value.items.size() == 2;
            const auto a = two ? whole(value.items[0]) : std::nullopt, b = two ? whole(value.items[1]) : std::nullopt;
            if (!a || !b) return "a list of two whole numbers";
            first = *a;
            second = *b;
            return "";
          }};
}

struct Globals {
  std::vector<Count> begins = {0}, ends;
};
Parameter list(std::string key, std::vector<Count>& into) {
  return {std::move(key), [&into](const Node& value) -> std::string {
            into.clear();
            if (value.is_null()) return "";
            bool good = value.kind == Node::Kind::kList;
            for (const Node& item : value.items) {
              const auto taken = whole(item);
              good = good && taken;
              into.push_back(taken.value_or(0));
            }
            return good ? "" : "a list of whole numbers, or null";
          }};
}

constexpr const char* kClasses[] = {"DenseSparsityConfig", "FixedSparsityConfig", "BSLongformerSparsityConfig",
                                    "BigBirdSparsityConfig", "BlockStructuredRandomSparsityConfig"};
constexpr PatternKind kKinds[] = {PatternKind::kDense, PatternKind::kFixed, PatternKind::kLongformer,
                                  PatternKind::kBigBird, PatternKind::kBlockStructured};

Parameters parameters_of(Pattern& p, Globals& globals) {
  Parameters out = {truth("different_layout_per_head", p.per_head)};
  const auto add = [&](Parameters more) { out.insert(out.end(), more.begin(), more.end()); };
  switch (p.kind) {
    case PatternKind::kFixed:
      add({count("block", p.block), count("num_local_blocks", p.local_blocks),
           count("num_global_blocks", p.global_blocks), direction(p.unidirectional),
           truth("horizontal_global_attention", p.horizontal),
           count("num_different_global_patterns", p.different_global_patterns)});
      break;
    case PatternKind::kLongformer:
      add({count("block", p.block), count("num_sliding_window_blocks", p.window_blocks),
           list("global_block_indices", globals.begins), list("global_block_end_indices", globals.ends)});
      break;
    case PatternKind::kBigBird:
      add({count("block", p.block), count("num_random_blocks", p.random_blocks),
           count("num_sliding_window_blocks", p.window_blocks), count("num_global_blocks", p.global_blocks)});
      break;
    case PatternKind::kBlockStructured:
      add({pair("block_shape", p.block_rows, p.block_columns), pair("pe_array_shape", p.array_rows, p.array_columns)});
      break;
    default:
      break;
  }
  return out;
}

const Node& class_of(const Node& root, PatternKind& kind) {
  const json::Member* name = root.find("class");
  const std::vector<std::string> known(std::begin(kClasses), std::end(kClasses));
  if (name == nullptr || !name->value.is_text())
    base::fail("O1813", "the configuration does not say which class of masks it is of",
               name == nullptr ? root.where : name->value.where,
               "write, for example, \"class\": \"FixedSparsityConfig\"");
  for (std::size_t i = 0; i < known.size(); ++i)
    if (name->value.text == known[i]) {
      kind = kKinds[i];
      return name->value;
    }
  const bool listed = name->value.text == "VariableSparsityConfig";
  base::fail("O1813",
             listed ? "the class `VariableSparsityConfig` has no masks: Sanger lists it and implements none"
                    : fmt::format("there is no class of masks `{}`", name->value.text),
             name->value.where,
             base::did_you_mean(name->value.text, known, fmt::format("known: {}", base::joined(known, ", "))));
}

void settle_ranges(const Globals& globals, const Node& root, Pattern& p, base::Diagnostics& found) {
  p.global_ranges.clear();
  if (!globals.ends.empty() && globals.ends.size() != globals.begins.size()) {
    const json::Member* ends = root.find("global_block_end_indices");
    found
        .error("O1814", fmt::format("{} global blocks begin and {} end", globals.begins.size(), globals.ends.size()),
               ends->value.where)
        .hint("give an end for each of global_block_indices, or null");
    return;
  }
  for (std::size_t i = 0; i < globals.begins.size(); ++i)
    p.global_ranges.emplace_back(globals.begins[i], globals.ends.empty() ? globals.begins[i] + 1 : globals.ends[i]);
}

}  // namespace

PatternFile read_pattern(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& warnings) {
  const Node root = json::parse(file, "O1814", "a configuration of static masks is one JSON object");
  if (!root.is_object())
    base::fail("O1814",
               fmt::format("a configuration of static masks is one JSON object, and this is {}", json::describe(root)),
               root.where, "write {\"class\": \"DenseSparsityConfig\"}, for example");
  PatternFile out;
  out.where = class_of(root, out.pattern.kind).where;
  Globals globals;
  const Parameters parameters = parameters_of(out.pattern, globals);
  base::Diagnostics found;
  std::vector<std::string> keys;
  for (const Parameter& parameter : parameters) keys.push_back(parameter.key);
  for (const json::Repeated& twice : json::repeated(root))
    warnings.warning("O1818", fmt::format("`{}` is given twice", twice.last->key), twice.last->key_where)
        .label("this one counts")
        .also(twice.first->key_where, "given here first");
  for (const json::Member& member : root.members) {
    if (member.key == "class" || root.find(member.key) != &member) continue;
    const auto known = std::find(keys.begin(), keys.end(), member.key);
    if (known == keys.end()) {
      warnings.warning("O1818", fmt::format("masks of this class have no parameter `{}`", member.key), member.key_where)
          .hint(base::did_you_mean(member.key, keys, fmt::format("known: {}", base::joined(keys, ", "))));
      continue;
    }
    const std::string wanted = parameters[static_cast<std::size_t>(known - keys.begin())].take(member.value);
    if (!wanted.empty())
      found.error("O1814", fmt::format("`{}` must be {}, but is {}", member.key, wanted, json::describe(member.value)),
                  member.value.where);
  }
  if (out.pattern.kind == PatternKind::kLongformer) settle_ranges(globals, root, out.pattern, found);
  found.throw_if_errors();
  return out;
}

}  // namespace orrery::formats::sanger
