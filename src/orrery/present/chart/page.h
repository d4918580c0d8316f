// Answers as one HTML file that loads nothing: charts, tables, and what differs between answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

struct PageAnswer {
  std::string name;  // of its file, or of its question
  std::string kind;  // "map", "train", ...
  const Node* document = nullptr;
  std::vector<Chart> charts;
  std::string subject = {};  // "llama3-70b on dgx-h100"; empty: nothing tells
  std::string picture = {};  // SVG of a graph; empty: none
};

// `vega`: the library's source; empty: charts are drawn without it, and do not move.
std::string page_html(const std::string& title, const std::vector<PageAnswer>& answers, const std::string& vega);

// Vega's library, put together from the files of Debian's package libjs-vega in one of these folders, the first that
// has all of them; "" where none has.
std::string vega_library(const std::vector<std::string>& folders);

}  // namespace orrery::verbs
