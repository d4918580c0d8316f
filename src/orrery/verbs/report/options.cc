#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/command_line.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/catalogue/program_file.h"
#include "orrery/present/chart/chart_plot.h"
#include "orrery/present/chart/chart_vega.h"
#include "orrery/present/chart/page.h"
#include "orrery/present/charts/answer_charts.h"
#include "orrery/present/charts/answer_graph.h"
#include "orrery/present/charts/answer_subject.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/report/answer_pictures.h"
#include "orrery/verbs/report/json.h"
#include "orrery/verbs/report/read_answers.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

// That of the installed program, else Debian's.
std::string vega(std::vector<base::Diagnostic>& remarks) {
  std::vector<std::string> folders = {"/usr/share/javascript/vega"};
  if (const fs::path program = program_file(); !program.empty())
    folders.insert(folders.begin(), (program.parent_path() / "../share/orrery/vega").lexically_normal().string());
  if (const char* given = std::getenv("ORRERY_VEGA"); given && *given) folders = {given};
  std::string out = vega_library(folders);
  if (!out.empty()) return out;
  base::Diagnostics found;
  found.warning("O2083", "charts of the page are drawn without Vega: they show no tooltips")
      .note(fmt::format("its files were looked for in {}", fmt::join(folders, ", ")))
      .hint("install Debian's package libjs-vega: `apt-get install libjs-vega`, and write the page again");
  remarks.insert(remarks.end(), found.all().begin(), found.all().end());
  return out;
}

// "sparse measure" of "sparse_measure".
std::string verb_of(std::string kind) {
  if (kind == "map_fuse") return "map --fuse";
  for (char& c : kind) c = c == '_' ? ' ' : c;
  return kind;
}

PageAnswer page_answer(std::string name, const Node& document) {
  PageAnswer out;
  out.name = std::move(name);
  out.kind = kind_of(document), out.document = &document, out.charts = charts_of(document);
  out.subject = subject_of(document), out.picture = graph_of(document);
  return out;
}

std::string title_of(const std::vector<PageAnswer>& answers) {
  if (answers.size() > 1) return fmt::format("{} answers of Orrery", answers.size());
  const PageAnswer& only = answers.front();
  std::string out = "orrery " + verb_of(only.kind);
  if (!only.subject.empty()) out += ", " + only.subject;
  return out + (only.charts.empty() ? "" : ": " + only.charts.front().title);
}

Node document_of(const std::string& text) {
  const auto file = std::make_shared<const base::SourceFile>(base::SourceFile{"the answer", text});
  return formats::json::parse(file, "O2081");
}

std::string page(const std::string& document, std::vector<base::Diagnostic>& remarks) {
  const Node node = document_of(document);
  const std::vector<PageAnswer> answers = {page_answer("orrery " + verb_of(kind_of(node)), node)};
  return page_html(title_of(answers), answers, vega(remarks));
}

// Of the terminal, else of COLUMNS, else 80.
std::size_t terminal_width() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const auto given = base::parse_number<std::size_t>(columns ? columns : "");
  return given && *given >= 20 && *given <= 1000 ? *given : 80;
}

bool in_colour(const Console& console) {
  return console.colour && isatty(STDOUT_FILENO) == 1;
}

std::string plots(const std::string& document, const Console& console) {
  std::string out;
  for (const Chart& chart : charts_of(document_of(document)))
    if (const std::string drawn = chart_plot(chart, terminal_width(), in_colour(console)); !drawn.empty())
      out += (out.empty() ? "" : "\n") + drawn;
  return out;
}

const Chart& chart_named(const std::vector<Chart>& charts, const std::string& name) {
  std::vector<std::string> names;
  for (const Chart& chart : charts) {
    if (chart.name == name) return chart;
    names.push_back(chart.name);
  }
  base::fail("O2084", fmt::format("the answer has no chart `{}`", name), {},
             base::did_you_mean(name, names, fmt::format("its charts are {}", fmt::join(names, ", "))));
}

std::string chart_list(const std::vector<Chart>& charts) {
  Table table;
  table.header = {"chart", "what it says"};
  table.left_columns = {1};
  for (const Chart& chart : charts) table.rows.push_back({chart.name, chart.title});
  return text(table);
}

}  // namespace

const Pictures& pictures() {
  static const Pictures made = {page, plots};
  return made;
}

int run_report(const Arguments& arguments, Console& console) {
  std::vector<std::string> paths;
  std::string file = "report.html", title;
  CommandLine line("report", "Answers and studies as one page: charts, tables, and what differs between them",
                   "orrery report one.json two.json study.db -o report.html");
  line.words("ANSWERS", paths,
             "What `--json` printed, a result.json of `-o`, the store of a study, or a folder of these", true);
  line.group("Output");
  line.output_file("-o,--output", file, "FILE", "The page, one file that loads nothing; default: report.html");
  line.text("--title", title, "TEXT", "Title of the page; default: what the first chart says");
  if (!line.read(arguments, console)) return kDone;
  check_file(file, console.force);
  const std::vector<KeptAnswer> kept = read_answers(paths);
  for (const std::string& path : paths) keep_inputs(file, {{path, ""}});
  ReportAnswer answer{file, {}};
  std::vector<PageAnswer> answers;
  for (const KeptAnswer& each : kept) {
    keep_inputs(file, {{each.name, ""}});
    answers.push_back(page_answer(each.name, *each.document));
    ReportedAnswer reported{each.name, answers.back().kind, {}};
    for (const Chart& chart : answers.back().charts)
      reported.charts.push_back({chart.name, chart.title, chart.description});
    answer.answers.push_back(std::move(reported));
  }
  std::vector<base::Diagnostic> remarks;
  write_file(file, page_html(title.empty() ? title_of(answers) : title, answers, vega(remarks)));
  report(console, remarks);
  if (console.json) {
    console.out << report_document().json(answer, 0, console.command);
    return kDone;
  }
  std::size_t charts = 0;
  for (const PageAnswer& each : answers) charts += each.charts.size();
  print(console, fmt::format("{}: {} answer{}, {} chart{}\n", file, answers.size(), answers.size() == 1 ? "" : "s",
                             charts, charts == 1 ? "" : "s"));
  return kDone;
}

int run_chart(const Arguments& arguments, Console& console) {
  std::string path, name;
  bool plot = false;
  CommandLine line("chart", "A chart of an answer as a Vega 5 specification; without --name, the list of them",
                   "orrery chart answer.json --name energy > energy.vg.json");
  line.word("ANSWER", path, "What `--json` printed, or a result.json of `-o`", true);
  line.text("--name", name, "NAME", "The chart to print");
  line.toggle("--plot", plot, "Draw it in characters instead; without --name every chart of points");
  if (!line.read(arguments, console)) return kDone;
  const std::vector<KeptAnswer> kept = read_answers({path});
  if (kept.size() != 1)
    base::fail("O2084", fmt::format("`{}` holds {} answers", path, kept.size()), {},
               "name one, or put all of them on a page: `orrery report`");
  const std::vector<Chart> charts = charts_of(*kept.front().document);
  if (charts.empty())
    base::fail("O2084",
               fmt::format("an answer of `{}` has no charts, or nothing to draw", verb_of(kind_of(*kept[0].document))),
               {}, "`orrery report` shows its figures as tables");
  if (plot) {
    std::string out;
    for (const Chart& chart : charts)
      if (name.empty() || &chart == &chart_named(charts, name))
        if (const std::string drawn = chart_plot(chart, terminal_width(), in_colour(console)); !drawn.empty())
          out += (out.empty() ? "" : "\n") + drawn;
    if (out.empty())
      base::fail("O2084", "only charts of points are drawn in characters", {},
                 "leave out `--plot`, or `orrery report`");
    print(console, out);
  } else if (!name.empty()) {
    console.out << text(chart_vega(chart_named(charts, name)));
  } else if (console.json) {
    ReportedAnswer listed{path, kind_of(*kept[0].document), {}};
    for (const Chart& chart : charts) listed.charts.push_back({chart.name, chart.title, chart.description});
    console.out << chart_document().json(listed, 0, console.command);
  } else {
    print(console, chart_list(charts));
  }
  return kDone;
}

}  // namespace orrery::verbs
