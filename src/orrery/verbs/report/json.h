// The JSON documents of `report` and `chart`.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/answer.h"

namespace orrery::verbs {

struct ListedChart {
  std::string name, title, description;
};
struct ReportedAnswer {
  std::string name, kind;
  std::vector<ListedChart> charts;
};
struct ReportAnswer {
  std::string file;
  std::vector<ReportedAnswer> answers;
};

Document<ReportAnswer> report_document();
Document<ReportedAnswer> chart_document();

}  // namespace orrery::verbs
