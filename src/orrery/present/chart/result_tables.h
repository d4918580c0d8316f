// Any answer's document as HTML tables: every list of objects a table, what is nested in its rows a table of its own.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

std::string tables_html(const Node& result);
// A table of a chart's figures, a row for each mark.
std::string chart_table_html(const Chart& chart);

struct NamedDocument {
  std::string name;
  const Node* document = nullptr;
};
// What differs between answers of one kind, and by how much; "" where nothing does.
std::string comparison_html(const std::vector<NamedDocument>& documents);

}  // namespace orrery::verbs
