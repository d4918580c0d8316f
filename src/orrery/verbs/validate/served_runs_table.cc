#include "orrery/verbs/validate/served_runs_table.h"

#include <fmt/format.h>

#include "orrery/present/text_table.h"
#include "orrery/verbs/validate/error_summary_text.h"

namespace orrery::verbs {
namespace {

std::string figure_name(ServedFigure figure) {
  return std::string(kServedFigures[static_cast<std::size_t>(figure)]);
}

}  // namespace

std::string served_summary(const std::vector<ServedSet>& sets) {
  Table table;
  table.header = {"set", "rows", "predicted", "figure", "held out", "median |e| %", "mean", "bias", "worst"};
  table.left_columns = {3};
  std::string left_out;
  for (const ServedSet& set : sets) {
    for (std::size_t f = 0; f < kServedFigures.size(); ++f) {
      const ErrorSummary& held = set.held_out[f];
      if (held.points == 0) continue;
      table.rows.push_back({set.name, std::to_string(set.rows), std::to_string(set.predicted()),
                            figure_name(static_cast<ServedFigure>(f)), std::to_string(held.points),
                            plain_percent(held.median_absolute), plain_percent(held.mean_absolute),
                            signed_percent(held.bias), plain_percent(held.worst)});
    }
    left_out += fmt::format("{}: rows of the source {}", set.name, set.published);
    for (const auto& [why, count] : set.refused) left_out += fmt::format("; without a prediction: {}, {}", count, why);
    left_out += "\n";
  }
  return text(table) + "\n" + left_out;
}

std::string served_points(const ServedSet& set, std::size_t most) {
  Table table;
  table.header = {"error %", "measured", "predicted", "figure", "row", "use"};
  table.left_columns = {3, 4, 5};
  const std::size_t shown = most == 0 ? set.points.size() : std::min(most, set.points.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ServedPoint& point = set.points[i];
    table.rows.push_back({signed_percent(point.error), fmt::format("{:.4g}", point.measured),
                          fmt::format("{:.4g}", point.predicted), figure_name(point.figure), point.row,
                          std::string(verbs::name(point.use))});
  }
  std::string out = fmt::format("{}\n{}", set.title, text(table));
  if (shown < set.points.size())
    out += fmt::format("... and {} nearer ones (--all shows them)\n", set.points.size() - shown);
  return out;
}

Document<std::vector<ServedSet>> validate_serve_document() {
  using P = ServedPoint;
  using Set = ServedSet;
  const std::vector<std::string> figures(kServedFigures.begin(), kServedFigures.end());
  const Record<P> point = {
      {"row", "Row of the table.", &P::row},
      {"use", "`held-out`: no constant has seen it; `fitted`: one was fitted on it; `unverified`: never counted.",
       [](const P& p) { return verbs::name(p.use); }, OneOf{{"held-out", "fitted", "unverified"}}},
      {"model", "Name of the model.", &P::model},
      {"system", "Name of the system.", &P::system},
      {"engine", "Engine that served it.", [](const P& p) { return p.kind.engine; }},
      {"measure", "The figure that was measured.", [](const P& p) { return figure_name(p.figure); }, OneOf{figures}},
      {"measured", "What was measured, in seconds or tokens/s.", &P::measured},
      {"predicted", "What is predicted.", &P::predicted},
      {"error_percent", "Predicted over measured, less 1, in percent.", [](const P& p) { return 100 * p.error; }},
      {"note", "Remarks on the row.", &P::note}};
  const Record<Set> set = {
      {"name", "Name of the table.", &Set::name},
      {"title", "Title of the table, in one line.", &Set::title},
      {"source", "Where the measurements come from.", &Set::source},
      {"licence", "Licence of the measurements.", &Set::licence},
      {"published", "How many rows the source has, and which the table does not.", &Set::published},
      {"rows", "Rows of the table.", &Set::rows},
      {"predicted", "Rows that a figure was predicted of.", &Set::predicted},
      {"refused", "How many rows have no prediction, by why.", &Set::refused},
      {"tpot", "Errors of the time between tokens on held-out rows.", [](const Set& s) { return s.held_out[0]; },
       error_summary()},
      {"ttft", "Errors of the time to the first token on held-out rows.", [](const Set& s) { return s.held_out[1]; },
       error_summary()},
      {"output_tokens_per_s", "Errors of the throughput on held-out rows.", [](const Set& s) { return s.held_out[2]; },
       error_summary()},
      {"points", "A figure of a row each, the worst first.", &Set::points, point}};
  return {"validate_serve", "Predictions and measurements of every row.",
          Record<std::vector<Set>>{{"sets", "Tables, by name.", std::identity(), set}}};
}

}  // namespace orrery::verbs
