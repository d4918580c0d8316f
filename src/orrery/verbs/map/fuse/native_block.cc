#include "orrery/verbs/map/fuse/native_block.h"
#include "orrery/inputs/layers/map_together.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/inputs/blocks/block_groups.h"
#include "orrery/inputs/blocks/resident_weights.h"
#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/map/fuse/block_roofline.h"
#include "orrery/verbs/map/fuse/native_tree.h"
#include "orrery/verbs/map/fuse/tree_file.h"

namespace orrery::verbs {
namespace {

BlockPoint point_of(const Chain& chain, const std::vector<Group>& groups) {
  return {energy_of(groups), cycles_of(groups), nodes_of(chain, groups)};
}

std::string slowest(const machine::Chip& chip, const nest::Evaluation& cost) {
  std::string name = chip.compute.name;
  base::Count most = cost.compute.cycles;
  for (std::size_t l = 0; l < cost.storages.size(); ++l) {
    if (cost.storages[l].cycles <= most) continue;
    most = cost.storages[l].cycles;
    name = chip.storages[l].name;
  }
  return name;
}

BlockTraffic& row_of(std::vector<BlockTraffic>& rows, const std::string& storage, const std::string& tensor) {
  for (BlockTraffic& row : rows)
    if (row.storage == storage && row.tensor == tensor) return row;
  rows.push_back({storage, tensor});
  return rows.back();
}

void add_traffic(const Chain& chain, const Group& group, const GroupPart& part, BlockAnswer& answer) {
  const LayerQuestion& question = chain[part.place].question;
  const auto instances = static_cast<double>(question.instances);
  answer.leakage_energy += instances * group.leakage_share * leakage_of(part);
  for (std::size_t l = part.cost.storages.size(); l-- > 0;) {
    const nest::StorageCost& cost = part.cost.storages[l];
    if (question.chip->storages[l].pass_through) continue;
    for (std::size_t s = 0; s < cost.dataspaces.size(); ++s) {
      const nest::DataspaceCost& one = cost.dataspaces[s];
      const double bits = instances * static_cast<double>(cost.utilized_instances) * bits_of(chain, part, l, s);
      const std::string& storage = question.chip->storages[l].name;
      for (const std::string& tensor : {std::string(), tensor_name(chain, part, s)}) {
        if (!tensor.empty() && !one.kept) continue;
        BlockTraffic& row = row_of(tensor.empty() ? answer.storages : answer.traffic, storage, tensor);
        row.read_bits += static_cast<double>(one.reads) * bits;
        row.written_bits += (static_cast<double>(one.fills) + static_cast<double>(one.updates)) * bits;
        row.energy += instances * one.energy_pj;
      }
    }
  }
  answer.compute_energy += instances * (part.cost.compute.energy_pj - part.cost.compute.leakage_pj);
}

// The most that an instance of each storage holds.
void add_use(const Chain& chain, const Group& group, const GroupPart& part, BlockAnswer& answer) {
  const LayerQuestion& question = chain[part.place].question;
  for (std::size_t l = part.cost.storages.size() - 1; l-- > 0;) {
    const machine::Storage& storage = question.chip->storages[l];
    if (storage.pass_through) continue;
    const ChainLink& link = chain[part.place];
    const double others = link.stay_in == l ? static_cast<double>(link.others_stay) * storage.word_bits : 0;
    double bits = others + (part.beside.empty() ? 0 : static_cast<double>(part.beside[l]) * storage.word_bits);
    for (std::size_t s = 0; s < part.cost.storages[l].dataspaces.size(); ++s)
      if (part.cost.storages[l].dataspaces[s].kept)
        bits += static_cast<double>(part.cost.storages[l].dataspaces[s].tile_words) * bits_of(chain, part, l, s);
    BlockUse use{storage.name, chain[group.parts.front().place].question.name,
                 chain[group.parts.back().place].question.name, bits, std::nullopt};
    if (const auto usable = question.chip->usable_words(static_cast<int>(l)))
      use.capacity_bits = others + static_cast<double>(*usable) * storage.word_bits;
    const auto same = std::find_if(answer.use.begin(), answer.use.end(),
                                   [&](const BlockUse& other) { return other.storage == use.storage; });
    if (same == answer.use.end())
      answer.use.push_back(std::move(use));
    else if (same->bits < bits)
      *same = std::move(use);
  }
}

void add_exchange(const Chain& chain, const Group& group, const GroupPart& part, BlockAnswer& answer) {
  const ChainLink& link = chain[part.place];
  if (part.streams || (part.leaves && !link.hands_on)) return;
  const machine::Chip& chip = *link.question.chip;
  const std::size_t level = part.hands_on.value_or(chip.storages.size() - 1);
  const auto s = static_cast<std::size_t>(link.question.einsum.dataspace_index("Outputs"));
  BlockExchange made;
  made.tensor = link.makes;
  made.storage = chip.storages[level].name;
  made.bits = static_cast<double>(words_of(link.question, static_cast<int>(s))) * bits_of(chain, part, level, s);
  made.tile_bits = made.bits / static_cast<double>(part.hands_on ? group.turns.all() : 1);
  if (part.hands_on && group.turns.columns > 1) made.loops.emplace_back("L");
  if (part.hands_on && group.turns.keys > 1) made.loops.emplace_back("keys");
  answer.exchanges.push_back(std::move(made));
}

void add_figures(const Chain& chain, const GroupedChain& found, BlockAnswer& answer) {
  for (const Group& group : found.best)
    for (const GroupPart& part : group.parts) {
      const LayerQuestion& question = chain[part.place].question;
      const auto instances = static_cast<double>(question.instances);
      BlockEinsum row;
      row.name = question.name;
      row.unit = question.chip->compute.name;
      row.bound_by = slowest(*question.chip, part.cost);
      row.energy = instances * energy_in(group, part);
      row.latency = instances * static_cast<double>(part.cost.cycles);
      const std::optional<std::size_t> apart =
          part.place < chain.length ? std::optional(part.place) : chain[part.place].one_sweep_of;
      if (apart && *apart < found.unfused.size()) {
        row.unfused_energy = found.unfused[*apart].energy_pj;
        row.unfused_latency = found.unfused[*apart].cycles;
      }
      answer.einsums.push_back(std::move(row));
      add_traffic(chain, group, part, answer);
      add_use(chain, group, part, answer);
      add_exchange(chain, group, part, answer);
    }
}

// Which operators run side by side.
void add_overlap_notes(const Chain& chain, const std::vector<Group>& groups, BlockAnswer& answer) {
  for (const Group& group : groups) {
    if (group.stages.size() == 1) continue;
    std::string text;
    double apart = 0;
    for (std::size_t p = 0; p < group.parts.size(); ++p) {
      const LayerQuestion& question = chain[group.parts[p].place].question;
      const bool begins = std::find(group.stages.begin(), group.stages.end(), p) != group.stages.end();
      text += fmt::format("{}`{}`", p == 0 ? "" : begins ? " beside " : " and then ", question.name);
      apart += static_cast<double>(question.instances) * static_cast<double>(group.parts[p].cost.cycles);
    }
    answer.notes.push_back(fmt::format("{}: {:.6g} cycles, {:.6g} one after the other", text, group.cycles, apart));
  }
}

// In seconds, and on how much silicon.
void add_physical(const Chain& chain, const std::vector<Group>& groups, BlockAnswer& answer) {
  bool known = true;
  for (const Group& group : groups)
    for (const GroupPart& part : group.parts) {
      const LayerQuestion& question = chain[part.place].question;
      answer.seconds += static_cast<double>(question.instances) * static_cast<double>(part.cost.cycles) *
                        question.chip->cycle_seconds;
      const std::optional<double> area = area_um2(*question.chip);
      known = known && area;
      answer.area_um2 = std::max(answer.area_um2.value_or(0), area.value_or(0));
    }
  if (!known) answer.area_um2.reset();
}

// What the answer is called, where it has a name.
void add_notes(const Chain& chain, const std::vector<Group>& groups, BlockAnswer& answer) {
  for (const Group& group : groups) {
    const bool softmax = group.parts.size() >= 3 &&
                         chain[group.parts[1].place].takes == chain[group.parts[0].place].makes &&
                         chain[group.parts[1].place].question.name.find("softmax") != std::string::npos;
    if (!softmax) continue;
    const LayerQuestion& first = chain[group.parts.front().place].question;
    const base::Count queries = bound_of(first, "L"), keys = bound_of(first, "D");
    const base::Count at_work = queries / group.turns.columns;
    std::string note = "scores never leave the chip: ";
    if (group.turns.keys > 1)
      note += fmt::format("{} queries stay while {} keys at a time pass, and what they weigh is {}", at_work,
                          keys / group.turns.keys, group.online ? "rescaled: FlashAttention's shape" : "added up");
    else if (group.turns.columns > 1)
      note += fmt::format("{} queries at a time meet all keys, as in FlashAttention's loop over queries", at_work);
    else
      note += fmt::format("those of the {} queries that share keys stay whole", queries);
    answer.notes.push_back(
        note + (group.online ? "; the softmax is online" : "; the softmax is over whole columns, not online"));
    return;
  }
}

// TENSOR=STORAGE, of a tensor that an operator hands to the next one. Throws InputError O2113.
HandedOn handed_on(const Chain& chain, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string tensor = text.substr(0, equals),
                    storage = equals == std::string::npos ? "" : text.substr(equals + 1);
  std::vector<std::string> tensors;
  for (std::size_t i = 0; i < chain.length; ++i) {
    if (!chain[i].hands_on) continue;
    tensors.push_back(chain[i].makes);
    if (chain[i].makes != tensor) continue;
    const machine::Chip& chip = *chain[i].question.chip;
    const std::string outside = chip.storages.back().name;
    if (storage == outside) return {i, ""};
    std::vector<std::string> allowed = chain[i].levels;
    for (const auto* those : {&chain[i].levels, &chain[i].narrow})
      if (std::find(those->begin(), those->end(), storage) != those->end()) return {i, storage};
    allowed.push_back(outside);
    base::fail("O2113", fmt::format("`{}` cannot be handed on in `{}`", tensor, storage), {},
               fmt::format("the chip and its constraints let it be handed on in {}", fmt::join(allowed, ", ")));
  }
  base::fail("O2113", fmt::format("no operator hands `{}` to the next one", tensor), {},
             tensors.empty()
                 ? "none of this block's operators hands anything on"
                 : base::did_you_mean(tensor, tensors, fmt::format("those are {}", fmt::join(tensors, ", "))));
}

// Why there is nothing: an operator without a mapping, or a tensor that fits nowhere.
// The operators that cannot even be mapped alone, with the reason.
std::vector<MappedLayer> unmapped(const GroupedChain& found, MapOptions options) {
  std::vector<LayerQuestion> asked;
  for (std::size_t i = 0; i < found.chain.length; ++i)
    for (const std::string& name : found.unmapped)
      if (name == found.chain[i].question.name) asked.push_back(found.chain[i].question);
  if (asked.empty()) return {};
  options.limits.explain = true;
  std::vector<MappedLayer> out = map_layers_together(asked, options, asked.size()).layers;
  std::erase_if(out, [](const MappedLayer& layer) { return layer.optimum.mapping.has_value(); });
  return out;
}

std::string why_nothing(const GroupedChain& found, const GroupOptions& how) {
  const Chain& chain = found.chain;
  for (const HandedOn& one : how.handed_on) {
    const LayerQuestion& maker = chain[one.place].question;
    if (one.storage.empty()) continue;
    const auto usable = maker.chip->usable_words(maker.chip->storage_index(one.storage));
    const base::Count words = words_of(maker, maker.einsum.dataspace_index("Outputs"));
    return fmt::format("`{}` has {} words, {} a column; `{}` holds {}, and no tile of it that was tried has room there",
                       chain[one.place].makes, words, words / bound_of(maker, "L"), one.storage,
                       usable ? fmt::format("{}", *usable) : "any number");
  }
  return how.softmax == Softmax::kOnline ? "no online softmax has room on the chip" : "nothing does what is demanded";
}

using Pair = std::optional<std::pair<double, double>>;

Pair best_with(const GroupedChain& found, GroupOptions how, const HandedOn& demanded) {
  std::erase_if(how.handed_on, [&](const HandedOn& one) { return one.place == demanded.place; });
  how.handed_on.push_back(demanded);
  const std::vector<Group> best = best_way(found, how);
  return best.empty() ? Pair() : Pair({energy_of(best), cycles_of(best)});
}

// What the block would take with each tensor that stays inside handed on outside.
void add_outside(const GroupedChain& found, const GroupOptions& how, BlockAnswer& answer) {
  for (std::size_t i = 0; i < found.chain.length; ++i)
    for (BlockExchange& one : answer.exchanges)
      if (one.tensor == found.chain[i].makes && one.storage != found.chain[i].question.chip->storages.back().name)
        one.outside = best_with(found, how, {i, ""});
}

double figure(fused::Goal goal, const std::vector<Group>& groups) {
  const double energy = energy_of(groups), cycles = cycles_of(groups);
  return goal == fused::Goal::kEnergy ? energy : goal == fused::Goal::kDelay ? cycles : energy * cycles;
}

double resident_bits(const Chain& chain, const ResidentWeights& stays) {
  const ChainLink& link = chain[stays.links.front()];
  return static_cast<double>(stays.words) * link.question.chip->storages[*link.stay_in].word_bits;
}

std::string resident_note(const BlockResident& resident, const ResidentWeights& stays, base::Count blocks,
                          const GroupedChain& found) {
  if (resident.operators.empty())
    return fmt::format(
        "no weights stay in `{}`: {}", resident.storage,
        stays.links.empty() ? "no operator's weights of all blocks have room there" : "it would not be better");
  return fmt::format(
      "weights of {} stay in `{}`, {:.4g} MiB in {}, read before: energy {:+.2f} %, latency {:+.2f} % against reading "
      "them in every run",
      fmt::join(resident.operators, ", "), resident.storage, resident.bits / 8 / 1024 / 1024,
      blocks == 1 ? "all" : fmt::format("{} blocks", blocks), 100 * (energy_of(found.best) / resident.energy - 1),
      100 * (cycles_of(found.best) / resident.latency - 1));
}

// With a front, the choices of the other goals besides.
GroupedChain searched(const Chain& chain, const BlockRequest& request, const GroupOptions& how,
                      const MapOptions& options) {
  GroupedChain found = group_chain(chain, how, options);
  for (const fused::Goal goal : {fused::Goal::kEdp, fused::Goal::kEnergy, fused::Goal::kDelay}) {
    if (!request.search.front || goal == how.goal) continue;
    if (goal == fused::Goal::kDelay && how.fuse) continue;  // its choices are among those of EDP
    GroupOptions other = how;
    other.goal = goal;
    include(found, how, group_chain(chain, other, options));
  }
  return found;
}

// A tree from a file in place of the search.
BlockAnswer given_block(const BlockRequest& request, Chain chain, const MapOptions& options, BlockAnswer answer) {
  TreeFile file = read_tree(request.tree);
  answer.inputs.push_back(std::move(file.input));
  answer.searched = false;
  GroupedChain found;
  found.best = groups_of(chain, file.tree, options.model);
  found.chain = std::move(chain);
  answer.best = point_of(found.chain, found.best);
  add_figures(found.chain, found, answer);
  add_physical(found.chain, found.best, answer);
  answer.roofline = roofline_of(found.chain, found.best, {});
  add_notes(found.chain, found.best, answer);
  add_overlap_notes(found.chain, found.best, answer);
  return answer;
}

}  // namespace

BlockAnswer map_native_block(const BlockRequest& request) {
  BlockAnswer answer;
  answer.native = true;
  answer.objective = request.search.goal == fused::Goal::kEnergy  ? "energy"
                     : request.search.goal == fused::Goal::kDelay ? "delay"
                                                                  : "edp";
  Estimators estimators(request.native.estimators);
  AskedLayers asked = ask_layers(request.native, {}, estimators);
  answer.title = asked.title;
  answer.warnings = std::move(asked.warnings);
  answer.inputs = std::move(asked.inputs);
  Chain asked_chain = chain_of(asked.questions);
  if (request.softmax == Softmax::kElementwise) asked_chain = elementwise(std::move(asked_chain));
  MapOptions options;
  static_cast<base::Limits&>(options.limits) = request.search.limits;
  options.limits.explain = false;  // tiles that have no mapping are just not taken
  if (request.interruptible) options.limits.stop = request.interruptible();
  const base::Count blocks = std::max<base::Count>(1, asked.blocks);
  ResidentWeights stays;
  Chain resident_chain;
  if (!request.weights_stay.empty()) {
    stays = resident_weights(asked_chain, request.weights_stay, blocks);
    resident_chain = with_resident(asked_chain, stays, request.weights_stay);
  }
  if (!request.tree.empty())
    return given_block(request, request.weights_stay.empty() ? asked_chain : resident_chain, options,
                       std::move(answer));
  GroupOptions how;
  how.goal = request.search.goal;
  how.fuse = request.search.fuse;
  how.tiles = request.search.fused_loops != 0;
  how.softmax = request.softmax;
  how.overlap = request.overlap;
  for (const std::string& text : request.handed_on) how.handed_on.push_back(handed_on(asked_chain, text));
  for (const HandedOn& one : how.handed_on)
    for (const HandedOn& other : how.handed_on)
      if (one.place == other.place && one.storage != other.storage)
        base::fail("O2113", fmt::format("`{}` cannot be handed on in two storages", asked_chain[one.place].makes), {},
                   "leave one `--hand-on` out, or ask what the other place would cost: `--why`");
  std::optional<HandedOn> why;
  if (!request.why.empty()) why = handed_on(asked_chain, request.why);
  GroupedChain found = searched(asked_chain, request, how, options);
  if (!request.weights_stay.empty() && !found.best.empty()) {
    answer.resident = BlockResident{request.weights_stay, {}, 0, energy_of(found.best), cycles_of(found.best)};
    GroupedChain with = stays.links.empty() ? GroupedChain() : searched(resident_chain, request, how, options);
    if (!with.best.empty() && figure(how.goal, with.best) < figure(how.goal, found.best)) {
      found = std::move(with);
      for (const std::size_t i : stays.links) answer.resident->operators.push_back(found.chain[i].question.name);
      answer.resident->bits = resident_bits(found.chain, stays);
    }
    answer.notes.push_back(resident_note(*answer.resident, stays, blocks, found));
  }
  const Chain& chain = found.chain;
  answer.warnings.append(found.warnings);
  answer.certificate = found.certificate;
  answer.ended_early = found.ended_early;
  if (found.best.empty()) {
    answer.unmapped = unmapped(found, options);
    answer.infeasible = why_nothing(found, how);
    return answer;
  }
  answer.best = point_of(chain, found.best);
  if (request.search.front)
    for (const std::vector<Group>& trade : best_trades(found, how)) answer.front.push_back(point_of(chain, trade));
  if (request.search.fuse) answer.unfused = {energy_of(found.unfused), cycles_of(found.unfused)};
  add_figures(chain, found, answer);
  add_physical(chain, found.best, answer);
  answer.roofline = roofline_of(chain, found.best, request.search.fuse ? found.unfused : std::vector<Group>());
  add_notes(chain, found.best, answer);
  add_overlap_notes(chain, found.best, answer);
  add_outside(found, how, answer);
  if (why) {
    const std::size_t equals = request.why.rfind('=');
    answer.why = BlockWhy{request.why.substr(0, equals), request.why.substr(equals + 1), best_with(found, how, *why)};
  }
  return answer;
}

}  // namespace orrery::verbs
