#include "orrery/inputs/blocks/online_softmax.h"

#include <algorithm>
#include <string>
#include <utility>

#include "orrery/base/numbers/factor.h"

namespace orrery::verbs {
namespace {

using base::Count;

// Columns are tried in the fewest turns that are at least a power of this.
constexpr Count kStep = 4;
// Parts of a storage that what is handed on may take.
constexpr double kParts[] = {2, 16};

int dimension(const LayerQuestion& question, const char* name) {
  return question.einsum.dimension_index(name);
}

void set_bound(LayerQuestion& question, const char* name, Count value) {
  question.einsum.dimensions[static_cast<std::size_t>(dimension(question, name))].bound = value;
}

// One sweep over other rows and columns, on the chip of a softmax and under its constraints.
ChainLink sweep(const ChainLink& softmax, const std::string& suffix, Count columns, Count rows) {
  ChainLink link;
  link.question = softmax.question;
  link.question.name += suffix;
  set_bound(link.question, "L", columns);
  set_bound(link.question, "E", rows);
  set_bound(link.question, "D", 1);
  return link;
}

std::uint32_t bits_of(const ChainLink& link, std::initializer_list<const char*> dataspaces) {
  std::uint32_t bits = 0;
  for (const char* name : dataspaces) bits |= 1U << link.question.einsum.dataspace_index(name);
  return bits;
}

// The place of a link, which is added unless there is an equal one.
std::size_t place_of(Chain& chain, ChainLink link) {
  for (std::size_t i = chain.length; i < chain.links.size(); ++i)
    if (chain[i].question.name == link.question.name && same_search(chain[i].question, link.question)) return i;
  chain.links.push_back(std::move(link));
  return chain.links.size() - 1;
}

GroupPart part_of(const Chain& chain, std::size_t place, const std::string& storage, bool takes, bool leaves) {
  GroupPart part;
  part.place = place;
  part.hands_on = static_cast<std::size_t>(chain[place].question.chip->storage_index(storage));
  if (takes) part.takes = part.hands_on;
  part.leaves = leaves;
  return part;
}

// Words in an instance of a storage while the softmax works, and while values are weighed.
double words_at_once(const Chain& chain, std::size_t place, const Turns& turns, std::size_t level) {
  const LayerQuestion& scores = chain[place - 1].question;
  const Count columns = bound_of(scores, "L") / turns.columns;
  const auto queries = static_cast<double>(columns / spread_over(*scores.chip, level, columns));
  const double tile = queries * static_cast<double>(bound_of(scores, "D")) / static_cast<double>(turns.keys);
  const double values = queries * static_cast<double>(bound_of(chain[place + 1].question, "D") + 2);
  return std::max(2 * tile, tile + 2 * values) + values;
}

// The storages in which scores and weights may both be handed on.
std::vector<std::string> core_levels(const Chain& chain, std::size_t place) {
  std::vector<std::string> out = chain[place - 1].levels;
  const std::vector<std::string>& weights = chain[place].levels;
  std::erase_if(out, [&](const std::string& storage) {
    return std::find(weights.begin(), weights.end(), storage) == weights.end();
  });
  return out;
}

}  // namespace

bool is_attention(const Chain& chain, std::size_t place) {
  return place > 0 && place + 1 < chain.length && chain[place - 1].hands_on && chain[place].hands_on &&
         chain[place].question.name.find("softmax") != std::string::npos && may_group(chain, place - 1, place + 1);
}

Chain elementwise(Chain chain) {
  for (std::size_t i = 0; i < chain.length; ++i)
    if (chain[i].question.name.find("softmax") != std::string::npos) set_bound(chain.links[i].question, "D", 1);
  return chain;
}

Group online_core(Chain& chain, std::size_t place, const Turns& turns, bool rescales, const std::string& storage) {
  const ChainLink softmax = chain[place];
  const std::string values = chain[place + 1].makes;
  const Count queries = bound_of(softmax.question, "L"), width = bound_of(chain[place + 1].question, "D");
  Group group;
  group.turns = turns;
  group.online = rescales;
  GroupPart scores = part_of(chain, place - 1, storage, false, false);
  scores.keys = dimension(chain[place - 1].question, "D");
  group.parts.push_back(scores);
  ChainLink once = sweep(softmax, rescales ? " in one sweep" : "", queries, bound_of(softmax.question, "E"));
  once.takes = softmax.takes;
  once.makes = softmax.makes;
  if (rescales) once.one_sweep_of = place;
  const std::size_t sweeps = rescales ? place_of(chain, std::move(once)) : place;
  GroupPart swept = part_of(chain, sweeps, storage, true, false);
  swept.keys = dimension(softmax.question, "E");
  group.parts.push_back(swept);
  if (rescales) {
    ChainLink statistics = sweep(softmax, " statistics", queries * turns.keys, 2);
    statistics.takes = statistics.makes = statistics.question.name;
    statistics.in_place = bits_of(statistics, {"Inputs"});
    statistics.lasts = bits_of(statistics, {"Outputs"});
    ChainLink rescale = sweep(softmax, " rescale", queries * turns.keys, width);
    rescale.takes = rescale.makes = values;
    rescale.in_place = bits_of(rescale, {"Inputs", "Outputs"});
    for (ChainLink* link : {&statistics, &rescale}) {
      const std::size_t added = place_of(chain, std::move(*link));
      GroupPart part = part_of(chain, added, storage, true, false);
      part.streams = true;
      group.parts.push_back(part);
    }
  }
  GroupPart weighted = part_of(chain, place + 1, storage, true, true);
  weighted.keys = dimension(chain[place + 1].question, "E");
  group.parts.push_back(weighted);
  return group;
}

std::vector<Group> online_groups(Chain& chain, std::size_t place, Softmax softmax) {
  const LayerQuestion scores = chain[place - 1].question;
  const std::vector<Count> columns = base::divisors(bound_of(scores, "L")),
                           keys = base::divisors(bound_of(scores, "D"));
  const Chain& known = chain;
  std::vector<Group> out;
  for (const std::string& storage : core_levels(chain, place)) {
    const auto level = static_cast<std::size_t>(scores.chip->storage_index(storage));
    const auto usable = scores.chip->usable_words(static_cast<int>(level));
    std::vector<Turns> tried;
    for (Count least = 1; least <= columns.back(); least *= kStep) {
      const Count c = *std::lower_bound(columns.begin(), columns.end(), least);
      for (const double part : kParts) {
        const auto fewest = std::find_if(keys.begin(), keys.end(), [&](Count k) {
          return !usable || words_at_once(known, place, {c, k}, level) <= static_cast<double>(*usable) / part;
        });
        if (fewest == keys.end()) continue;
        const Turns turns{c, *fewest};
        if (std::find(tried.begin(), tried.end(), turns) == tried.end()) tried.push_back(turns);
      }
      if (!tried.empty() && tried.back().keys == 1) break;  // more turns only bring keys more often
    }
    for (const Turns& turns : tried)
      out.push_back(online_core(chain, place, turns, softmax != Softmax::kElementwise, storage));
  }
  return out;
}

}  // namespace orrery::verbs
