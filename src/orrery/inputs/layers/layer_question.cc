#include "orrery/inputs/layers/layer_question.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

bool same_term(const workload::Term& a, const workload::Term& b) {
  return a.dimension == b.dimension && a.coefficient == b.coefficient;
}

// The name apart, which no cost depends on.
bool same_einsum(const workload::Einsum& a, const workload::Einsum& b) {
  const auto dimension = [](const workload::Dimension& x, const workload::Dimension& y) {
    return x.name == y.name && x.bound == y.bound;
  };
  const auto rank = [](const workload::Rank& x, const workload::Rank& y) {
    return std::equal(x.terms.begin(), x.terms.end(), y.terms.begin(), y.terms.end(), same_term);
  };
  const auto dataspace = [&](const workload::Dataspace& x, const workload::Dataspace& y) {
    return x.name == y.name && x.read_write == y.read_write && x.bits == y.bits &&
           std::equal(x.ranks.begin(), x.ranks.end(), y.ranks.begin(), y.ranks.end(), rank);
  };
  return std::equal(a.dimensions.begin(), a.dimensions.end(), b.dimensions.begin(), b.dimensions.end(), dimension) &&
         std::equal(a.dataspaces.begin(), a.dataspaces.end(), b.dataspaces.begin(), b.dataspaces.end(), dataspace);
}

bool same_place(const base::Location& a, const base::Location& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

bool same_space(const nest::Mapspace& a, const nest::Mapspace& b) {
  const auto fields = [](const nest::Constraint& c) {
    return std::tie(c.kind, c.level, c.spatial, c.dimension, c.comparison, c.value, c.inner, c.outer, c.dataspace,
                    c.keep, c.fraction, c.text);
  };
  const auto constraint = [&](const nest::Constraint& x, const nest::Constraint& y) {
    return fields(x) == fields(y) && same_place(x.where, y.where);
  };
  const auto rules = [](const nest::ReuseRules& x, const nest::ReuseRules& y) {
    return x.no_temporal_reuse == y.no_temporal_reuse && x.no_spatial_sharing == y.no_spatial_sharing &&
           x.read_first_update == y.read_first_update && x.no_links == y.no_links;
  };
  return std::equal(a.constraints.begin(), a.constraints.end(), b.constraints.begin(), b.constraints.end(),
                    constraint) &&
         std::equal(a.reuse.begin(), a.reuse.end(), b.reuse.begin(), b.reuse.end(), rules);
}

}  // namespace

bool same_search(const LayerQuestion& a, const LayerQuestion& b) {
  return a.chip == b.chip && a.sparse == b.sparse && a.objective == b.objective && same_einsum(a.einsum, b.einsum) &&
         same_space(a.space, b.space);
}

base::InputError uncountable(const std::string& name, const workload::Einsum& einsum, const machine::Chip& chip) {
  std::string bounds;
  for (const workload::Dimension& dimension : einsum.dimensions)
    bounds += fmt::format("{}{} = {}", bounds.empty() ? "" : ", ", dimension.name, dimension.bound);
  base::Diagnostics found;
  found.error("O1004", fmt::format("the words or cycles of `{}` cannot be counted in 64 bits", name))
      .note(fmt::format("a product of its bounds and coefficients exceeds 9223372036854775807, the largest count of 64 "
                        "bits: {}",
                        bounds))
      .note(fmt::format("the chip has {} x `{}`", chip.compute.instances, chip.compute.name))
      .hint("use smaller bounds");
  return base::InputError(found.all());
}

}  // namespace orrery::verbs
