#include "orrery/present/chart/page.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "orrery/base/text/text_file.h"
#include "orrery/base/version.h"
#include "orrery/present/chart/chart_svg.h"
#include "orrery/present/chart/chart_vega.h"
#include "orrery/present/chart/page_parts.h"
#include "orrery/present/chart/result_tables.h"
#include "orrery/present/chart/study_points.h"
#include "orrery/present/graph_svg.h"
#include "orrery/present/within_text.h"

namespace orrery::verbs {
namespace {

// In the order in which they need each other.
constexpr std::array kVegaParts = {"util",      "time",       "format",          "loader",     "canvas",
                                   "scale",     "dataflow",   "scenegraph",      "expression", "statistics",
                                   "selection", "functions",  "event-selector",  "parser",     "runtime",
                                   "view",      "transforms", "view-transforms", "encode"};

std::string style() {
  std::string light, dark, classes;
  for (std::size_t i = 0; i < palette().light.size(); ++i) {
    light += fmt::format(" --c{}: {};", i, palette().light[i]);
    dark += fmt::format(" --c{}: {};", i, palette().dark[i]);
    classes += fmt::format(".c{0} {{ fill: var(--c{0}); }}\n", i);
  }
  return fmt::format(
      "<style>{}:root {{{}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{{}}} }}\n{}</style>\n",
      kPageStyle, light, dark, classes);
}

std::string anchor(std::size_t answer, const Chart& chart) {
  return fmt::format("a{}-{}", answer + 1, chart.name);
}

std::string headline(const PageAnswer& answer) {
  return answer.name + (answer.subject.empty() ? "" : ": " + answer.subject);
}

std::string contents(const std::vector<PageAnswer>& answers) {
  std::string out = "<nav aria-label=\"contents\"><ul>\n";
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers.size() > 1)
      out += fmt::format("<li><a href=\"#a{}\">{}</a><ul>\n", i + 1, xml_text(headline(answers[i])));
    for (const Chart& chart : answers[i].charts)
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", xml_text(anchor(i, chart)), xml_text(chart.title));
    if (!answers[i].picture.empty()) out += fmt::format("<li><a href=\"#a{}-graph\">the graph</a></li>\n", i + 1);
    out += fmt::format("<li><a href=\"#a{}-figures\">all figures</a></li>\n", i + 1);
    if (answers.size() > 1) out += "</ul></li>\n";
  }
  if (answers.size() > 1) out += "<li><a href=\"#differences\">what differs</a></li>\n";
  return out + "</ul></nav>\n";
}

std::string question(const PageAnswer& answer) {
  std::string out;
  if (const std::string command = text_at(*answer.document, "command"); !command.empty())
    out += "<pre aria-label=\"command\"><code>" + xml_text(command) + "</code></pre>\n";
  const std::vector<Node>& inputs = items_at(*answer.document, "inputs");
  if (inputs.empty()) return out;
  out += fmt::format("<details><summary>made from <span class=\"count\">{} input{}</span></summary><ul>\n",
                     inputs.size(), inputs.size() == 1 ? "" : "s");
  for (const Node& input : inputs)
    out += fmt::format("<li><code>{}</code> <span class=\"note\">{}</span></li>\n", xml_text(text_at(input, "name")),
                       xml_text(text_at(input, "hash")));
  return out + "</ul></details>\n";
}

std::string proof(const Node& document) {
  const Node* certificate = at(document, "certificate");
  if (certificate == nullptr) certificate = at(document, "result.certificate");  // of `serve`
  const Node* optimal = certificate ? at(*certificate, "optimal") : nullptr;
  if (optimal == nullptr || optimal->kind != Node::Kind::kTruth) return "";
  std::string out = "<p class=\"proof\">";
  const std::optional<double> gap = number_at(*certificate, "gap");
  if (optimal->truth)
    out += "Proven: no allowed answer is better.";
  else if (gap && *gap < 1)
    out += fmt::format("Not proven to be the best: an answer better by up to {:.3g} % may exist.", 100 * *gap);
  else
    out += "Not proven to be the best.";
  const Node *space = at(*certificate, "space"), *evaluated = at(*certificate, "evaluated");
  if (space && evaluated && space->is_number() && evaluated->is_number())
    out += fmt::format(" <span class=\"note\">{} evaluated of {}; bounds exclude the rest.</span>",
                       shown_text(*evaluated), shown_text(*space));
  return out + "</p>\n";
}

// What the answer says of its own accuracy.
std::string accuracy(const Node& document) {
  const std::optional<double> error = number_at(document, "result.expected_error_percent");
  const std::string of = text_at(document, "result.expected_error_of");
  std::string out;
  if (error)
    out = fmt::format("Expected error: {:.3g} %{}.", *error, of.empty() ? "" : ", as " + of);
  else if (!of.empty())
    out = "Held against: " + of + ".";
  // Of plans that were searched: predicted over measured speed.
  if (const Node* optimum = at(document, "result.optimum_error"); optimum && optimum->is_object())
    out += fmt::format(
        " For two of three of these {} recipes the best plan's predicted speed was {:.2f} to {:.2f} times the one "
        "that was measured of the recipe (median {:.2f}): above 1, the recipe ran slower than the best plan is "
        "predicted to.",
        number_at(*optimum, "recipes").value_or(0), number_at(*optimum, "least").value_or(0),
        number_at(*optimum, "most").value_or(0), number_at(*optimum, "median").value_or(0));
  // Of `serve`.
  const auto tokens = number_at(document, "result.expected_error.tpot"),
             first = number_at(document, "result.expected_error.ttft");
  if (first)
    out += fmt::format("Expected error: {}time to the first token {}.",
                       tokens ? "time between tokens " + within_text(*tokens) + ", " : "", within_text(*first));
  return out.empty() ? "" : "<p>" + xml_text(out) + "</p>\n";
}

std::string warnings(const Node& document) {
  const std::vector<Node>& found = items_at(document, "warnings");
  if (found.empty()) return "";
  std::string out = fmt::format(
      "<details open><summary>warnings <span class=\"count\">{}</span></summary><ul "
      "class=\"warnings\">\n",
      found.size());
  for (const Node& one : found) {
    out += "<li><strong>" + xml_text(text_at(one, "severity") + "[" + text_at(one, "code") + "]") + "</strong> <span>" +
           xml_text(text_at(one, "message")) + "</span>";
    for (const char* more : {"notes", "hints"})
      for (const Node& line : items_at(one, more)) out += "<br><span class=\"note\">" + xml_text(line.text) + "</span>";
    out += "</li>\n";
  }
  return out + "</ul></details>\n";
}

// Of many marks with figures of the same names: the names once.
void say_names_once(const Chart& chart, Json& spec) {
  constexpr std::size_t kMany = 50;
  if (chart.marks.size() < kMany) return;
  const std::vector<Fact>& first = chart.marks.front().facts;
  for (const ChartMark& mark : chart.marks)
    if (!std::equal(mark.facts.begin(), mark.facts.end(), first.begin(), first.end(),
                    [](const Fact& one, const Fact& other) { return one.name == other.name; }))
      return;
  Json::List names, data, values;
  for (const Fact& fact : first) names.emplace_back(fact.name);
  const auto& all = std::get<Json::List>(spec["data"].value());
  Json head = all.front();
  for (Json value : std::get<Json::List>(head["values"].value())) {
    Json::List tip;
    const Json named = value["tip"];
    for (const auto& [name, shown] : std::get<Json::Object>(named.value())) tip.push_back(shown);
    value["tip"] = std::move(tip);
    values.push_back(std::move(value));
  }
  head["values"] = std::move(values);
  data.push_back(std::move(head));
  data.insert(data.end(), all.begin() + 1, all.end());
  spec["data"] = std::move(data);
  spec["tips"] = std::move(names);
}

// Ids of a text that begin so.
std::set<std::string> ids_in(const std::string& text, const std::string& begin) {
  std::set<std::string> out;
  const std::string sought = "id=\"" + begin;
  for (std::size_t at = text.find(sought); at != std::string::npos; at = text.find(sought, at + 1))
    out.insert(text.substr(at + 4, text.find('"', at + 4) - at - 4));
  return out;
}

std::string figure(std::size_t answer, const Chart& chart, bool moves, const CellLink& link) {
  const std::string id = xml_text(anchor(answer, chart));
  std::string out = fmt::format(
      "<figure id=\"{}\"{} aria-labelledby=\"{}-title\">\n<figcaption><h3 id=\"{}-title\">{}</h3><p "
      "class=\"what\">{}</p></figcaption>\n",
      id, moves ? " data-chart" : "", id, id, xml_text(chart.title), xml_text(chart.description));
  out += "<div class=\"still\">" + chart_svg(chart) + "</div>\n";
  if (moves) {
    Json spec = Json::Object{};
    const Json whole = chart_vega(chart);
    for (const auto& [key, value] : std::get<Json::Object>(whole.value()))
      if (key != "$schema" && key != "config") spec[key] = value;
    say_names_once(chart, spec);
    out += "<div class=\"drawn\"></div>\n<script type=\"application/json\">" + script_text(spec) + "</script>\n";
  }
  if (!chart.note.empty()) out += "<p class=\"note\">" + xml_text(chart.note) + "</p>\n";
  if (chart.kind == Chart::Kind::kPoints && chart.marks.size() > 10 && moves)
    out +=
        "<p class=\"note\">Draw a rectangle over points to see their rows alone; a double click shows all. <output "
        "class=\"held\"></output></p>\n";
  return out + chart_table_html(chart, link) + "</figure>\n";
}

std::string section(std::size_t place, const PageAnswer& answer, bool moves) {
  std::string out = fmt::format("<section id=\"a{0}\" aria-labelledby=\"a{0}-title\"><h2 id=\"a{0}-title\">{1}</h2>\n",
                                place + 1, xml_text(headline(answer)));
  out += question(answer) + proof(*answer.document) + accuracy(*answer.document) + warnings(*answer.document);
  // A point of a study leads to its layers.
  const std::string anchor = fmt::format("a{}-point-", place + 1);
  std::string tables;
  if (const Node* config = at(*answer.document, "config")) tables += tables_html(*config);
  if (const Node* result = at(*answer.document, "result")) tables += tables_html(*result, anchor);
  const std::set<std::string> known = ids_in(tables, anchor);
  const CellLink link = [&](const Fact& fact) {
    return fact.name == "point" && known.count(anchor + fact.shown) > 0 ? anchor + fact.shown : std::string();
  };
  for (const Chart& chart : answer.charts) out += figure(place, chart, moves, link);
  if (!answer.picture.empty())
    out += fmt::format(
        "<figure id=\"a{0}-graph\" aria-labelledby=\"a{0}-graph-title\"><figcaption><h3 id=\"a{0}-graph-title\">The "
        "kernels and their configurations</h3><p class=\"what\">A box a kernel, a line what one hands to another, a "
        "band "
        "a configuration, from the first on top.</p></figcaption><div class=\"graph scroll\">{1}</div></figure>\n",
        place + 1, answer.picture);
  if (answer.kind == "sweep")
    if (const Node* result = at(*answer.document, "result"))
      out += study_points_html(*result, fmt::format("a{}-points", place + 1));
  out += fmt::format(
      "<h3 id=\"a{}-figures\">All figures</h3>\n<p class=\"note\">Names are those of the JSON document; "
      "sorting and tooltips use all digits.</p>\n",
      place + 1);
  return out + tables + "</section>\n";
}

std::string differences(const std::vector<PageAnswer>& answers) {
  std::string out;
  std::set<std::string> done;
  for (const PageAnswer& answer : answers) {
    if (!done.insert(answer.kind).second) continue;
    std::vector<NamedDocument> alike;
    for (const PageAnswer& other : answers)
      if (other.kind == answer.kind) alike.push_back({other.name, other.document});
    if (alike.size() < 2) continue;
    const std::string table = comparison_html(alike);
    out += fmt::format("<h3>{} answers of <code>{}</code></h3>\n{}", alike.size(), xml_text(answer.kind),
                       table.empty() ? "<p>They do not differ in any figure.</p>\n" : table);
  }
  if (out.empty()) out = "<p>No two answers are of one kind.</p>\n";
  return "<section id=\"differences\" aria-labelledby=\"differences-title\"><h2 id=\"differences-title\">What "
         "differs</h2>\n" +
         out + "</section>\n";
}

// No address stands in the page outside of its text, not even the names of XML's dialects.
std::string without_addresses(std::string script) {
  const std::string from = "http://", to = "\\x68ttp://";
  for (std::size_t at = script.find(from); at != std::string::npos; at = script.find(from, at + to.size()))
    script.replace(at, from.size(), to);
  return script;
}

}  // namespace

std::string page_html(const std::string& title, const std::vector<PageAnswer>& answers, const std::string& vega) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n";
  out += "<title>" + xml_text(title) + "</title>\n" + style() + "</head><body>\n<main>\n<h1>" + xml_text(title) +
         "</h1>\n";
  out += contents(answers);
  if (answers.size() > 1) out += differences(answers);
  for (std::size_t i = 0; i < answers.size(); ++i) out += section(i, answers[i], !vega.empty());
  out += fmt::format(
      "</main>\n<footer class=\"note\"><p>Orrery {}. Figures are modelled unless they say measured.</p>"
      "</footer>\n",
      base::kVersion);
  if (!vega.empty()) {
    const Json colours = Json::Object{{"light", chart_colours(false)}, {"dark", chart_colours(true)}};
    out += "<script type=\"application/json\" id=\"colours\">" + script_text(colours) + "</script>\n<script>" +
           without_addresses(vega) + "</script>\n";
  }
  return out + "<script>" + kPageScript + "</script>\n</body></html>\n";
}

std::string vega_library(const std::vector<std::string>& folders) {
  // Each part is a module that asks for others by name.
  for (const std::string& folder : folders) {
    std::string out = "var vega=(function(){var made={};function require(name){return made[name]}\n";
    bool whole = true;
    for (const char* part : kVegaParts) {
      const std::string path = fmt::format("{}/vega-{}.min.js", folder, part);
      std::error_code ignored;
      whole = whole && std::filesystem::is_regular_file(path, ignored);
      if (!whole) break;
      std::string text = base::read_file(path)->text;
      text = text.substr(0, text.find("//# sourceMappingURL"));
      const std::string name = fmt::format("vega-{}{}", part, std::string_view(part) == "selection" ? "s" : "");
      out += fmt::format("made[\"{0}\"]={{}};(function(exports,module){{{1}\n}})(made[\"{0}\"],{{}});\n", name, text);
    }
    if (!whole || out.find("</script") != std::string::npos) continue;
    return out +
           "Object.assign(made[\"vega-dataflow\"].transforms,made[\"vega-transforms\"],made[\"vega-view-transforms\"],"
           "made[\"vega-encode\"]);return {parse:made[\"vega-parser\"].parse,View:made[\"vega-view\"].View}})();\n";
  }
  return "";
}

}  // namespace orrery::verbs
