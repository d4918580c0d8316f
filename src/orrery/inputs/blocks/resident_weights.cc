#include "orrery/inputs/blocks/resident_weights.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::verbs {
namespace {

using base::Count;
using Kind = nest::Constraint::Kind;

constexpr Count kRoomBeside = 16;  // one part in so many of the storage

// Dense products, by the names of describe/workload/transformer_operators.h; "cross-" or "shared-" may stand before.
constexpr const char* kDense[] = {"KQV",   "Q",  "Out", "FF1", "FF2",      "Q-down",   "Q-up",  "KV-down",
                                  "KV-up", "KV", "K",   "V",   "Q-absorb", "V-expand", "router"};

bool is_dense(const std::string& name) {
  const std::string base = name.starts_with("cross-")    ? name.substr(6)
                           : name.starts_with("shared-") ? name.substr(7)
                                                         : name;
  return std::find(std::begin(kDense), std::end(kDense), base) != std::end(kDense);
}

Count weights_of(const ChainLink& link, Count blocks) {
  const LayerQuestion& question = link.question;
  return words_of(question, question.einsum.dataspace_index("Weights")) * question.instances * blocks;
}

// A storage outside of all fan-outs, inside the outermost one.
int level_of(const machine::Chip& chip, const std::string& storage) {
  const int level = chip.storage_index(storage);
  if (level < 0 || level + 1 >= static_cast<int>(chip.storages.size())) return -1;
  const machine::Storage& one = chip.storages[static_cast<std::size_t>(level)];
  return one.instances > 1 || one.pass_through ? -1 : level;
}

// Whether the constraints let an operator keep its weights there and not further out.
bool may_stay(const LayerQuestion& question, int level) {
  const int weights = question.einsum.dataspace_index("Weights"),
            outermost = static_cast<int>(question.chip->storages.size()) - 1;
  return std::none_of(question.space.constraints.begin(), question.space.constraints.end(),
                      [&](const nest::Constraint& one) {
                        if (one.kind != Kind::kKeep || one.dataspace != weights) return false;
                        return one.level == level ? !one.keep : one.keep && one.level > level && one.level < outermost;
                      });
}

std::shared_ptr<const machine::Chip> with_less(const machine::Chip& chip, int level, Count words) {
  machine::Chip less = chip;
  std::optional<Count>& capacity = less.storages[static_cast<std::size_t>(level)].capacity_words;
  if (capacity) capacity = std::max<Count>(1, *capacity - words);
  return std::make_shared<const machine::Chip>(std::move(less));
}

}  // namespace

ResidentWeights resident_weights(const Chain& chain, const std::string& storage, Count blocks) {
  std::vector<std::size_t> dense;
  std::optional<Count> room;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < chain.length; ++i) {
    const machine::Chip& chip = *chain[i].question.chip;
    const int level = level_of(chip, storage);
    if (level < 0) {
      for (const machine::Storage& one : chip.storages)
        if (level_of(chip, one.name) >= 0 && std::find(others.begin(), others.end(), one.name) == others.end())
          others.push_back(one.name);
      continue;
    }
    const std::optional<Count> usable = chip.usable_words(level);
    if (usable) room = std::min(room.value_or(*usable), *usable);
    if (is_dense(chain[i].question.name) && may_stay(chain[i].question, level)) dense.push_back(i);
  }
  const bool nowhere = std::all_of(chain.links.begin(), chain.links.end(),
                                   [&](const ChainLink& link) { return level_of(*link.question.chip, storage) < 0; });
  if (nowhere)
    base::fail("O2113", fmt::format("weights cannot stay in `{}`", storage), {},
               others.empty() ? "this chip has no storage for them but the outermost: all others stand inside fan-outs"
                              : fmt::format("they can in {}", fmt::join(others, ", ")));
  ResidentWeights best;
  for (std::size_t bits = 1; bits < std::size_t{1} << dense.size(); ++bits) {
    ResidentWeights one;
    for (std::size_t d = 0; d < dense.size(); ++d) {
      if ((bits >> d & 1U) == 0) continue;
      one.links.push_back(dense[d]);
      one.words += weights_of(chain[dense[d]], blocks);
    }
    if (one.words > best.words && (!room || one.words <= *room - *room / kRoomBeside)) best = std::move(one);
  }
  return best;
}

Chain with_resident(Chain chain, const ResidentWeights& which, const std::string& storage) {
  std::map<std::pair<const machine::Chip*, Count>, std::shared_ptr<const machine::Chip>> chips;
  const Chain before = chain;  // holds the chips that are looked up
  for (std::size_t i = 0; i < chain.length; ++i) {
    ChainLink& link = chain.links[i];
    LayerQuestion& question = link.question;
    const int level = level_of(*question.chip, storage);
    if (level < 0) continue;
    const bool stays = std::find(which.links.begin(), which.links.end(), i) != which.links.end();
    const int weights = question.einsum.dataspace_index("Weights");
    link.stay_in = static_cast<std::size_t>(level);
    link.weights_stay = stays;
    link.others_stay = which.words - (stays ? words_of(question, weights) : 0);
    std::shared_ptr<const machine::Chip>& less = chips[{question.chip.get(), link.others_stay}];
    if (!less) less = with_less(*question.chip, level, link.others_stay);
    question.chip = less;
    if (!stays) continue;
    nest::Constraint one;
    one.kind = Kind::kKeep;
    one.level = level;
    one.dataspace = weights;
    one.text = "--weights-stay";
    question.space.constraints.push_back(one);
    one.kind = Kind::kFactor;
    for (one.level = level + 1; one.level < static_cast<int>(question.chip->storages.size()); ++one.level)
      for (one.dimension = 0; one.dimension < static_cast<int>(question.einsum.dimensions.size()); ++one.dimension)
        if (question.einsum.relevant(weights, one.dimension) &&
            !question.chip->storages[static_cast<std::size_t>(one.level)].pass_through)
          question.space.constraints.push_back(one);
  }
  return chain;
}

}  // namespace orrery::verbs
