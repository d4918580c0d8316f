#include "orrery/formats/timeloop/documents/map_text.h"

#include <set>
#include <vector>

#include <fmt/format.h>

#include "orrery/describe/machine/fan_out_name.h"

namespace orrery::formats::timeloop {
namespace {

struct Loop {
  int dimension = 0;
  nest::Factor factor;
  char mesh = ' ';  // 'X', 'Y'; ' ' in time

  // "16", or "16,5" with 5 iterations in the last round.
  std::string bound() const {
    return factor.perfect() ? fmt::format("{}", factor.iterations)
                            : fmt::format("{},{}", factor.iterations, factor.last);
  }
};

std::vector<Loop> temporal_loops(const nest::LevelMapping& level) {
  std::vector<Loop> loops;
  for (auto d = level.temporal_order.rbegin(); d != level.temporal_order.rend(); ++d)
    if (level.temporal[*d] > 1) loops.push_back({*d, level.factor(false, *d), ' '});
  return loops;
}

std::vector<Loop> spatial_loops(const nest::LevelMapping& level) {
  std::vector<Loop> loops;
  for (int at = static_cast<int>(level.spatial_order.size()) - 1; at >= 0; --at) {
    const int d = level.spatial_order[at];
    if (level.spatial[d] > 1) loops.push_back({d, level.factor(true, d), at < level.split ? 'X' : 'Y'});
  }
  return loops;
}

std::vector<Loop> loops_of(const nest::LevelMapping& level) {
  std::vector<Loop> loops = temporal_loops(level);
  for (const Loop& loop : spatial_loops(level)) loops.push_back(loop);
  return loops;
}

// First letters where they tell the dataspaces apart, else whole names.
std::vector<std::string> short_names(const workload::Einsum& einsum) {
  std::set<char> letters;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) letters.insert(dataspace.name[0]);
  std::vector<std::string> names;
  for (const workload::Dataspace& dataspace : einsum.dataspaces)
    names.push_back(letters.size() == einsum.dataspaces.size() ? dataspace.name.substr(0, 1) : dataspace.name + ",");
  return names;
}

// `head`: of a level with what it keeps.
template <typename Head>
std::string levels_in_one_line(const workload::Einsum& einsum, const nest::Mapping& mapping, const Head& head) {
  const std::vector<std::string> names = short_names(einsum);
  std::string out;
  for (std::size_t i = mapping.levels.size(); i-- > 0;) {
    const nest::LevelMapping& level = mapping.levels[i];
    if (!out.empty()) out += " - ";
    std::string kept;
    for (std::size_t s = 0; s < names.size(); ++s)
      if (level.keep >> s & 1u) kept += names[s];
    if (!kept.empty() && kept.back() == ',') kept.pop_back();
    out += head(i, kept);

    std::vector<Loop> temporal = temporal_loops(level);
    if (temporal.empty() && !level.temporal_order.empty()) temporal.push_back({level.temporal_order.back(), {}, ' '});
    for (const Loop& loop : temporal) out += fmt::format(" {}{}", einsum.dimensions[loop.dimension].name, loop.bound());
    for (const Loop& loop : spatial_loops(level))
      out += fmt::format(" {}{}{}", einsum.dimensions[loop.dimension].name, loop.bound(), loop.mesh);
  }
  return out;
}

}  // namespace

std::string map_text(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping,
                     const nest::Evaluation& evaluation) {
  std::string out;
  int depth = 0;
  for (std::size_t i = chip.storages.size(); i-- > 0;) {
    std::string head = chip.storages[i].name + " [ ";
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
      const nest::DataspaceCost& cost = evaluation.storages[i].dataspaces[s];
      if (cost.kept) head += fmt::format("{0}:{1} ({1}) ", einsum.dataspaces[s].name, cost.tile_words);
    }
    head += "]";
    out += head + " \n";

    const std::vector<Loop> loops = loops_of(mapping.levels[i]);
    if (!loops.empty() || i == 0) out += std::string(head.size(), '-') + "\n";
    for (const Loop& loop : loops) {
      out += fmt::format("| {}for {} in [0:{})", std::string(2 * depth, ' '), einsum.dimensions[loop.dimension].name,
                         loop.bound());
      if (loop.mesh != ' ') out += fmt::format(" (Spatial-{})", loop.mesh);
      out += "\n";
      ++depth;
    }
    if (i == 0) {
      out += fmt::format("| {}<< Compute >>\n", std::string(2 * depth, ' '));
    } else if (!loops.empty()) {
      out += "\n";
    }
  }
  return out;
}

std::string one_line(const workload::Einsum& einsum, const nest::Mapping& mapping) {
  return levels_in_one_line(einsum, mapping,
                            [](std::size_t i, const std::string& kept) { return fmt::format("L{}[{}]", i + 1, kept); });
}

std::string one_line(const workload::Einsum& einsum, const nest::Mapping& mapping, const machine::Chip& chip) {
  return levels_in_one_line(einsum, mapping, [&](std::size_t i, const std::string& kept) {
    const machine::Storage& storage = chip.storages[i];
    const std::string_view container = machine::container_of(storage.name);
    return storage.pass_through && !container.empty() ? std::string(container)
                                                      : fmt::format("{}[{}]", storage.name, kept);
  });
}

}  // namespace orrery::formats::timeloop
