#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/run_verb.h"
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
  std::string format;  // "text", "json", "dot", "svg"; empty: as the suffix of -o says, else text
};

bool read(const Arguments& arguments, Console& console, Options& options) {
  CommandLine line("graph", "Generates the kernel graph of a workload as DFModel's text protobuf, JSON, DOT or SVG",
                   "orrery graph llm --hidden 25600 --heads 160 --seq 2048 -o graph.txt");
  std::string kinds;
  for (const GraphKind& kind : graph_kinds())
    kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : "; ", kind.name, kind.what);
  line.word("KIND", options.request.kind, kinds + "; model.onnx: lists the operators of an ONNX model");
  line.group("Workload");
  line.text("--model", options.request.model, "NAME|FILE",
            "Model from the catalogue, or its config.json; a size that is given replaces the model's");
  declare_ignored(line, options.request.ignored);
  declare_like(line, options.request.like);
  std::map<std::string, std::optional<base::Count>> sizes;
  for (const GraphSize& size : graph_sizes())
    line.integer(base::joined(size.options, ","), sizes[size.name], size.what);
  line.choice<std::string>("--stack", options.stack, {{"encoder", "encoder"}, {"decoder", "decoder"}},
                           "encoder or decoder (default), of a model that has both");
  line.toggle("--gated", options.request.gated, "Gate and up projection side by side (SwiGLU)");
  declare_onnx(line, options.onnx.options.defined, options.onnx.options.unfold);
  line.group("Output");
  std::optional<std::string> format;
  line.choice<std::string>("--format", format,
                           {{"prototext", "prototext"}, {"json", "json"}, {"dot", "dot"}, {"svg", "svg"}},
                           "prototext (default), json, dot or svg");
  line.destination("-o,--output", options.directory, "FILE|DIR",
                   "Write there: a file, by its suffix (.txt, .json, .dot, .svg), or all of them into a folder");
  line.toggle("--force", options.force, "Overwrite what is there");
  if (!line.read(arguments, console)) return false;
  for (const auto& [name, value] : sizes)
    if (value) options.request.sizes[name] = *value;
  options.format = format == "prototext" ? "text" : format.value_or("");
  options.request.stack = options.stack.value_or("");
  const bool onnx = is_onnx(options.request.kind);
  if (onnx) {
    options.onnx.path = options.request.kind;
    if (!options.request.sizes.empty() || !options.request.model.empty() || options.request.gated)
      misuse(
          "O1103", fmt::format("`{}` has its sizes in itself", options.request.kind),
          "leave `--model`, `--gated` and sizes out; `--define batch=8` sizes a dimension that the file leaves open");
    if (format == "prototext")
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
  const std::string suffix = path.extension().string();
  for (const char* text : {".txt", ".prototxt", ".textproto", ".pbtxt", ".txtpb"})
    if (suffix == text) return "text";
  if (suffix == ".gv") return "dot";
  return suffix == ".json" || suffix == ".dot" || suffix == ".svg" ? suffix.substr(1) : "";
}

// How one kind of graph is found and shown; its formats are "text", "dot" and "svg".
template <typename Answer>
struct Drawing {
  std::function<Answer()> answer;
  std::function<Document<Answer>()> document;
  std::function<std::string(const Answer&)> title;  // printed where the drawings go to files
  const char* text_name;                            // the text's file in a folder
  std::function<std::string(const Answer&, const std::string& format)> text;
};

// To stdout, to a file by its suffix, or in all formats into a folder.
template <typename Answer>
int draw(const Options& options, const Drawing<Answer>& drawing, Console& console) {
  const base::Stopwatch clock;
  std::error_code ignored;
  const std::string by_suffix = fs::is_directory(options.directory, ignored) ? "" : format_of(options.directory);
  const std::string format = !options.format.empty() ? options.format : !by_suffix.empty() ? by_suffix : "text";
  const auto in = [&](const std::string& form, const Answer& answer) {
    return form == "json" ? drawing.document().json(answer, clock.seconds(), console.command)
                          : drawing.text(answer, form);
  };
  Steps<Answer> steps{.answer = [&](Run&) { return drawing.answer(); }, .document = drawing.document};
  steps.table = [&](const Answer& answer) {
    return options.directory.empty() ? in(format, answer) : drawing.title(answer) + "\n";
  };
  if (!by_suffix.empty()) {
    steps.files = {{options.directory, [&](const Answer& answer) { return in(format, answer); }}};
  } else {
    steps.folder = options;
    steps.names = {drawing.text_name, "graph.dot", "graph.svg", "result.json"};
    steps.folder_files = [&](const Answer& answer) -> std::vector<OutputFile> {
      return {
          {drawing.text_name, in("text", answer)}, {"graph.dot", in("dot", answer)}, {"graph.svg", in("svg", answer)}};
    };
  }
  return run_verb(console, steps);
}

std::string in_format(const std::string& format, const GraphPicture& picture) {
  return format == "dot" ? graph_dot(picture) : graph_svg(picture);
}

int draw_operators(const Options& options, Console& console) {
  const auto title = [](const OnnxModel& model) {
    const std::size_t count = model.operators.all.size();
    return fmt::format("{}: {} operator{}", model.name, count, base::plural(count));
  };
  const auto text = [](const OnnxModel& model, const std::string& format) {
    if (format == "text") return operators_table(model);
    workload::KernelGraph graph;
    return in_format(format, operators_picture(model, graph));
  };
  return draw<OnnxModel>(
      options, {[&] { return load_onnx(options.onnx); }, operators_document, title, "operators.txt", text}, console);
}

int draw_generated(const Options& options, Console& console) {
  const auto text = [](const GeneratedGraph& generated, const std::string& format) {
    if (format == "text") return graph_text(generated);
    GraphPicture picture;
    picture.graph = &generated.graph;
    picture.title = title_of(generated);
    return in_format(format, picture);
  };
  return draw<GeneratedGraph>(
      options, {[&] { return generate_graph(options.request); }, graph_document, title_of, "graph.txt", text}, console);
}

}  // namespace

int run_graph(const Arguments& arguments, Console& console) {
  Options options;
  if (!read(arguments, console, options)) return kDone;
  return options.onnx.path.empty() ? draw_generated(options, console) : draw_operators(options, console);
}

}  // namespace orrery::verbs
