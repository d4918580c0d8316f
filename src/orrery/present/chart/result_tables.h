// Any answer's document as HTML tables: every list of objects a table, what is nested in its rows a table of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// The first row that tells of the layers of point 17 of `points` has the id "<anchor>17"; none without an anchor.
std::string tables_html(const Node& result, const std::string& anchor = "");
// A table of a chart's figures, a row for each mark. `link` names the id that a cell leads to, "" where to none.
using CellLink = std::function<std::string(const Fact& fact)>;
std::string chart_table_html(const Chart& chart, const CellLink& link = {});

struct NamedDocument {
  std::string name;
  const Node* document = nullptr;
};
// What differs between answers of one kind, and by how much; "" where nothing does.
std::string comparison_html(const std::vector<NamedDocument>& documents);

}  // namespace orrery::verbs
