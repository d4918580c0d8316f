#include "orrery/verbs/place/options.h"

#include <filesystem>
#include <initializer_list>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/cli/compat.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/program_version.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/shared_options.h"
#include "orrery/present/graph_dot.h"
#include "orrery/present/graph_svg.h"
#include "orrery/program/verbs.h"
#include "orrery/verbs/place/json.h"
#include "orrery/verbs/place/latency_hdf5_output.h"
#include "orrery/verbs/place/latency_picture.h"
#include "orrery/verbs/place/picture.h"
#include "orrery/verbs/place/place_files.h"
#include "orrery/verbs/place/run.h"
#include "orrery/verbs/place/table.h"

namespace orrery::verbs {
namespace {

constexpr base::Count kMostLayers = 1'000'000'000;

struct Options : OutputFolder {
  PlaceRequest request;
  base::Reproduced<dataflow::Defects> compat;
  Settings overrides;
  bool log = false;               // DFModel's log instead of the table
  std::string dot, svg;           // files to draw the graph into; empty: none
  std::string latency_svg, hdf5;  // files for the latencies of the configurations; empty: none
};

// The one that is written last would be all that is left.
void refuse_one_file_for_two(const Options& options) {
  namespace fs = std::filesystem;
  std::map<fs::path, const char*> written;
  for (const auto& [option, file] :
       std::initializer_list<std::pair<const char*, const std::string&>>{{"--dot", options.dot},
                                                                         {"--svg", options.svg},
                                                                         {"--latency-svg", options.latency_svg},
                                                                         {"--hdf5", options.hdf5}}) {
    if (file.empty()) continue;
    std::error_code ignored;
    fs::path path = fs::weakly_canonical(fs::absolute(file, ignored), ignored);
    if (path.empty()) path = file;
    const auto [first, is_new] = written.emplace(path, option);
    if (!is_new)
      misuse("O1103", fmt::format("`{}` and `{}` both write `{}`", first->second, option, file),
             "give each of them a file of its own");
  }
}

bool read(const Arguments& arguments, Console& console, Options& options) {
  CommandLine line("place",
                   "The best sharding, fusion and placement of a graph of kernels on many accelerators, with proof",
                   "orrery place --model llama3-8b --system dgx-h100 --gpus 64 --global-batch 128");
  line.word("SETUP", options.request.path, "DFModel's setup.txt, or a folder with user_input/setup.txt");
  line.group("Question");
  PlaceModelRequest& model = options.request.model;
  declare_run(line, model, "Instead of a setup");
  declare_sizes(line, model);
  declare_spread(line, model, "1", "searched");
  line.count("--layer", model.layer, "The layer that is placed, of a model of several kinds", kMostLayers);
  line.choice<std::string>("--stack", model.stack, {{"encoder", "encoder"}, {"decoder", "decoder"}},
                           "encoder or decoder (default), of a model that has both");
  line.toggle("--forward", model.forward, "Without the backward pass");
  line.text("--operators", options.request.measurements, "FILE.csv",
            "Timings of matrix products, used in preference to the chip's peak");
  line.settings(options.overrides, "Override any field: system.num_chip=8, execution.llm.tile_size=64 (repeatable)");
  line.meant_each("--compat", "NAME[,NAME]", "Figures of a generation of DFModel: gen1, gen2, gen3, gen4 or head", true,
                  [&options](const std::string& name) {
                    if (!reproduces(dataflow::kDefects, name, options.compat))
                      refuse_compat(name, "no generation of DFModel", dataflow::kDefects);
                  });
  line.offer("--compat", base::original_names(dataflow::kDefects));
  line.toggle("--joint", options.request.joint,
              "Choose sharding and fusion together, and tell what sharding first loses");
  line.group("Search");
  dataflow::PlaceLimits& limits = options.request.limits;
  declare_search(line, limits, "Threads; they change the time only; default: one for each core",
                 "Seconds; the best so far is printed with its gap");
  line.memory(limits.memory);
  line.share("--gap", limits.gap, "Accept an answer that is proven within this share of the best; default 0");
  declare(line, options,
          "Write result.json, log.txt, graph.dot, graph.svg, latency.svg, latency.h5 and the setup with every decision "
          "pinned there");
  line.toggle("--log", options.log, "Print DFModel's log lines instead of the table");
  line.text("--dot", options.dot, "FILE", "Write the graph with its configurations there, for Graphviz");
  line.text("--svg", options.svg, "FILE", "Draw the graph with its configurations there");
  line.text("--latency-svg", options.latency_svg, "FILE",
            "Draw compute, memory and network of each configuration there");
  line.text("--hdf5", options.hdf5, "FILE", "Write these latencies there, as DFModel's HDF5 arrays");
  if (!line.read(arguments, console)) return false;
  if (!options.hdf5.empty()) verbs::require_hdf5();
  refuse_one_file_for_two(options);
  return true;
}

void write_results(const Options& options, const PlacedGraph& placed, const std::string& json) {
  std::vector<OutputFile> files{{"result.json", json}};
  std::string dot, svg, latencies, hdf5;
  if (placed.placement.mapping) {
    const GraphPicture picture = verbs::picture_of(placed);
    dot = verbs::graph_dot(picture);
    svg = verbs::graph_svg(picture);
    latencies = verbs::latency_svg(placed);
    if (!verbs::hdf5_version().empty()) hdf5 = verbs::latency_hdf5(placed.placement.evaluation.partition);
    files.insert(files.end(), {{"log.txt", verbs::place_log(placed)},
                               {"graph.dot", dot},
                               {"graph.svg", svg},
                               {"latency.svg", latencies},
                               {"setup.txt", verbs::pinned_setup(placed)}});
    if (!hdf5.empty()) files.push_back({"latency.h5", hdf5});
  }
  if (!options.directory.empty()) write_files(options.directory, files);
  if (!placed.placement.mapping) return;
  if (!options.dot.empty()) write_file(options.dot, dot);
  if (!options.svg.empty()) write_file(options.svg, svg);
  if (!options.latency_svg.empty()) write_file(options.latency_svg, latencies);
  if (!options.hdf5.empty()) write_file(options.hdf5, hdf5);
}

}  // namespace

PlaceRequest place_request(const Arguments& arguments) {
  Options options;
  QuietConsole console;
  if (!read(arguments, console, options)) refuse_help();
  options.request.defects = options.compat.defects;
  options.request.overrides = options.overrides;
  return options.request;
}

int run_place(const Arguments& arguments, Console& console) {
  Options options;
  if (!read(arguments, console, options)) return kDone;
  const base::Stopwatch clock;
  check_folder(options.directory, options.force,
               {"result.json", "log.txt", "graph.dot", "graph.svg", "latency.svg", "latency.h5", "setup.txt"});
  for (const std::string* file : {&options.dot, &options.svg, &options.latency_svg, &options.hdf5}) check_file(*file);
  PlaceRequest& request = options.request;
  request.defects = options.compat.defects;
  request.overrides = options.overrides;
  PlacedGraph placed;
  bool told_to_stop = false;
  {
    std::optional<InterruptGuard> interrupt;
    request.interruptible = [&] { return interrupt.emplace().flag(); };
    ProgressLine line(console);
    request.limits.progress = [&](double best, double bound) {
      if (line.wanted()) line.show(fmt::format("best {:.6g} ns, bound {:.6g} ns", best, bound));
    };
    placed = verbs::place(request);
    told_to_stop = interrupt->flag()->load();
  }
  report(console, placed.warnings.all());
  const std::string json = verbs::place_json({kVersion, &placed, clock.seconds()});
  write_results(options, placed, json);

  const dataflow::Placement& placement = placed.placement;
  if (console.json)
    console.out << json;
  else if (placement.mapping)
    console.out << (options.log ? verbs::place_log(placed) : verbs::place_table(placed));
  const int cut_short = told_to_stop ? kInterrupted : kLimit;
  if (placement.mapping) {
    const bool close_enough = request.limits.gap > 0 && !placement.interrupted;
    return placement.certificate.optimal || close_enough ? kDone : cut_short;
  }
  console.out.flush();
  report(console, verbs::explain_no_placement(placed));
  return placement.infeasible ? kNo : cut_short;
}

}  // namespace orrery::verbs
