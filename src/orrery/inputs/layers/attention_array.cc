#include "orrery/inputs/layers/attention_array.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::verbs {
namespace {

using formats::json::Node;
constexpr const char* kCode = "O1905";
constexpr const char* kHint = "give the file that `orrery sparse simulate ... --json` or its `-o` wrote";

const Node& member(const Node& object, const char* key) {
  const formats::json::Member* const found = object.is_object() ? object.find(key) : nullptr;
  if (found == nullptr) base::fail(kCode, fmt::format("there is no `{}`", key), object.where, kHint);
  return found->value;
}

double positive(const Node& object, const char* key) {
  const Node& node = member(object, key);
  constexpr double kLeast = 1e-30, kMost = 1e30;  // products of them stay finite
  if (!node.is_number() || !(node.number >= kLeast && node.number <= kMost))
    base::fail(kCode, fmt::format("`{}` is {}, where a number from 1e-30 to 1e30 is meant", key, describe(node)),
               node.where, kHint);
  return node.number;
}

base::Count count(const Node& object, const char* key) {
  const double value = positive(object, key);
  constexpr double kMost = 1 << 30;
  if (value > kMost || value != std::floor(value))
    base::fail(kCode, fmt::format("`{}` is {:g}, where a whole number is meant", key, value), member(object, key).where,
               kHint);
  return base::saturated(value);
}

}  // namespace

AttentionArray read_attention_array(const std::shared_ptr<const base::SourceFile>& file) {
  const Node root = formats::json::parse(file, kCode, kHint);
  const Node& schema = member(root, "schema");
  if (!schema.is_text() || schema.text != "orrery.sparse_simulate/1")
    base::fail(kCode, "this is no answer of `orrery sparse simulate`", schema.where, kHint);
  const Node& result = member(root, "result");
  AttentionArray out;
  out.name = file->name;
  const double seconds = positive(result, "seconds"), joules = positive(result, "energy_pj") * 1e-12;
  out.density = positive(result, "density");
  if (out.density > 1)
    base::fail(kCode, fmt::format("`density` is {:g}, but no more than all pairs are kept", out.density),
               member(result, "density").where, kHint);
  const Node& cases = member(result, "cases");
  if (cases.items.empty()) base::fail(kCode, "nothing was simulated", cases.where, kHint);
  double scores = 0;
  for (const Node& one : cases.items) {
    const base::Count size = count(one, "head_size");
    if (out.head_size != 0 && out.head_size != size)
      base::fail(kCode, fmt::format("heads of {} and of {} elements were simulated together", out.head_size, size),
                 member(one, "head_size").where, "simulate one model, or one layer of it");
    out.head_size = size;
    out.queries = count(one, "queries"), out.keys = count(one, "keys");
    scores += positive(one, "batch") * positive(one, "heads") * positive(one, "queries") * positive(one, "keys");
  }
  out.seconds_per_score = seconds / scores;
  out.joules_per_score = joules / scores;
  return out;
}

void check_heads(const AttentionArray& array, std::string_view what, base::Count size, base::Diagnostics& found) {
  if (size == array.head_size) return;
  found
      .error(kCode, fmt::format("`{}` has the time of heads of {} elements, but {} have {}", array.name,
                                array.head_size, what, size))
      .hint("simulate heads of this size (`--head-size`)");
}

void note_lengths(const AttentionArray& array, std::string_view where, base::Count queries, base::Count keys,
                  base::Diagnostic& warning) {
  if (array.queries == queries && array.keys == keys) return;
  const std::string has = queries == keys ? fmt::format("{}", queries) : fmt::format("{} and {}", queries, keys);
  warning.note(fmt::format("{} queries and {} keys were simulated, {} has {}: a score is taken to cost the same",
                           array.queries, array.keys, where, has));
}

}  // namespace orrery::verbs
