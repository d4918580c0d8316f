#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "orrery/present/charts/answer_charts.h"

namespace orrery::verbs {
namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Two thirds of the held-out runs are within it, in percent.
double band_of(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  return errors.empty() ? 0 : errors[errors.size() * 2 / 3];
}

Chart runs(const Node& document, const std::string& measure) {
  Chart out;
  out.name = measure, out.kind = Chart::Kind::kPoints;
  out.x = {"measured " + measure, true}, out.y = {"predicted " + measure, true};
  out.series = {"held out", "fitted"};
  std::vector<double> errors;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Node& set : items_at(document, "result.sets"))
    for (const Node& point : items_at(set, "points")) {
      const Node *measured = at(point, "measured"), *predicted = at(point, "predicted");
      if (text_at(point, "measure") != measure || measured == nullptr || predicted == nullptr ||
          !measured->is_number() || !predicted->is_number() || measured->number <= 0 || predicted->number <= 0)
        continue;
      const bool held = text_at(point, "use") != "fitted";
      if (held) errors.push_back(std::fabs(number_at(point, "error_percent").value_or(0)));
      least = std::min(least, measured->number), most = std::max(most, measured->number);
      ChartMark mark;
      mark.x = measured->number, mark.y = predicted->number, mark.series = out.series[held ? 0 : 1];
      mark.facts = {derived("set", text_at(set, "name")),
                    fact("row", at(point, "row")),
                    fact("model", at(point, "model")),
                    fact("system", at(point, "system")),
                    fact("measured", measured),
                    fact("predicted", predicted),
                    fact("error_percent", at(point, "error_percent")),
                    derived("use", text_at(point, "use"))};
      out.marks.push_back(std::move(mark));
    }
  if (out.marks.size() < 3) return Chart{};
  const double band = band_of(errors);
  const auto line = [&](const std::string& name, double times, bool dashed) {
    out.lines.push_back({name, {{least, least * times}, {most, most * times}}, dashed});
  };
  line("predicted as measured", 1, false);
  if (band > 0) {
    line(fmt::format("{:.3g} % above", band), 1 + band / 100, true);
    line(fmt::format("{:.3g} % below", band), 1 - band / 100, true);
  }
  out.title = errors.empty()
                  ? fmt::format("{} runs, all of them fitted", out.marks.size())
                  : fmt::format("Half of {} held-out runs are predicted within {:.2g} %, two thirds within {:.2g} %",
                                errors.size(), median_of(errors), band);
  out.description = fmt::format(
      "Predicted over measured {}, a point a run; on the line both are equal, between the dashed lines are two thirds "
      "of the runs that no constant was fitted on.",
      measure);
  return out;
}

Chart errors_by_set(const Node& document) {
  Chart out;
  out.name = "errors", out.side_by_side = true;
  out.series = {"held out", "fitted"};
  out.x.title = "mean error (%)";
  const Node* worst = nullptr;
  for (const Node& set : items_at(document, "result.sets"))
    for (const char* use : {"held_out", "fitted"}) {
      const Node* errors = at(set, use);
      const Node* mean = errors ? at(*errors, "mean_absolute_percent") : nullptr;
      if (mean == nullptr || !mean->is_number() || number_at(*errors, "points").value_or(0) <= 0) continue;
      const bool held = std::string_view(use) == "held_out";
      if (held && (worst == nullptr || mean->number > number_at(*worst, "held_out.mean_absolute_percent").value_or(0)))
        worst = &set;
      ChartMark mark;
      mark.place = text_at(set, "name"), mark.series = out.series[held ? 0 : 1], mark.x = mean->number;
      mark.facts = {derived("set", mark.place),
                    derived("use", mark.series),
                    fact("points", at(*errors, "points")),
                    fact("mean_absolute_percent", mean),
                    fact("median_absolute_percent", at(*errors, "median_absolute_percent")),
                    fact("bias_percent", at(*errors, "bias_percent")),
                    fact("worst_percent", at(*errors, "worst_percent")),
                    derived("source", text_at(set, "source"))};
      out.marks.push_back(std::move(mark));
    }
  out.title =
      worst ? fmt::format("{} is predicted worst of the held-out sets: {:.3g} % off on average",
                          text_at(*worst, "name"), number_at(*worst, "held_out.mean_absolute_percent").value_or(0))
            : "Errors by set";
  out.description =
      "Mean absolute error of each set of measured runs; of those that constants were fitted on beside it.";
  return out;
}

}  // namespace

std::vector<Chart> validate_charts(const Node& document) {
  std::vector<std::string> measures;
  for (const Node& set : items_at(document, "result.sets"))
    for (const Node& point : items_at(set, "points"))
      if (const std::string measure = text_at(point, "measure");
          std::find(measures.begin(), measures.end(), measure) == measures.end())
        measures.push_back(measure);
  std::vector<Chart> out;
  for (const std::string& measure : measures) out.push_back(runs(document, measure));
  out.push_back(errors_by_set(document));
  return out;
}

}  // namespace orrery::verbs
