#include "orrery/scenario/array_operators.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/base/diagnostic.h"
#include "orrery/base/whole_number.h"
#include "orrery/formats/json/document.h"

namespace orrery::scenario {
namespace {

using formats::json::Node;
using machine::MatrixProduct;
using machine::Operator;

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

double ArrayOperators::scores(const Operator& one) {
  const MatrixProduct& p = one.product;
  return static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n);
}

std::optional<double> ArrayOperators::attention_seconds(const Operator& one) const {
  const MatrixProduct& p = one.product;
  if (one.gradient) {
    if (const std::optional<double> whole = rest_->attention_seconds(one)) return whole;
    // Scores again, and the gradients of values, probabilities, queries and keys; scores and the gradients of
    // probabilities are written and read.
    const base::Count kv = one.value_width;
    const double bytes = 4 * one.share * scores(one) * machine::bytes_per_element(p.precision);
    return rest_->memory_bound_seconds(bytes) +
           one.share * (rest_->matrix_product_seconds({p.batch, p.m, p.n, p.k, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.n, kv, p.m, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.m, p.n, kv, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.m, p.k, p.n, p.precision}) +
                        rest_->matrix_product_seconds({p.batch, p.n, p.k, p.m, p.precision}));
  }
  if (p.k != array_.head_size || one.value_width != array_.head_size)
    base::fail(kCode,
               fmt::format("`{}` has the time of heads of {} elements, the model has queries of {} and values of {}",
                           array_.name, array_.head_size, p.k, one.value_width),
               {}, "simulate heads of this size (`--head-size`)");
  return array_.seconds_per_score * scores(one);
}

machine::Cost ArrayOperators::cost(const Operator& one) const {
  const bool attention =
      one.kind == machine::OperatorKind::kAttention || one.kind == machine::OperatorKind::kSparseAttention;
  if (!attention) return rest_->cost(one);
  machine::Cost out = OperatorModel::cost(one);
  if (one.gradient) return out;
  out.joules = array_.joules_per_score * scores(one);
  out.binds = "array";
  return out;
}

}  // namespace orrery::scenario
