// Points as CSV and JSON lines, and the scatter of two objectives as text and as a picture.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/graph_svg.h"
#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {
namespace {

using store::Figure;
using sweep::SweepAnswer;

constexpr std::size_t kPiece = std::size_t{1} << 20;

std::string status_of(const SweepAnswer& answer, std::size_t at) {
  return answer.points.known(at) ? std::string(store::name(answer.points.status(at))) : std::string("open");
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// Where the points with figures lie, by the first two objectives (of one alone: by points in order).
struct Scatter {
  struct Dot {
    double x, y;
    std::size_t at;
    bool front;
  };
  std::vector<Dot> dots;
  double x0 = std::numeric_limits<double>::infinity(), x1 = -x0, y0 = x0, y1 = -x0;
  std::string x_name, y_name;
};

Scatter scatter_of(const SweepAnswer& answer) {
  Scatter out;
  const auto& objectives = answer.study.objectives;
  if (objectives.size() < 2) return out;
  out.x_name = objectives[0].name, out.y_name = objectives[1].name;
  const std::set<std::size_t> front(answer.ranking.pareto.begin(), answer.ranking.pareto.end());
  for (std::size_t at = 0; at < answer.points.size(); ++at) {
    if (!answer.points.found(at) || !sweep::within_budgets(answer.study, answer.points.figures(at))) continue;
    const double x = answer.points.figures(at)[objectives[0].figure],
                 y = answer.points.figures(at)[objectives[1].figure];
    if (!(x > 0) || !(y > 0) || std::isinf(x) || std::isinf(y)) continue;
    out.dots.push_back({std::log10(x), std::log10(y), at, front.contains(at)});
    out.x0 = std::min(out.x0, out.dots.back().x), out.x1 = std::max(out.x1, out.dots.back().x);
    out.y0 = std::min(out.y0, out.dots.back().y), out.y1 = std::max(out.y1, out.dots.back().y);
  }
  // The front is drawn over the others.
  std::stable_sort(out.dots.begin(), out.dots.end(), [](const auto& a, const auto& b) { return a.front < b.front; });
  return out;
}

double share(double value, double low, double high) {
  return high > low ? (value - low) / (high - low) : 0.5;
}

}  // namespace

std::string sweep_scatter(const SweepAnswer& answer) {
  constexpr int kColumns = 64, kRows = 16;
  const Scatter scatter = scatter_of(answer);
  if (scatter.dots.size() < 2) return "";
  std::vector<std::string> lines(kRows, std::string(kColumns, ' '));
  for (const Scatter::Dot& dot : scatter.dots) {
    const auto column = base::whole_number(share(dot.x, scatter.x0, scatter.x1) * (kColumns - 1) + 0.5).value_or(0);
    const auto row = base::whole_number((1 - share(dot.y, scatter.y0, scatter.y1)) * (kRows - 1) + 0.5).value_or(0);
    lines[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = dot.front ? '*' : '.';
  }
  std::string out = fmt::format("{:>10.4g} +{}\n", std::pow(10, scatter.y1), lines[0]);
  for (int row = 1; row < kRows; ++row)
    out += fmt::format("{:>10} |{}\n", row == kRows - 1 ? fmt::format("{:.4g}", std::pow(10, scatter.y0)) : "",
                       lines[static_cast<std::size_t>(row)]);
  std::string cleaned;
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t end = out.find('\n', at);
    std::string line = out.substr(at, end - at);
    line.erase(line.find_last_not_of(' ') + 1);
    cleaned += line + "\n";
    at = end + 1;
  }
  return cleaned +
         fmt::format("{:>10} +{}\n{:>10}  {:<31.4g}{:>33.4g}\n", "", std::string(kColumns, '-'), "",
                     std::pow(10, scatter.x0), std::pow(10, scatter.x1)) +
         fmt::format("{} (up) over {}, logarithmic; *: no other point beats it\n", scatter.y_name, scatter.x_name);
}

std::string sweep_svg(const SweepAnswer& answer) {
  constexpr double kWidth = 720, kHeight = 480, kLeft = 90, kRight = 20, kTop = 40, kBottom = 50;
  const Scatter scatter = scatter_of(answer);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"24\" "
      "font-size=\"14\">{}</text>\n",
      kWidth, kHeight, kLeft, xml_text(answer.row.title));
  out += fmt::format(
      "<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#555\"/>\n<text x=\"{4}\" y=\"{5}\" "
      "text-anchor=\"middle\">{6} (log)</text>\n<text x=\"16\" y=\"{7}\" text-anchor=\"middle\" transform=\"rotate(-90 "
      "16 {7})\">{8} (log)</text>\n",
      kLeft, kTop, kHeight - kBottom, kWidth - kRight, (kLeft + kWidth) / 2, kHeight - 12, xml_text(scatter.x_name),
      kHeight / 2, xml_text(scatter.y_name));
  if (!scatter.dots.empty()) {
    out +=
        fmt::format("<text x=\"{}\" y=\"{}\">{:.4g}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.4g}</text>\n",
                    kLeft, kHeight - kBottom + 16, std::pow(10, scatter.x0), kWidth - kRight, kHeight - kBottom + 16,
                    std::pow(10, scatter.x1));
    out += fmt::format(
        "<text x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{2:.4g}</text><text x=\"{0}\" y=\"{3}\" "
        "text-anchor=\"end\">{4:.4g}</text>\n",
        kLeft - 6, kHeight - kBottom, std::pow(10, scatter.y0), kTop + 10, std::pow(10, scatter.y1));
  }
  constexpr std::size_t kMostDots = 5000;
  const std::size_t every = std::max<std::size_t>(1, scatter.dots.size() / kMostDots);
  for (std::size_t i = 0; i < scatter.dots.size(); ++i) {
    const Scatter::Dot& dot = scatter.dots[i];
    if (!dot.front && i % every != 0) continue;
    std::string tip;
    for (const base::Override& set : answer.study.at(answer.points.number(dot.at)))
      tip += fmt::format("{}={}\n", set.path, set.value);
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}</title></circle>\n",
                       kLeft + 8 + share(dot.x, scatter.x0, scatter.x1) * (kWidth - kRight - kLeft - 16),
                       kHeight - kBottom - 8 - share(dot.y, scatter.y0, scatter.y1) * (kHeight - kBottom - kTop - 16),
                       dot.front ? 4 : 2, dot.front ? "#d95f02" : "#9db2c6", xml_text(tip));
  }
  return out + "</svg>\n";
}

void sweep_csv(const SweepAnswer& answer, const std::function<void(const std::string&)>& write) {
  std::string out = "point";
  for (const sweep::Axis* axis : answer.study.axes()) out += "," + cell(axis->path);
  out += ",status,reason,lower_bound";
  for (int i = 0; i < store::kFigures; ++i) out += fmt::format(",{}", store::column(static_cast<Figure>(i)));
  out += "\n";
  const auto number = [](double value) { return std::isnan(value) ? std::string() : fmt::format("{}", value); };
  for (std::size_t at = 0; at < answer.points.size(); ++at) {
    out += fmt::format("{}", answer.points.number(at));
    for (const base::Override& set : answer.study.at(answer.points.number(at))) out += "," + cell(set.value);
    out += fmt::format(",{},{},{}", status_of(answer, at), cell(answer.points.reason(at)),
                       number(answer.points.lower_bound(at)));
    for (int i = 0; i < store::kFigures; ++i) out += "," + number(answer.points.figures(at)[static_cast<Figure>(i)]);
    out += "\n";
    if (out.size() > kPiece) {
      write(out);
      out.clear();
    }
  }
  write(out);
}

void sweep_json_lines(const SweepAnswer& answer, const std::function<void(const std::string&)>& write) {
  std::string out;
  for (std::size_t at = 0; at < answer.points.size(); ++at) {
    Json::Object config;
    for (const base::Override& set : answer.study.at(answer.points.number(at)))
      config.emplace_back(set.path, sweep_value(set.value));
    Json line = Json::Object{{"point", static_cast<base::Count>(answer.points.number(at))},
                             {"config", std::move(config)},
                             {"status", status_of(answer, at)}};
    line["reason"] = answer.points.reason(at).empty() ? Json() : Json(answer.points.reason(at));
    line["lower_bound"] = answer.points.lower_bound(at);
    for (int i = 0; i < store::kFigures; ++i)
      line[store::column(static_cast<Figure>(i))] = answer.points.figures(at)[static_cast<Figure>(i)];
    // One line: strings hold no line ends but escaped ones.
    bool inside = false, escaped = false;
    for (const char c : text(line)) {
      if (c == '"' && !escaped) inside = !inside;
      escaped = c == '\\' && !escaped;
      if (c != '\n' && (inside || c != ' ')) out += c;
    }
    out += "\n";
    if (out.size() > kPiece) {
      write(out);
      out.clear();
    }
  }
  write(out);
}

}  // namespace orrery::verbs
