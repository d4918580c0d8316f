#include "orrery/verbs/place/options.h"

#include <utility>

#include <fmt/format.h>

#include "orrery/cli/compat.h"
#include "orrery/cli/quiet_console.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/run_verb.h"
#include "orrery/present/graph_dot.h"
#include "orrery/present/graph_svg.h"
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
  line.toggle("--forward", model.forward, "Place the forward pass only");
  line.text("--operators", options.request.measurements, "FILE.csv",
            "Timings of GEMMs, used in preference to the chip's peak");
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
  line.output_file("--dot", options.dot, "FILE", "Write the graph with its configurations there, for Graphviz");
  line.output_file("--svg", options.svg, "FILE", "Draw the graph with its configurations there");
  line.output_file("--latency-svg", options.latency_svg, "FILE",
                   "Draw compute, memory and network of each configuration there");
  line.output_file("--hdf5", options.hdf5, "FILE",
                   "Write the configurations' latencies there, as DFModel's HDF5 arrays");
  line.pictures();
  if (!line.read(arguments, console)) return false;
  if (!options.hdf5.empty()) verbs::require_hdf5();
  return true;
}

std::vector<OutputFile> files_of(const PlacedGraph& placed) {
  if (!placed.placement.mapping) return {};
  const GraphPicture picture = picture_of(placed);
  std::vector<OutputFile> files = {{"log.txt", place_log(placed)},
                                   {"graph.dot", graph_dot(picture)},
                                   {"graph.svg", graph_svg(picture)},
                                   {"latency.svg", latency_svg(placed)},
                                   {"setup.txt", pinned_setup(placed)}};
  if (!hdf5_version().empty()) files.push_back({"latency.h5", latency_hdf5(placed.placement.evaluation.partition)});
  return files;
}

// One of the files of -o in a place of its own.
NamedFile<PlacedGraph> file_of(const std::string& path, const char* name) {
  return {path, [name](const PlacedGraph& placed) {
            for (const OutputFile& file : files_of(placed))
              if (file.name == name) return file.text;
            return std::string();
          }};
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
  PlaceRequest& request = options.request;
  request.defects = options.compat.defects;
  request.overrides = options.overrides;
  return run_verb<PlacedGraph>(
      console, {.answer =
                    [&](Run& run) {
                      request.interruptible = run.interruptible();
                      request.limits.progress = [&](double best, double bound) {
                        run.show("best {:.6g} ns, bound {:.6g} ns", best, bound);
                      };
                      return place(request);
                    },
                .document = place_document,
                .table =
                    [&](const PlacedGraph& placed) {
                      if (!placed.placement.mapping) return std::string();
                      return options.log ? place_log(placed) : place_table(placed);
                    },
                .folder = options,
                .names = {"result.json", "log.txt", "graph.dot", "graph.svg", "latency.svg", "latency.h5", "setup.txt"},
                .folder_files = files_of,
                .files = {file_of(options.dot, "graph.dot"), file_of(options.svg, "graph.svg"),
                          file_of(options.latency_svg, "latency.svg"), file_of(options.hdf5, "latency.h5")},
                .outcome = [&](const PlacedGraph& placed, const Run& run) -> Outcome {
                  const dataflow::Placement& placement = placed.placement;
                  if (!placement.mapping)
                    return {placement.infeasible ? kNo : run.cut_short(), explain_no_placement(placed)};
                  const bool close_enough = request.limits.gap > 0 && !placement.interrupted;
                  return {placement.certificate.optimal || close_enough ? kDone : run.cut_short()};
                }});
}

}  // namespace orrery::verbs
