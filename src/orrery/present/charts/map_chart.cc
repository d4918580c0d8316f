#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {
namespace {

// A layer with figures.
struct MapLayer {
  const Node* node;
  std::string name;
  double instances = 1;
};

std::vector<MapLayer> layers_of(const Node& document) {
  std::vector<MapLayer> out;
  for (const Node& layer : items_at(document, "result.layers"))
    if (number_at(layer, "energy_pj"))
      out.push_back({&layer, text_at(layer, "name"), number_at(layer, "instances").value_or(1)});
  return out;
}

std::string of_what(const std::vector<MapLayer>& layers) {
  return layers.size() == 1 ? layers.front().name : fmt::format("all {} layers", layers.size());
}

struct Part {
  std::string level, tensor;
  double energy_pj = 0;
  std::string exact;
};

void add_part(std::vector<Part>& parts, const std::string& level, const std::string& tensor, double energy,
              const std::string& exact) {
  for (Part& part : parts)
    if (part.level == level && part.tensor == tensor) {
      part.energy_pj += energy;
      return;
    }
  parts.push_back({level, tensor, energy, exact});
}

// What a level's energy goes to: its tensors, its leakage, and the rest, which is that of operations or transfers.
void add_level(const Node& level, double times, bool alone, std::vector<Part>& parts) {
  const std::string name = text_at(level, "name"), kind = text_at(level, "kind");
  double rest = number_at(level, "energy_pj").value_or(0);
  const auto take = [&](const std::string& tensor, const Node* energy) {
    if (energy == nullptr || !energy->is_number() || energy->number <= 0) return;
    rest -= energy->number;
    add_part(parts, name, tensor, energy->number * times, alone ? energy->text : std::string());
  };
  if (const Node* spaces = at(level, "dataspaces"))
    for (const formats::json::Member& space : spaces->members) take(space.key, at(space.value, "energy_pj"));
  take("leakage", at(level, "leakage_pj"));
  if (rest > 1e-9 * number_at(level, "energy_pj").value_or(0))
    add_part(parts, name, kind == "compute" ? "operations" : "transfers", rest * times, "");
}

Chart energy_by_level(const std::vector<MapLayer>& layers) {
  const bool alone = layers.size() == 1;
  std::vector<Part> parts;
  std::vector<Share> levels;
  for (const MapLayer& layer : layers)
    for (const Node& level : items_at(*layer.node, "levels")) {
      add_share(levels, text_at(level, "name"), layer.instances * number_at(level, "energy_pj").value_or(0));
      add_level(level, alone ? 1 : layer.instances, alone, parts);
    }
  Chart out;
  out.name = "energy";
  if (levels.empty()) return out;
  if (alone)
    for (Share& level : levels) level.amount /= layers.front().instances;
  const Share& most = largest_of(levels);
  const double total = total_of(levels);
  out.title = fmt::format("{} takes {} of the energy", most.name, percent_of(most.amount, total));
  out.description = fmt::format("Energy by level of the memory hierarchy, outermost first, and by tensor: of {}, {}.",
                                of_what(layers), alone ? "one instance" : "instances included");
  const ChartUnit unit = unit_of(most.amount, "pJ");
  out.x.title = fmt::format("energy ({})", unit.name);
  std::vector<Share> tensors;
  for (const Part& part : parts) {
    if (part.energy_pj <= 0) continue;
    add_share(tensors, part.tensor, part.energy_pj);
    ChartMark mark;
    mark.place = part.level, mark.series = part.tensor, mark.x = part.energy_pj * unit.factor;
    mark.facts = {derived("level", part.level),
                  derived("tensor", part.tensor),
                  {"energy_pj", shown_number(part.energy_pj), part.exact},
                  derived("share", percent_of(part.energy_pj, total))};
    out.marks.push_back(std::move(mark));
  }
  for (const Share& tensor : tensors) out.series.push_back(tensor.name);
  return out;
}

Chart energy_by_layer(const std::vector<MapLayer>& layers) {
  Chart out;
  out.name = "layers";
  std::vector<Share> shares, levels;
  for (const MapLayer& layer : layers)
    add_share(shares, layer.name, layer.instances * number_at(*layer.node, "energy_pj").value_or(0));
  const Share& most = largest_of(shares);
  const double total = total_of(shares);
  out.title =
      fmt::format("{} takes {} of the energy of {} layers", most.name, percent_of(most.amount, total), layers.size());
  out.description = "Energy of each layer, all of its instances, by level of the memory hierarchy.";
  const ChartUnit unit = unit_of(most.amount, "pJ");
  out.x.title = fmt::format("energy ({})", unit.name);
  for (const MapLayer& layer : layers)
    for (const Node& level : items_at(*layer.node, "levels")) {
      const Node* energy = at(level, "energy_pj");
      if (energy == nullptr || energy->number <= 0) continue;
      const std::string name = text_at(level, "name");
      add_share(levels, name, 1);
      ChartMark mark;
      mark.place = layer.name, mark.series = name, mark.x = energy->number * layer.instances * unit.factor;
      mark.facts = {derived("layer", layer.name), fact("instances", at(*layer.node, "instances")),
                    derived("level", name), fact("energy_pj of one", energy),
                    derived("share of all", percent_of(energy->number * layer.instances, total))};
      out.marks.push_back(std::move(mark));
    }
  for (const Share& level : levels) out.series.push_back(level.name);
  return out;
}

// What a layer computes, and how fast it might.
struct Roof {
  double operations = 0, rate = 0, peak = 0, bandwidth = 0;  // a second; bandwidth 0: nothing tells
};

Roof roof_of(const Node& layer) {
  Roof out;
  const double seconds = number_at(layer, "seconds").value_or(0), cycles = number_at(layer, "cycles").value_or(0);
  const double utilization = number_at(layer, "utilization").value_or(0);
  for (const Node& level : items_at(layer, "levels"))
    if (const auto operations = number_at(level, "operations")) out.operations = *operations;
  if (seconds <= 0 || cycles <= 0 || utilization <= 0) return out;
  out.rate = out.operations / seconds;
  out.peak = out.rate / utilization;
  // The outermost storage's own time is known where it is longer than that of the compute units.
  const double intensity = number_at(layer, "operations_per_byte").value_or(0);
  const double share = number_at(layer, "roofline_share").value_or(0);
  if (intensity > 0 && share > utilization * (1 + 1e-6)) out.bandwidth = out.rate / share / intensity;
  return out;
}

Chart roofline(const std::vector<MapLayer>& layers) {
  Chart out;
  out.name = "roofline", out.kind = Chart::Kind::kPoints;
  out.x = {"operations a byte of the outermost storage", true}, out.y = {"operations a second (billions)", true};
  std::vector<Share> bounds;
  double bandwidth = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  std::vector<Share> peaks;  // GEMMs and normalisations have their own
  for (const MapLayer& layer : layers) {
    const auto intensity = number_at(*layer.node, "operations_per_byte");
    const Roof roof = roof_of(*layer.node);
    if (!intensity || *intensity <= 0 || roof.rate <= 0) continue;
    const std::string bound = text_at(*layer.node, "bound_by");
    add_share(bounds, bound, 1);
    const auto alike = std::find_if(peaks.begin(), peaks.end(), [&](const Share& known) {
      return std::fabs(known.amount - roof.peak) <= 1e-3 * roof.peak;
    });
    if (alike == peaks.end())
      peaks.push_back({layer.name, roof.peak});
    else
      alike->name += ", " + layer.name;
    bandwidth = std::max(bandwidth, roof.bandwidth);
    least = std::min(least, *intensity), most = std::max(most, *intensity);
    ChartMark mark;
    mark.x = *intensity, mark.y = roof.rate / 1e9, mark.series = "bound by " + bound, mark.label = layer.name;
    mark.facts = {derived("layer", layer.name),
                  fact("operations_per_byte", at(*layer.node, "operations_per_byte")),
                  derived("operations a second", shown_number(roof.rate)),
                  fact("utilization", at(*layer.node, "utilization")),
                  fact("roofline_share", at(*layer.node, "roofline_share")),
                  derived("bound by", bound)};
    out.marks.push_back(std::move(mark));
  }
  if (out.marks.empty()) return out;
  for (const Share& bound : bounds) out.series.push_back("bound by " + bound.name);
  std::string compute;
  for (const Node& level : items_at(*layers.front().node, "levels"))
    if (text_at(level, "kind") == "compute") compute = text_at(level, "name");
  const Share& usual = largest_of(bounds);
  const bool arithmetic = usual.name == compute;
  const std::string what = arithmetic ? "the compute units" : "the bandwidth of " + usual.name;
  out.title = out.marks.size() == 1
                  ? fmt::format("{} is bound by {}", out.marks.front().label, what)
                  : fmt::format("{:.0f} of {} layers are bound by {}", usual.amount, out.marks.size(), what);
  out.description = fmt::format(
      "Roofline: a point a layer, a multiply-accumulate being one operation; coloured by what makes the layer's run "
      "longest. A line is the most that compute units{} allow.",
      bandwidth > 0 ? " and the outermost storage" : "");
  if (bandwidth <= 0) out.note = "No layer waits for the outermost storage, so that its bandwidth is not drawn.";
  // Below its own roof though nothing else binds it: compute units that the mapping leaves idle.
  const ChartMark* idle = nullptr;
  double share = 0.95;
  for (const MapLayer& layer : layers)
    if (const double used = number_at(*layer.node, "utilization").value_or(1);
        used < share && text_at(*layer.node, "bound_by") == compute)
      for (const ChartMark& mark : out.marks)
        if (mark.label == layer.name) idle = &mark, share = used;
  if (idle)
    out.note += fmt::format("{}The mapping of {} keeps {} of the compute units busy, so that it stays below the roof.",
                            out.note.empty() ? "" : " ", idle->label, percent_of(share, 1));
  for (const Share& roof : peaks)
    out.lines.push_back(roof_line("roof of " + roof.name, roof.amount / 1e9, bandwidth / 1e9, least / 3, most * 3));
  return out;
}

// Words that one instance of each level keeps of each tensor: of one layer.
Chart capacity(const MapLayer& layer) {
  Chart out;
  out.name = "capacity", out.kind = Chart::Kind::kCells;
  std::string most_level, most_tensor;
  double most = 0;
  bool outermost = true;
  for (const Node& level : items_at(*layer.node, "levels")) {
    const Node* spaces = at(level, "dataspaces");
    if (spaces == nullptr || spaces->members.empty()) continue;
    for (const formats::json::Member& space : spaces->members) {
      const Node* words = at(space.value, "tile_words");
      if (words == nullptr || !words->is_number()) continue;
      if (!outermost && words->number > most)
        most = words->number, most_level = text_at(level, "name"), most_tensor = space.key;
      ChartMark mark;
      mark.place = text_at(level, "name"), mark.column = space.key, mark.x = std::log10(1 + words->number);
      mark.facts = {derived("level", mark.place),
                    derived("tensor", space.key),
                    fact("tile_words", words),
                    fact("partition_words", at(space.value, "partition_words")),
                    fact("reads", at(space.value, "reads")),
                    fact("fills", at(space.value, "fills")),
                    fact("updates", at(space.value, "updates"))};
      out.marks.push_back(std::move(mark));
    }
    outermost = false;
  }
  out.title = most > 0 ? fmt::format("{} keeps {} words of {}: the largest tile on the chip", most_level,
                                     shown_number(most), most_tensor)
                       : "Only the outermost storage keeps tiles";
  out.description = fmt::format(
      "Words of each tensor of {} that one instance of each level keeps at a time; colour by the power of ten.",
      layer.name);
  out.x.title = "tensor; colour: logarithm of words";
  return out;
}

std::vector<std::pair<const Node*, std::string>> fronts_of(const Node& document) {
  std::vector<std::pair<const Node*, std::string>> out;
  for (const MapLayer& layer : layers_of(document))
    for (const Node& point : items_at(*layer.node, "pareto")) out.emplace_back(&point, layer.name);
  return out;
}

Chart front(const Node& document) {
  Chart out;
  out.name = "front", out.kind = Chart::Kind::kPoints;
  const auto points = fronts_of(document);
  if (points.empty()) return out;
  double most = 0;
  for (const auto& [point, layer] : points) most = std::max(most, number_at(*point, "energy_pj").value_or(0));
  const ChartUnit unit = unit_of(most, "pJ");
  out.x = {fmt::format("energy ({})", unit.name)}, out.y = {"cycles"};
  std::vector<Share> names;
  for (const auto& [point, layer] : points) {
    add_share(names, layer, 1);
    ChartMark mark;
    mark.series = layer, mark.x = number_at(*point, "energy_pj").value_or(0) * unit.factor;
    mark.y = number_at(*point, "cycles").value_or(0);
    mark.facts = {derived("layer", layer),
                  fact("energy_pj", at(*point, "energy_pj")),
                  fact("cycles", at(*point, "cycles")),
                  fact("edp_j_cycles", at(*point, "edp_j_cycles")),
                  fact("utilization", at(*point, "utilization")),
                  fact("mapping", at(*point, "mapping.text"))};
    out.marks.push_back(std::move(mark));
  }
  for (const Share& name : names) {
    out.series.push_back(name.name);
    std::vector<std::pair<double, double>> line;
    for (const ChartMark& mark : out.marks)
      if (mark.series == name.name) line.emplace_back(mark.x, mark.y);
    out.lines.push_back(front_line(std::move(line), "front of " + name.name));
  }
  const ChartMark &first = out.marks.front(), &last = out.marks.back();
  out.title =
      out.marks.size() == 1 ? "One mapping is the best in energy and in time"
      : names.size() == 1
          ? fmt::format("{} mappings that no other one beats: {:.3g} times the energy buys {:.3g} times the speed",
                        out.marks.size(), last.x / first.x, first.y / last.y)
          : fmt::format("{} mappings of {} layers that no other one beats", out.marks.size(), names.size());
  out.description =
      "Energy and cycles of one instance: mappings that no other mapping matches in both and beats in one.";
  return out;
}

}  // namespace

std::vector<Chart> map_charts(const Node& document) {
  const std::vector<MapLayer> layers = layers_of(document);
  if (layers.empty()) return {};
  std::vector<Chart> out = {energy_by_level(layers), roofline(layers)};
  if (layers.size() > 1)
    out.push_back(energy_by_layer(layers));
  else
    out.push_back(capacity(layers.front()));
  out.push_back(front(document));
  return out;
}

}  // namespace orrery::verbs
