#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/base/stopwatch.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/formats/dfmodel/setup_text.h"
#include "orrery/report/graph_dot.h"
#include "orrery/report/graph_json.h"
#include "orrery/report/graph_svg.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

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

std::string title_of(const scenario::GeneratedGraph& generated) {
  return fmt::format("{}{}: {} kernels, {} connections", generated.kind,
                     generated.model.empty() ? "" : " of " + generated.model, generated.graph.kernels.size(),
                     generated.graph.edges.size());
}

// Before the block: what it is, what of a model it does not show, and the execution that goes with it.
std::string remarks(const scenario::GeneratedGraph& generated) {
  std::string out = "# " + title_of(generated) + "\n#";
  for (const auto& [name, value] : generated.parameters) out += fmt::format(" {}={}", name, value);
  out += "\n";
  for (const std::string& note : generated.notes) out += "# " + note + "\n";
  return out;
}

class Writer {
 public:
  Writer(const scenario::GeneratedGraph& generated, const base::Stopwatch& clock)
      : generated_(generated), clock_(clock) {}

  std::string operator()(const std::string& format) const {
    if (format == "json") return report::graph_json({kVersion, &generated_, clock_.seconds()});
    if (format == "prototext") return remarks(generated_) + formats::dfmodel::write_graph(generated_.graph);
    report::GraphPicture picture;
    picture.graph = &generated_.graph;
    picture.title = title_of(generated_);
    return format == "dot" ? report::graph_dot(picture) : report::graph_svg(picture);
  }

 private:
  const scenario::GeneratedGraph& generated_;
  const base::Stopwatch& clock_;
};

}  // namespace

int run_graph(const GraphOptions& options, const Console& console) {
  const base::Stopwatch clock;
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
    console.out << written(options.json ? "json" : format);
    return kDone;
  }
  if (file) {
    if (!path.parent_path().empty()) make_folder(path.parent_path().string());
    write_file(path.string(), written(format));
  } else {
    make_folder(path.string());
    write_file((path / "graph.txt").string(), written("prototext"));
    write_file((path / "graph.dot").string(), written("dot"));
    write_file((path / "graph.svg").string(), written("svg"));
    write_file((path / "result.json").string(), written("json"));
  }
  console.out << (options.json ? written("json") : title_of(generated) + "\n");
  return kDone;
}

}  // namespace orrery::cli
