// Random chains of operators, and groups of them with random mappings. Test-only.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engines/nest/model/random_nest_test_util.h"
#include "orrery/inputs/blocks/block_cost.h"
#include "orrery/inputs/blocks/online_softmax.h"
#include "orrery/inputs/blocks/resident_weights.h"

namespace orrery::verbs::testing {

using base::Count;
using nest::testing::Dice;

inline int block_problems(int usual) {
  const char* asked = std::getenv("ORRERY_PROBLEMS");
  return asked ? std::atoi(asked) : usual;
}

inline LayerQuestion operator_of(std::string name, workload::Einsum einsum, std::shared_ptr<const machine::Chip> chip) {
  LayerQuestion question;
  question.name = std::move(name);
  question.einsum = std::move(einsum);
  question.chip = std::move(chip);
  return question;
}

// The core of an attention, or a feed-forward network behind a norm, on a chip with fan-outs anywhere.
inline Chain random_chain(Dice& dice, bool attention, Count largest = 12) {
  machine::Chip made = nest::testing::random_chip(dice, {3, 4, 2, true, true});
  for (machine::Storage& storage : made.storages)
    if (storage.capacity_words) *storage.capacity_words *= 8;
  const auto chip = std::make_shared<const machine::Chip>(std::move(made));
  const auto size = [&] { return std::min(largest, dice.pick({1, 2, 3, 4, 6})); };
  const Count queries = std::min(largest, dice.pick({1, 2, 3, 4, 6, 8, 12})), inner = size(), outer = size();
  if (attention)
    return chain_of({operator_of("KTQ", workload::matmul("KTQ", outer, inner, queries), chip),
                     operator_of("softmax", workload::normalisation("softmax", queries, outer, 2), chip),
                     operator_of("VScores", workload::matmul("VScores", inner, outer, queries), chip)});
  return chain_of({operator_of("layernorm", workload::normalisation("layernorm", queries, inner, 3), chip),
                   operator_of("FF1", workload::matmul("FF1", outer, inner, queries), chip),
                   operator_of("FF2", workload::matmul("FF2", inner, outer, queries), chip)});
}

inline Count divisor(Dice& dice, Count n) {
  const std::vector<Count> all = base::divisors(n);
  return all[static_cast<std::size_t>(dice(0, static_cast<Count>(all.size()) - 1))];
}

// The einsum of one turn of a part.
inline workload::Einsum turn_einsum(const Chain& chain, const Turns& turns, const GroupPart& part) {
  workload::Einsum turn = chain[part.place].question.einsum;
  turn.dimensions[static_cast<std::size_t>(turn.dimension_index("L"))].bound /= columns_of(part, turns);
  if (part.keys >= 0) turn.dimensions[static_cast<std::size_t>(part.keys)].bound /= turns.keys;
  return turn;
}

// A mapping of one turn: all loops over time where it hands on or inside, columns alone spread outside of that, what is
// handed on kept there.
inline bool map_turn(Dice& dice, const Chain& chain, const Turns& turns, GroupPart& part) {
  const LayerQuestion& question = chain[part.place].question;
  workload::Einsum turn = turn_einsum(chain, turns, part);
  const ChainLink& link = chain[part.place];
  std::size_t exchange = innermost_exchange(part);
  if (link.weights_stay) exchange = std::min(exchange, *link.stay_in);
  const auto columns = static_cast<std::size_t>(turn.dimension_index("L"));
  Count& bound = turn.dimensions[columns].bound;
  const std::vector<Count> spread = spread_of(*question.chip, exchange, bound);
  for (const Count factor : spread) bound /= factor;
  part.mapping = nest::testing::random_legal_mapping(dice, turn, *question.chip);
  for (std::size_t l = exchange + 1; l < part.mapping.levels.size(); ++l) {
    nest::LevelMapping& outside = part.mapping.levels[l];
    for (std::size_t d = 0; d < turn.dimensions.size(); ++d) {
      Count& inside = part.mapping.levels[exchange].temporal[d];
      inside *= std::exchange(outside.temporal[d], 1);
      inside *= std::exchange(outside.spatial[d], 1);
    }
    outside.spatial[columns] = spread[l];
  }
  if (part.takes) part.mapping.levels[*part.takes].keep |= 1U << turn.dataspace_index("Inputs");
  if (part.hands_on) part.mapping.levels[*part.hands_on].keep |= 1U << turn.dataspace_index("Outputs");
  if (link.weights_stay) part.mapping.levels[*link.stay_in].keep |= 1U << turn.dataspace_index("Weights");
  repeat(chain, turns, part);
  return price(chain, part, {});
}

// The chain, or that whose weights stay in a random storage, if there is one for them.
inline Chain with_some_weights(Dice& dice, Chain chain) {
  const machine::Chip& chip = *chain[0].question.chip;
  const auto level = static_cast<std::size_t>(dice(0, static_cast<Count>(chip.storages.size()) - 2));
  if (chip.storages[level].instances > 1 || dice(0, 1) == 0) return chain;
  const std::string storage = chip.storages[level].name;
  const ResidentWeights stays = resident_weights(chain, storage, dice.pick({1, 1, 2}));
  return stays.links.empty() ? chain : with_resident(std::move(chain), stays, storage);
}

// A storage in which a link may hand on.
inline std::string some_level(Dice& dice, const ChainLink& link) {
  return link.levels.at(static_cast<std::size_t>(dice(0, static_cast<Count>(link.levels.size()) - 1)));
}

// A group of a random chain with random mappings; nothing where one of them is not legal.
struct Drawn {
  Chain chain;
  Group group;
};
inline std::optional<Drawn> draw(Dice& dice) {
  const bool attention = dice(0, 1) == 1;
  Drawn drawn{random_chain(dice, attention), {}};
  if (drawn.chain.length != 3 || !drawn.chain[0].hands_on || !drawn.chain[1].hands_on || !may_group(drawn.chain, 0, 2))
    return std::nullopt;
  drawn.chain = with_some_weights(dice, std::move(drawn.chain));
  const LayerQuestion first = drawn.chain[0].question;
  if (attention && dice(0, 2) > 0) {
    const Turns turns{divisor(dice, bound_of(first, "L")), divisor(dice, bound_of(first, "D"))};
    drawn.group = online_core(drawn.chain, 1, turns, dice(0, 3) > 0, some_level(dice, drawn.chain[0]));
  } else {
    const std::vector<std::string> storages = {some_level(dice, drawn.chain[0]), some_level(dice, drawn.chain[1])};
    drawn.group = plain_group(drawn.chain, 0, 2, divisor(dice, bound_of(first, "L")), storages);
  }
  for (GroupPart& part : drawn.group.parts) {
    bool mapped = false;
    for (int tries = 0; tries < 20 && !mapped; ++tries) mapped = map_turn(dice, drawn.chain, drawn.group.turns, part);
    if (!mapped) return std::nullopt;
  }
  return drawn;
}

}  // namespace orrery::verbs::testing
