#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/edit_distance.h"
#include "orrery/base/stopwatch.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/shared_options.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/graph_dot.h"
#include "orrery/report/graph_json.h"
#include "orrery/report/graph_svg.h"
#include "orrery/report/operators_json.h"
#include "orrery/report/operators_table.h"
#include "orrery/scenario/file_kinds.h"
#include "orrery/scenario/generate_graph.h"
#include "orrery/scenario/graph_text.h"
#include "orrery/scenario/onnx_model.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

struct Options : OutputFolder {
  scenario::GraphRequest request;
  scenario::OnnxRequest onnx;  // its path: empty, where a graph is generated
  std::string format;          // "prototext", "json", "dot", "svg"; empty: as the suffix of -o says, else prototext
};

bool read(const Arguments& arguments, Console& console, Options& options) {
  CommandLine line("graph", "Generates the kernel graph of a workload as DFModel's text protobuf, JSON, DOT or SVG",
                   "orrery graph llm --hidden 25600 --heads 160 --seq 2048 -o graph.txt");
  std::string kinds;
  for (const scenario::GraphKind& kind : scenario::graph_kinds())
    kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : "; ", kind.name, kind.what);
  line.word("KIND", options.request.kind, kinds + "; model.onnx: lists the operators of an ONNX model");
  line.group("Workload");
  line.text("--model", options.request.model, "NAME|FILE",
            "Model from the catalogue, or its config.json; a size that is given replaces the model's");
  declare_ignored(line, options.request.ignored);
  declare_like(line, options.request.like);
  std::map<std::string, std::optional<base::Count>> sizes;
  for (const scenario::GraphSize& size : scenario::graph_sizes())
    line.integer(fmt::format("{}", fmt::join(size.options, ",")), sizes[size.name], size.what);
  line.toggle("--gated", options.request.gated, "Gate and up projection side by side (SwiGLU)");
  declare_onnx(line, options.onnx.options.defined, options.onnx.options.unfold);
  line.group("Output");
  std::optional<std::string> format;
  line.choice<std::string>("--format", format,
                           {{"prototext", "prototext"}, {"json", "json"}, {"dot", "dot"}, {"svg", "svg"}},
                           "prototext (default), json, dot or svg");
  line.text("-o,--output", options.directory, "FILE|DIR",
            "Write there: a file, by its suffix (.txt, .json, .dot, .svg), or all of them into a folder");
  line.toggle("--force", options.force, "Overwrite what is there");
  if (!line.read(arguments, console)) return false;
  for (const auto& [name, value] : sizes)
    if (value) options.request.sizes[name] = *value;
  options.format = format.value_or("");
  const bool onnx = scenario::is_onnx(options.request.kind);
  if (onnx) {
    options.onnx.path = options.request.kind;
    if (!options.request.sizes.empty() || !options.request.model.empty() || options.request.gated)
      misuse(
          "O1103", fmt::format("`{}` has its sizes in itself", options.request.kind),
          "leave `--model`, `--gated` and sizes out; `--define batch=8` sizes a dimension that the file leaves open");
    if ((!options.format.empty() && options.format != "json") || !options.directory.empty())
      misuse("O1103", "the operators of an ONNX model are printed as a table or, with `--json`, as JSON",
             "leave `--format` and `-o` out, and redirect the output");
  } else if (!options.onnx.options.defined.empty() || options.onnx.options.unfold) {
    misuse("O1103", "--define and --im2col are of ONNX models, but none is given",
           "give the model's file: `orrery graph model.onnx`");
  }
  return true;
}

// By the suffix of a file for -o; a name without one of these is a folder.
std::string format_of(const fs::path& path) {
  static const std::array<std::pair<const char*, const char*>, 9> kSuffixes = {{{".txt", "prototext"},
                                                                                {".prototxt", "prototext"},
                                                                                {".textproto", "prototext"},
                                                                                {".pbtxt", "prototext"},
                                                                                {".txtpb", "prototext"},
                                                                                {".json", "json"},
                                                                                {".dot", "dot"},
                                                                                {".gv", "dot"},
                                                                                {".svg", "svg"}}};
  for (const auto& [suffix, format] : kSuffixes)
    if (path.extension() == suffix) return format;
  return "";
}

class Writer {
 public:
  Writer(const scenario::GeneratedGraph& generated, const base::Stopwatch& clock)
      : generated_(generated), clock_(clock) {}

  std::string operator()(const std::string& format) const {
    if (format == "json") return report::graph_json({kVersion, &generated_, clock_.seconds()});
    if (format == "prototext") return scenario::graph_text(generated_);
    report::GraphPicture picture;
    picture.graph = &generated_.graph;
    picture.title = scenario::title_of(generated_);
    return format == "dot" ? report::graph_dot(picture) : report::graph_svg(picture);
  }

 private:
  const scenario::GeneratedGraph& generated_;
  const base::Stopwatch& clock_;
};

int list_operators(const Options& options, const base::Stopwatch& clock, Console& console) {
  const scenario::OnnxModel model = scenario::load_onnx(options.onnx);
  report(console, model.operators.warnings.all());
  console.out << (console.json || options.format == "json" ? report::operators_json({kVersion, &model, clock.seconds()})
                                                           : report::operators_table(model));
  return kDone;
}

}  // namespace

int run_graph(const Arguments& arguments, Console& console) {
  Options options;
  if (!read(arguments, console, options)) return kDone;
  const base::Stopwatch clock;
  if (!options.onnx.path.empty()) return list_operators(options, clock, console);
  const fs::path path = options.directory;
  std::error_code ignored;
  const std::string suffix_format = fs::is_directory(path, ignored) ? "" : format_of(path);
  const bool file = !options.directory.empty() && !suffix_format.empty();
  if (file) {
    const std::string name = path.filename().string();
    const std::string parent = path.parent_path().empty() ? "." : path.parent_path().string();
    check_folder(parent, options.force, {name.c_str()});
  } else {
    check_folder(options.directory, options.force, {"graph.txt", "graph.dot", "graph.svg", "result.json"});
  }

  const scenario::GeneratedGraph generated = scenario::generate_graph(options.request);
  report(console, generated.warnings.all());
  const Writer written(generated, clock);
  const std::string format = !options.format.empty() ? options.format : file ? suffix_format : "prototext";
  if (options.directory.empty()) {
    console.out << written(console.json ? "json" : format);
    return kDone;
  }
  if (file) {
    if (!path.parent_path().empty()) make_folder(path.parent_path().string());
    write_file(path.string(), written(format));
  } else {
    write_files(path.string(), {{"graph.txt", written("prototext")},
                                {"graph.dot", written("dot")},
                                {"graph.svg", written("svg")},
                                {"result.json", written("json")}});
  }
  console.out << (console.json ? written("json") : scenario::title_of(generated) + "\n");
  return kDone;
}

}  // namespace orrery::cli
