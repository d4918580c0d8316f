#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/stopwatch.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/formats/dfmodel/setup_text.h"
#include "orrery/report/graph_dot.h"
#include "orrery/report/graph_svg.h"
#include "orrery/report/place_json.h"
#include "orrery/report/place_log.h"
#include "orrery/report/place_table.h"
#include "orrery/scenario/place.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

report::GraphPicture picture_of(const scenario::PlacedGraph& placed) {
  const dataflow::Mapping& mapping = *placed.placement.mapping;
  report::GraphPicture picture;
  picture.graph = &placed.setup.graph;
  picture.title = placed.title;
  picture.configuration = mapping.configuration;
  const auto& costs = placed.placement.evaluation.partition.configurations;
  for (std::size_t c = 0; c < costs.size(); ++c)
    picture.configuration_labels.push_back(
        fmt::format("configuration {}: {:.6g} us, {}", c, costs[c].interval_ns / 1e3, report::name(costs[c].bound)));
  for (const workload::KernelDimension sharding : mapping.sharding)
    picture.kernel_labels.push_back(
        sharding == workload::KernelDimension::kNone ? "" : fmt::format("split along {}", report::name(sharding)));
  return picture;
}

// The setup with every decision pinned: reads back to this placement, and a hand can change it from there.
std::string pinned(const scenario::PlacedGraph& placed) {
  dataflow::Setup setup = placed.setup;
  const dataflow::Mapping& mapping = *placed.placement.mapping;
  for (std::size_t k = 0; k < setup.graph.kernels.size(); ++k) {
    setup.graph.kernels[k].configuration = mapping.configuration[k];
    if (mapping.degrees.tensor > 1) setup.graph.kernels[k].sharding = mapping.sharding[k];
  }
  for (std::size_t d = 0; d < setup.system.network.size() && d < mapping.degrees.sizes.size(); ++d)
    setup.system.network[d].size = mapping.degrees.sizes[d];
  if (auto* model = std::get_if<dataflow::LanguageModel>(&setup.execution.workload))
    model->tile_size = placed.generation == dataflow::Generation::kGen1 || model->tile_size_counts_tiles
                           ? mapping.tiles
                           : mapping.tile_size;
  return formats::dfmodel::write_setup(setup);
}

void write_files(const PlaceOptions& options, const scenario::PlacedGraph& placed, const std::string& json) {
  const bool placed_at_all = placed.placement.mapping.has_value();
  if (!options.directory.empty()) {
    make_folder(options.directory);
    const fs::path folder = options.directory;
    write_file((folder / "result.json").string(), json);
    if (placed_at_all) {
      write_file((folder / "log.txt").string(), report::place_log(placed));
      write_file((folder / "graph.dot").string(), report::graph_dot(picture_of(placed)));
      write_file((folder / "graph.svg").string(), report::graph_svg(picture_of(placed)));
      write_file((folder / "setup.txt").string(), pinned(placed));
    }
  }
  if (!placed_at_all) return;
  if (!options.dot.empty()) write_file(options.dot, report::graph_dot(picture_of(placed)));
  if (!options.svg.empty()) write_file(options.svg, report::graph_svg(picture_of(placed)));
}

}  // namespace

int run_place(const PlaceOptions& options, const Console& console) {
  const base::Stopwatch clock;
  check_folder(options.directory, options.force, {"result.json", "log.txt", "graph.dot", "graph.svg", "setup.txt"});
  scenario::PlaceRequest request;
  request.path = options.file;
  request.generation = options.generation;
  request.overrides = options.overrides;
  request.measurements = options.measurements;
  request.seconds = options.time_limit;
  request.memory = std::min(options.memory, cost::memory_allowed().value_or(options.memory));
  request.gap = options.gap;
  request.threads = options.threads;
  scenario::PlacedGraph placed;
  bool told_to_stop = false;
  {
    std::optional<InterruptGuard> interrupt;
    request.interruptible = [&] { return interrupt.emplace().flag(); };
    ProgressLine line(console);
    request.progress = [&](double best, double bound) {
      if (line.wanted()) line.show(fmt::format("best {:.6g} ns, bound {:.6g} ns", best, bound));
    };
    placed = scenario::place(request);
    told_to_stop = interrupt->flag()->load();
  }
  report(console, placed.warnings.all());
  const std::string json = report::place_json({kVersion, &placed, clock.seconds()});
  write_files(options, placed, json);

  const dataflow::Placement& placement = placed.placement;
  if (options.json)
    console.out << json;
  else if (placement.mapping)
    console.out << (options.log ? report::place_log(placed) : report::place_table(placed));
  const int cut_short = told_to_stop ? kInterrupted : kLimit;
  if (placement.mapping) {
    const bool close_enough = options.gap > 0 && !placement.interrupted;
    return placement.certificate.optimal || close_enough ? kDone : cut_short;
  }
  console.out.flush();
  report(console, scenario::explain_no_placement(placed));
  return placement.infeasible ? kNo : cut_short;
}

}  // namespace orrery::cli
