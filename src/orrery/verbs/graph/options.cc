#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/shared_options.h"
#include "orrery/inputs/file_kinds.h"
#include "orrery/inputs/graphs/generate_graph.h"
#include "orrery/inputs/graphs/onnx_model.h"
#include "orrery/present/graph_dot.h"
#include "orrery/present/graph_svg.h"
#include "orrery/verbs/graph/dfmodel_run.h"
#include "orrery/verbs/graph/json.h"
#include "orrery/verbs/graph/operators_json.h"
#include "orrery/verbs/graph/operators_picture.h"
#include "orrery/verbs/graph/operators_table.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

struct Options : OutputFolder {
  GraphRequest request;
  OnnxRequest onnx;  // its path: empty, where a graph is generated
  std::optional<std::string> stack;
  std::string format;  // "prototext", "json", "dot", "svg"; empty: as the suffix of -o says, else prototext
};

bool read(const Arguments& arguments, Console& console, Options& options) {
  CommandLine line("graph", "Generates the kernel graph of a workload as DFModel's text protobuf, JSON, DOT or SVG",
                   "orrery graph llm --hidden 25600 --heads 160 --seq 2048 -o graph.txt");
  std::string kinds;
  for (const GraphKind& kind : verbs::graph_kinds())
    kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : "; ", kind.name, kind.what);
  line.word("KIND", options.request.kind, kinds + "; model.onnx: lists the operators of an ONNX model");
  line.group("Workload");
  line.text("--model", options.request.model, "NAME|FILE",
            "Model from the catalogue, or its config.json; a size that is given replaces the model's");
  declare_ignored(line, options.request.ignored);
  declare_like(line, options.request.like);
  std::map<std::string, std::optional<base::Count>> sizes;
  for (const GraphSize& size : verbs::graph_sizes())
    line.integer(fmt::format("{}", fmt::join(size.options, ",")), sizes[size.name], size.what);
  line.choice<std::string>("--stack", options.stack, {{"encoder", "encoder"}, {"decoder", "decoder"}},
                           "encoder or decoder (default), of a model that has both");
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
  options.request.stack = options.stack.value_or("");
  const bool onnx = verbs::is_onnx(options.request.kind);
  if (onnx) {
    options.onnx.path = options.request.kind;
    if (!options.request.sizes.empty() || !options.request.model.empty() || options.request.gated)
      misuse(
          "O1103", fmt::format("`{}` has its sizes in itself", options.request.kind),
          "leave `--model`, `--gated` and sizes out; `--define batch=8` sizes a dimension that the file leaves open");
    if (options.format == "prototext")
      misuse("O1103", "the operators of an ONNX model have shapes of their own and make no setup for `place`",
             "leave `--format` out for a table, or take json, dot or svg");
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
  Writer(const GeneratedGraph& generated, const base::Stopwatch& clock) : generated_(generated), clock_(clock) {}

  std::string operator()(const std::string& format) const {
    if (format == "json") return graph_document().json(generated_, clock_.seconds());
    if (format == "prototext") return verbs::graph_text(generated_);
    GraphPicture picture;
    picture.graph = &generated_.graph;
    picture.title = verbs::title_of(generated_);
    return format == "dot" ? verbs::graph_dot(picture) : verbs::graph_svg(picture);
  }

 private:
  const GeneratedGraph& generated_;
  const base::Stopwatch& clock_;
};

class OperatorsWriter {
 public:
  OperatorsWriter(const OnnxModel& model, const base::Stopwatch& clock) : model_(model), clock_(clock) {}

  std::string operator()(const std::string& format) const {
    if (format == "json") return operators_document().json(model_, clock_.seconds());
    if (format == "table") return verbs::operators_table(model_);
    workload::KernelGraph graph;
    const GraphPicture picture = verbs::operators_picture(model_, graph);
    return format == "dot" ? verbs::graph_dot(picture) : verbs::graph_svg(picture);
  }

 private:
  const OnnxModel& model_;
  const base::Stopwatch& clock_;
};

// Where the answer goes: stdout, a file by its suffix, or all formats into a folder.
class Destination {
 public:
  Destination(const Options& options, const char* text_format, const char* text_name)
      : options_(options), path_(options.directory), text_format_(text_format), text_name_(text_name) {
    std::error_code ignored;
    const std::string by_suffix = fs::is_directory(path_, ignored) ? "" : format_of(path_);
    file_ = !options.directory.empty() && !by_suffix.empty();
    format_ = !options.format.empty() ? options.format : file_ ? by_suffix : text_format;
    if (format_ == "prototext") format_ = text_format;
    if (file_) keep_inputs(path_.string(), {{options.request.model, ""}, {options.onnx.path, ""}});
    if (file_) {
      const std::string name = path_.filename().string();
      const std::string parent = path_.parent_path().empty() ? "." : path_.parent_path().string();
      check_folder(parent, options.force, {name});
    } else {
      check_folder(options.directory, options.force, {text_name, "graph.dot", "graph.svg", "result.json"});
    }
  }

  template <typename Written>
  void write(const Written& written, const std::string& title, Console& console) const {
    if (options_.directory.empty()) {
      if (console.json)
        console.out << written("json");
      else
        print(console, written(format_));
      return;
    }
    if (file_) {
      if (!path_.parent_path().empty()) make_folder(path_.parent_path().string());
      write_file(path_.string(), written(format_));
    } else {
      write_files(path_.string(), {{text_name_, written(text_format_)},
                                   {"graph.dot", written("dot")},
                                   {"graph.svg", written("svg")},
                                   {"result.json", written("json")}});
    }
    if (console.json)
      console.out << written("json");
    else
      print(console, title + "\n");
  }

 private:
  const Options& options_;
  fs::path path_;
  std::string text_format_, text_name_, format_;
  bool file_ = false;
};

int draw_operators(const Options& options, const base::Stopwatch& clock, Console& console) {
  const Destination destination(options, "table", "operators.txt");
  const OnnxModel model = verbs::load_onnx(options.onnx);
  report(console, model.operators.warnings.all());
  const std::size_t count = model.operators.all.size();
  destination.write(OperatorsWriter(model, clock),
                    fmt::format("{}: {} operator{}", model.name, count, base::plural(count)), console);
  return kDone;
}

}  // namespace

int run_graph(const Arguments& arguments, Console& console) {
  Options options;
  if (!read(arguments, console, options)) return kDone;
  const base::Stopwatch clock;
  if (!options.onnx.path.empty()) return draw_operators(options, clock, console);
  const Destination destination(options, "prototext", "graph.txt");
  const GeneratedGraph generated = verbs::generate_graph(options.request);
  report(console, generated.warnings.all());
  destination.write(Writer(generated, clock), verbs::title_of(generated), console);
  return kDone;
}

}  // namespace orrery::verbs
