#include "orrery/verbs/report/json.h"

namespace orrery::verbs {
namespace {

Record<ReportedAnswer> reported_answer() {
  const Record<ListedChart> chart = {
      {"name", "Name of the chart, as `orrery chart --name` takes it.", &ListedChart::name},
      {"title", "What it says.", &ListedChart::title},
      {"description", "What is drawn.", &ListedChart::description}};
  return {{"name", "File of the answer, with a study's title.", &ReportedAnswer::name},
          {"kind", "Kind of the answer, as in its `schema`.", &ReportedAnswer::kind},
          {"charts", "Its charts, in the order of the page.", &ReportedAnswer::charts, chart}};
}

}  // namespace

Document<ReportAnswer> report_document() {
  const Record<ReportAnswer> result = {
      {"file", "The page that was written.", &ReportAnswer::file},
      {"answers", "What is on it, in order.", &ReportAnswer::answers, reported_answer()}};
  return {"report", "What was written.", result, 0};
}

Document<ReportedAnswer> chart_document() {
  return {"chart", "The charts of an answer.", reported_answer(), 0};
}

}  // namespace orrery::verbs
