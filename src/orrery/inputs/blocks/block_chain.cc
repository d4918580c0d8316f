// Names of operators are those of describe/workload/transformer_operators.h, with what comes before and after them:
// "window-KTQ", "shared-FF1", "KTQ-2".
#include "orrery/inputs/blocks/block_chain.h"

#include <algorithm>
#include <string>
#include <utility>

#include "orrery/base/numbers/factor.h"

namespace orrery::verbs {
namespace {

// A name without what it is called after; "" where it is not.
std::pair<std::string, bool> apart_from(const std::string& name, const std::string& base) {
  const std::size_t at = name.find(base);
  if (at == std::string::npos) return {"", false};
  return {name.substr(0, at) + "|" + name.substr(at + base.size()), true};
}

bool of_one_core(const std::string& maker, const std::string& taker, const char* makes, const char* takes) {
  const auto [a, first] = apart_from(maker, makes);
  const auto [b, second] = apart_from(taker, takes);
  return first && second && a == b;
}

bool is_norm(const LayerQuestion& question) {
  return question.name.find("layernorm") != std::string::npos;
}

// Whether what `maker` makes goes through a norm of a block.
bool is_normed(const LayerQuestion& maker) {
  return maker.name.ends_with("Out") || maker.name == "FF2";
}

// Equal copies, and each column of the one makes a column of the other. A gate makes two rows into one.
bool takes(const LayerQuestion& maker, const LayerQuestion& taker) {
  const bool of_norm = is_norm(maker);
  const base::Count rows = bound_of(maker, of_norm || maker.name.find("softmax") != std::string::npos ? "E" : "D");
  if (maker.instances != taker.instances || bound_of(maker, "L") != bound_of(taker, "L")) return false;
  const bool gated = of_one_core(maker.name, taker.name, "FF1", "FF2") && rows == 2 * bound_of(taker, "E");
  if (rows != bound_of(taker, "E") && !gated) return false;
  return gated || of_one_core(maker.name, taker.name, "KTQ", "softmax") ||
         of_one_core(maker.name, taker.name, "softmax", "VScores") ||
         of_one_core(maker.name, taker.name, "FF1", "FF2") || (is_normed(maker) && is_norm(taker)) ||
         (of_norm && taker.name == "FF1");
}

// Whether a chip's constraints let a dataspace be handed on in a storage: it may be kept there, need not be further out
// but in the outermost storage, and only columns need to be spread over the fan-outs outside.
bool may_hand_on(const LayerQuestion& question, int level, const char* name) {
  const machine::Chip& chip = *question.chip;
  const int s = question.einsum.dataspace_index(name), columns = question.einsum.dimension_index("L");
  const int outermost = static_cast<int>(chip.storages.size()) - 1;
  using Kind = nest::Constraint::Kind;
  return std::none_of(
      question.space.constraints.begin(), question.space.constraints.end(), [&](const nest::Constraint& one) {
        if (one.kind == Kind::kKeep && one.dataspace == s)
          return one.level == level ? !one.keep : one.keep && one.level > level && one.level < outermost;
        if (one.kind != Kind::kFactor || !one.spatial || one.level <= level ||
            chip.fanout_x(one.level) * chip.fanout_y(one.level) == 1)
          return false;
        const bool one_only = one.value == 1 && one.comparison != nest::Comparison::kAtLeast;
        const bool several = one.value > 1 && one.comparison != nest::Comparison::kAtMost;
        return one.dimension == columns ? one_only : several;
      });
}

// Whether the ways from the outermost storage to one inside have the same fan-outs.
bool same_way_in(const machine::Chip& a, std::size_t level_of_a, const machine::Chip& b, std::size_t level_of_b) {
  const machine::Storage &one = a.storages[level_of_a], &other = b.storages[level_of_b];
  if (one.mesh_x != other.mesh_x || one.mesh_y != other.mesh_y) return false;
  if (one.instances == 1) return true;
  if (a.storages.size() - level_of_a != b.storages.size() - level_of_b) return false;
  for (std::size_t l = level_of_a, m = level_of_b; l < a.storages.size(); ++l, ++m)
    if (a.storages[l].mesh_x != b.storages[m].mesh_x || a.storages[l].mesh_y != b.storages[m].mesh_y) return false;
  return true;
}

// Fills `levels` and `narrow` of a link.
void find_levels(ChainLink& link, const LayerQuestion& taker) {
  const LayerQuestion& maker = link.question;
  const base::Count column = words_of(maker, maker.einsum.dataspace_index("Outputs")) / bound_of(maker, "L");
  const machine::Chip &chip = *maker.chip, &other = *taker.chip;
  for (std::size_t l = chip.storages.size() - 1; l-- > 0;) {
    if (chip.storages[l].pass_through) continue;
    const int same = other.storage_index(chip.storages[l].name);
    if (same < 0 || same + 1 >= static_cast<int>(other.storages.size())) continue;
    if (same_way_in(chip, l, other, static_cast<std::size_t>(same)) &&
        may_hand_on(maker, static_cast<int>(l), "Outputs") && may_hand_on(taker, same, "Inputs"))
      (column <= chip.usable_words(static_cast<int>(l)).value_or(column) ? link.levels : link.narrow)
          .push_back(chip.storages[l].name);
  }
}

}  // namespace

Chain chain_of(const std::vector<LayerQuestion>& questions) {
  Chain out;
  std::vector<ChainLink>& chain = out.links;
  std::vector<LayerQuestion> norms;
  for (const LayerQuestion& question : questions)
    if (is_norm(question)) norms.push_back(question);
  for (const LayerQuestion& question : questions) {
    if (is_norm(question)) continue;
    chain.push_back({question});
    if (!is_normed(question)) continue;
    for (LayerQuestion& norm : norms) {
      if (norm.instances < question.instances || bound_of(norm, "E") != bound_of(question, "D") ||
          bound_of(norm, "L") != bound_of(question, "L"))
        continue;
      LayerQuestion behind = norm;
      behind.instances = question.instances;
      behind.name = norm.name + " after " + question.name;
      norm.instances -= question.instances;
      chain.push_back({std::move(behind)});
      break;
    }
  }
  for (const LayerQuestion& norm : norms)
    if (norm.instances > 0) chain.push_back({norm});
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    chain[i].hands_on = takes(chain[i].question, chain[i + 1].question);
    chain[i].also_out = is_normed(chain[i].question) || is_norm(chain[i].question);  // the residual, now or later
  }
  for (std::size_t i = 0; i < chain.size(); ++i) {
    chain[i].makes = chain[i].question.name;
    if (i > 0 && chain[i - 1].hands_on) chain[i].takes = chain[i - 1].makes;
    if (chain[i].hands_on) find_levels(chain[i], chain[i + 1].question);
  }
  out.length = chain.size();
  return out;
}

bool may_group(const Chain& chain, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i)
    if (chain[i].levels.empty()) return false;
  return true;
}

std::vector<std::vector<std::string>> ways_to_hand_on(const Chain& chain, std::size_t first, std::size_t last) {
  std::vector<std::vector<std::string>> out(1);
  for (std::size_t i = first; i < last; ++i) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& way : out)
      for (const std::string& storage : chain[i].levels) {
        longer.push_back(way);
        longer.back().push_back(storage);
      }
    out = std::move(longer);
  }
  return out;
}

std::vector<base::Count> spread_of(const machine::Chip& chip, std::size_t level, base::Count columns) {
  std::vector<base::Count> out(chip.storages.size(), 1);
  for (std::size_t l = chip.storages.size(); l-- > level + 1;) {
    const int at = static_cast<int>(l);
    const base::Count widest = std::max(chip.fanout_x(at), chip.fanout_y(at));
    for (const base::Count divisor : base::divisors(columns))
      if (divisor <= widest) out[l] = divisor;
    columns /= out[l];
  }
  return out;
}

base::Count spread_over(const machine::Chip& chip, std::size_t level, base::Count columns) {
  base::Count over = 1;
  for (const base::Count factor : spread_of(chip, level, columns)) over *= factor;
  return over;
}

base::Count bound_of(const LayerQuestion& question, const char* dimension) {
  const int d = question.einsum.dimension_index(dimension);
  return d < 0 ? 0 : question.einsum.dimensions[static_cast<std::size_t>(d)].bound;
}

base::Count words_of(const LayerQuestion& question, int dataspace) {
  std::vector<base::Count> bounds;
  for (const workload::Dimension& d : question.einsum.dimensions) bounds.push_back(d.bound);
  return question.einsum.volume(dataspace, bounds);
}

}  // namespace orrery::verbs
