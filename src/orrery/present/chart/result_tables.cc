#include "orrery/present/chart/result_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/chart/loop_tree_html.h"
#include "orrery/present/graph_svg.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kMostRows = 400, kMostCells = 24'000, kLeastRows = 50, kMostWords = 60;

bool is_scalar(const Node& node) {
  return !node.is_object() && node.kind != Node::Kind::kList;
}

bool holds(const Node& node, bool (*what)(const Node&)) {
  if (node.is_object())
    return !node.members.empty() &&
           std::all_of(node.members.begin(), node.members.end(), [&](const auto& m) { return what(m.value); });
  return !node.items.empty() && std::all_of(node.items.begin(), node.items.end(), what);
}

bool is_object(const Node& node) {
  return node.is_object();
}

// A list of objects, or an object of objects: rows.
bool is_rows(const Node& node) {
  return holds(node, is_object) && (node.kind == Node::Kind::kList || node.members.size() > 1);
}

std::string cell(const Fact& fact, const CellLink& link = {}) {
  const bool rounded = !fact.exact.empty() && fact.exact != fact.shown;
  const bool number = !fact.exact.empty() || base::parse_number<double>(fact.shown) || fact.shown.ends_with(" %");
  const std::string to = link ? link(fact) : std::string();
  std::string shown = xml_text(fact.shown);
  if (!to.empty()) shown = fmt::format("<a href=\"#{}\">{}</a>", xml_text(to), shown);
  return fmt::format("<td{}{}>{}</td>", number ? " class=\"n\"" : "",
                     rounded ? " data-v=\"" + xml_text(fact.exact) + "\"" : "", shown);
}

// A list of scalars in one cell.
Fact listed(const std::string& name, const Node& list) {
  Fact out{name, ""};
  for (std::size_t i = 0; i < list.items.size() && i < kMostWords; ++i)
    out.shown += (i > 0 ? ", " : "") + (is_scalar(list.items[i]) ? shown_text(list.items[i]) : std::string("..."));
  if (list.items.size() > kMostWords) out.shown += fmt::format(", and {} more", list.items.size() - kMostWords);
  return out;
}

struct Nested {
  std::string path;
  const Node* node;
};

// The scalars below an object by their paths; rows and what is deeper go to `nested`.
void flatten(const Node& object, const std::string& prefix, std::vector<Fact>& facts, std::vector<Nested>& nested) {
  for (const formats::json::Member& member : object.members) {
    const std::string path = prefix.empty() ? member.key : prefix + "." + member.key;
    const Node& value = member.value;
    if (is_scalar(value))
      facts.push_back(fact(path, &value));
    else if (is_rows(value))
      nested.push_back({path, &value});
    else if (value.is_object())
      flatten(value, path, facts, nested);
    else if (!value.items.empty())
      facts.push_back(listed(path, value));
  }
}

struct Row {
  std::vector<Fact> facts;
};

struct HtmlTable {
  std::string name;
  std::vector<std::string> columns;
  std::map<std::string, std::size_t> place;
  std::vector<Row> rows;
  std::size_t all = 0;

  void add(Row row) {
    ++all;
    for (const Fact& fact : row.facts)
      if (place.emplace(fact.name, columns.size()).second) columns.push_back(fact.name);
    rows.push_back(std::move(row));
  }
};

// Of a wide table the columns that hold one value: they are said once.
std::vector<bool> alike_columns(const HtmlTable& table) {
  constexpr std::size_t kWide = 10;
  std::vector<bool> out(table.columns.size(), table.columns.size() > kWide && table.rows.size() > 2);
  std::vector<const Fact*> first(table.columns.size(), nullptr);
  std::vector<std::size_t> filled(table.columns.size(), 0);
  for (const Row& row : table.rows)
    for (const Fact& fact : row.facts) {
      const std::size_t column = table.place.at(fact.name);
      ++filled[column];
      if (first[column] == nullptr) first[column] = &fact;
      if (column == 0 || first[column]->shown != fact.shown || first[column]->exact != fact.exact) out[column] = false;
    }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] && filled[i] == table.rows.size();
  return out;
}

std::string alike_text(const HtmlTable& table, const std::vector<bool>& alike) {
  std::string out;
  for (const Fact& fact : table.rows.front().facts)
    if (alike[table.place.at(fact.name)])
      out += fmt::format("{}{} {}", out.empty() ? "" : "; ", fact.name, fact.exact.empty() ? fact.shown : fact.exact);
  return out.empty() ? "" : "<p class=\"note\">Alike in all rows: " + xml_text(out) + ".</p>\n";
}

std::string html(const HtmlTable& table, const std::string& anchor, const CellLink& link = {}) {
  if (table.rows.empty() || table.columns.empty()) return "";
  const std::vector<bool> alike = alike_columns(table);
  const auto shown_columns = static_cast<std::size_t>(std::count(alike.begin(), alike.end(), false));
  const std::size_t most =
      std::max(kLeastRows, std::min(kMostRows, kMostCells / std::max<std::size_t>(1, shown_columns)));
  std::string out = fmt::format("<details{}><summary>{} <span class=\"count\">{} row{}</span></summary>\n",
                                table.rows.size() <= 24 ? " open" : "", xml_text(table.name), table.rows.size(),
                                table.rows.size() == 1 ? "" : "s");
  if (table.rows.size() > most)
    out +=
        fmt::format("<p class=\"note\">The first {} of {} rows; the document has all.</p>\n", most, table.rows.size());
  out += alike_text(table, alike) + "<div class=\"scroll\"><table class=\"sortable\"><thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (!alike[i]) out += "<th scope=\"col\">" + xml_text(table.columns[i]) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(most, table.rows.size()); ++i) {
    std::vector<const Fact*> cells(table.columns.size(), nullptr);
    for (const Fact& fact : table.rows[i].facts) cells[table.place.at(fact.name)] = &fact;
    const std::vector<Fact>& facts = table.rows[i].facts;
    const bool nested = !facts.empty() && facts[0].name == "of points";
    const std::string point = nested ? facts[0].shown : fmt::format("{}", i);
    const bool first = !nested || i == 0 || table.rows[i - 1].facts[0].shown != point;
    out += fmt::format("<tr data-i=\"{}\"{}>", i,
                       anchor.empty() || !first ? "" : fmt::format(" id=\"{}{}\"", anchor, xml_text(point)));
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (!alike[c]) out += cells[c] ? cell(*cells[c], link) : "<td></td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></details>\n";
}

std::string identity(const Node& row, std::size_t place) {
  for (const char* key : {"name", "title", "row", "point"})
    if (const Node* found = at(row, key); found && is_scalar(*found) && !found->is_null()) return shown_text(*found);
  return fmt::format("{}", place);
}

class Tables {
 public:
  std::string text(const Node& result, const std::string& anchor) {
    std::vector<Fact> facts;
    std::vector<Nested> nested;
    flatten(result, "", facts, nested);
    for (const Nested& one : nested) rows(one.path, *one.node, {});
    std::string out = trees_ + figures(facts);
    // A point of one layer has its figures in its own row.
    const std::string with_ids = tables_.count("points.layers") > 0 ? "points.layers" : "points";
    for (const std::string& name : order_) out += html(tables_.at(name), name == with_ids ? anchor : std::string());
    return out;
  }

 private:
  static std::string figures(const std::vector<Fact>& facts) {
    if (facts.empty()) return "";
    std::string out = fmt::format(
        "<details{}><summary>figures <span class=\"count\">{}</span></summary><div class=\"scroll\"><table "
        "class=\"figures\"><tbody>\n",
        facts.size() <= 30 ? " open" : "", facts.size());
    for (const Fact& one : facts)
      out += "<tr><th scope=\"row\">" + xml_text(one.name) + "</th>" + cell(one) + "</tr>\n";
    return out + "</tbody></table></div></details>\n";
  }

  void rows(const std::string& name, const Node& node, const std::vector<Fact>& above) {
    if (is_loop_tree(node)) {
      trees_ +=
          fmt::format("<details{}><summary>{}{}, outside in</summary>{}</details>\n", trees_.empty() ? " open" : "",
                      xml_text(name), above.empty() ? "" : " of " + xml_text(above.back().shown), loop_tree_html(node));
      return;
    }
    if (tables_.find(name) == tables_.end()) {
      tables_[name].name = name;
      order_.push_back(name);
    }
    const std::size_t count = node.is_object() ? node.members.size() : node.items.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Node& value = node.is_object() ? node.members[i].value : node.items[i];
      Row row{above};
      if (node.is_object()) row.facts.push_back({name.substr(name.rfind('.') + 1), node.members[i].key});
      std::vector<Nested> nested;
      flatten(value, "", row.facts, nested);
      const std::string who = node.is_object() ? node.members[i].key : identity(value, i);
      tables_[name].add(std::move(row));
      for (const Nested& one : nested) {
        std::vector<Fact> path = above;
        path.push_back({"of " + name.substr(name.rfind('.') + 1), who});
        rows(name + "." + one.path, *one.node, path);
      }
    }
  }

  std::map<std::string, HtmlTable> tables_;
  std::vector<std::string> order_;
  std::string trees_;
};

using Leaves = std::vector<std::pair<std::string, const Node*>>;

void leaves_of(const Node& node, const std::string& path, Leaves& out) {
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (is_scalar(node)) {
    out.emplace_back(path, &node);
  } else if (node.is_object()) {
    for (const formats::json::Member& member : node.members) leaves_of(member.value, below(member.key), out);
  } else if (is_rows(node) && !is_loop_tree(node)) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      leaves_of(node.items[i], path + "[" + identity(node.items[i], i) + "]", out);
  }
}

}  // namespace

std::string tables_html(const Node& result, const std::string& anchor) {
  return Tables().text(result, anchor);
}

std::string chart_table_html(const Chart& chart, const CellLink& link) {
  HtmlTable table;
  table.name = "figures of this chart";
  // Those of the front, which are drawn last, come first.
  const bool ranked = chart.kind == Chart::Kind::kPoints || chart.kind == Chart::Kind::kParallel;
  const auto first = [&](const ChartMark& mark) {
    return ranked && !chart.series.empty() && mark.series == chart.series[0];
  };
  for (const bool turn : {true, false})
    for (const ChartMark& mark : chart.marks)
      if (first(mark) == turn) table.add({mark.facts});
  return html(table, "", link);
}

std::string comparison_html(const std::vector<NamedDocument>& documents) {
  constexpr std::size_t kMost = 400;
  std::vector<std::string> paths;
  std::map<std::string, std::vector<const Node*>> values;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Leaves leaves;
    for (const char* part : {"config", "result"})
      if (const Node* node = at(*documents[i].document, part)) leaves_of(*node, part, leaves);
    for (const auto& [path, node] : leaves) {
      auto& row = values[path];
      if (row.empty()) paths.push_back(path), row.resize(documents.size(), nullptr);
      row[i] = node;
    }
  }
  std::erase_if(paths, [&](const std::string& path) {
    const auto& row = values[path];
    return std::all_of(row.begin(), row.end(), [&](const Node* node) {
      return (node == nullptr) == (row[0] == nullptr) && (node == nullptr || shown_text(*node) == shown_text(*row[0]));
    });
  });
  if (paths.empty()) return "";
  // Figures of the whole first.
  std::stable_partition(paths.begin(), paths.end(),
                        [](const std::string& path) { return path.find('[') == std::string::npos; });
  std::string out;
  if (paths.size() > kMost)
    out += fmt::format("<p class=\"note\">The first {} of {} figures that differ.</p>\n", kMost, paths.size());
  out += "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">figure</th>";
  for (std::size_t i = 0; i < documents.size(); ++i) {
    out += "<th scope=\"col\">" + xml_text(documents[i].name) + "</th>";
    if (i > 0) out += "<th scope=\"col\">times the first</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t p = 0; p < std::min(kMost, paths.size()); ++p) {
    const auto& row = values[paths[p]];
    const bool result = paths[p].starts_with("result.");
    out += "<tr><td>" + xml_text(paths[p].substr(result ? 7 : 0)) + "</td>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += cell(fact("", row[i]));
      if (i == 0) continue;
      const bool both = row[0] && row[i] && row[0]->is_number() && row[i]->is_number() && row[0]->number != 0;
      out += both ? fmt::format("<td class=\"n\">{:.4g}</td>", row[i]->number / row[0]->number) : "<td></td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace orrery::verbs
