// Names of operators are those of describe/workload/transformer_operators.h, with what comes before and after them:
// "window-KTQ", "shared-FF1", "KTQ-2".
#include "orrery/inputs/blocks/block_chain.h"

#include <algorithm>
#include <string>
#include <utility>

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

bool stays_out(const LayerQuestion& question, const char* name) {
  const int exchange = exchange_level(*question.chip);
  const int s = question.einsum.dataspace_index(name);
  return std::any_of(
      question.space.constraints.begin(), question.space.constraints.end(), [&](const nest::Constraint& one) {
        return one.kind == nest::Constraint::Kind::kKeep && one.level == exchange && one.dataspace == s && !one.keep;
      });
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
  }
  out.length = chain.size();
  return out;
}

int exchange_level(const machine::Chip& chip) {
  for (int l = static_cast<int>(chip.storages.size()) - 2; l >= 0; --l) {
    const machine::Storage& storage = chip.storages[static_cast<std::size_t>(l)];
    if (storage.instances > 1) return -1;
    if (!storage.pass_through) return l;
  }
  return -1;
}

bool may_group(const Chain& chain, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    const machine::Chip& chip = *chain[i].question.chip;
    const machine::Chip& other = *chain[first].question.chip;
    const int level = exchange_level(chip), same = exchange_level(other);
    if (level < 0 || same < 0 ||
        chip.storages[static_cast<std::size_t>(level)].name != other.storages[static_cast<std::size_t>(same)].name)
      return false;
    if (i > first && stays_out(chain[i].question, "Inputs")) return false;
    if (i < last && (!chain[i].hands_on || stays_out(chain[i].question, "Outputs"))) return false;
  }
  return true;
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
