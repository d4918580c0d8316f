// Both axes are logarithmic. The roof is the least of the peak of arithmetic and intensity times bandwidth; an operator
// stands at the rate that its modelled time means.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/graph_svg.h"
#include "orrery/verbs/tune/ledger/report.h"

namespace orrery::verbs {
namespace {

struct Point {
  double x = 0, y = 0;  // from 0 to 1
};

// What of intensity and rate is shown: whole powers of ten around all operators and the ridge.
struct Frame {
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;  // logarithms

  Point at(double intensity, double rate) const {
    return {(std::log10(intensity) - x0) / (x1 - x0), (std::log10(rate) - y0) / (y1 - y0)};
  }
};

double rate_of(const JudgedOperator& one) {
  return one.seconds > 0 ? static_cast<double>(one.row.flop) / one.seconds : 0;
}

bool shown(const JudgedOperator& one) {
  return one.intensity > 0 && rate_of(one) > 0;
}

Frame frame_of(const LedgerAnswer& answer) {
  const double ridge = answer.peaks.flop_per_s / answer.peaks.bytes_per_s;
  double least = ridge, most = ridge, slowest = answer.peaks.flop_per_s;
  for (const JudgedOperator& one : answer.operators) {
    if (!shown(one)) continue;
    least = std::min(least, one.intensity);
    most = std::max(most, one.intensity);
    slowest = std::min(slowest, rate_of(one));
  }
  return {std::floor(std::log10(least)), std::ceil(std::log10(most * 1.01)), std::floor(std::log10(slowest)),
          std::ceil(std::log10(answer.peaks.flop_per_s * 1.01))};
}

double roof(const LedgerAnswer& answer, double intensity) {
  return std::min(answer.peaks.flop_per_s, intensity * answer.peaks.bytes_per_s);
}

char letter(tuning::Class what) {
  return what == tuning::Class::kContraction ? 'C' : what == tuning::Class::kNormalisation ? 'N' : 'E';
}

std::string rate_text(double flop_per_s) {
  return flop_per_s >= 1e12 ? fmt::format("{:g} TFLOP/s", flop_per_s / 1e12)
                            : fmt::format("{:g} GFLOP/s", flop_per_s / 1e9);
}

int cell(double share, int cells) {
  return static_cast<int>(std::clamp<base::Count>(base::saturated(std::round(share * (cells - 1))), 0, cells - 1));
}

const char* colour(tuning::Class what) {
  return what == tuning::Class::kContraction     ? "#4878a8"
         : what == tuning::Class::kNormalisation ? "#b04848"
                                                 : "#e0a030";
}

}  // namespace

std::string roofline_chart(const LedgerAnswer& answer) {
  constexpr int kColumns = 64, kRows = 14;
  const Frame frame = frame_of(answer);
  std::vector<std::string> lines(kRows, std::string(kColumns, ' '));
  const auto put = [&](const Point& at, char mark) {
    lines[static_cast<std::size_t>(kRows - 1 - cell(at.y, kRows))][static_cast<std::size_t>(cell(at.x, kColumns))] =
        mark;
  };
  for (int column = 0; column < kColumns; ++column) {
    const double intensity = std::pow(10, frame.x0 + (frame.x1 - frame.x0) * column / (kColumns - 1));
    const Point at = frame.at(intensity, roof(answer, intensity));
    if (at.y >= 0) put(at, '-');
  }
  for (const JudgedOperator& one : answer.operators)
    if (shown(one)) put(frame.at(one.intensity, rate_of(one)), letter(one.row.what));
  std::string out = rate_text(std::pow(10, frame.y1)) + "\n";
  for (const std::string& line : lines) out += "  |" + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  out += "  +" + std::string(kColumns, '-') + "\n";
  out += fmt::format("{}, from {:g} to {:g} flop/byte; - roof, C contractions, N normalisations, E element-wise\n",
                     rate_text(std::pow(10, frame.y0)), std::pow(10, frame.x0), std::pow(10, frame.x1));
  return out;
}

std::string roofline_svg(const LedgerAnswer& answer) {
  constexpr double kLeft = 110, kTop = 60, kWidth = 640, kHeight = 360, kBottom = 56;
  const Frame frame = frame_of(answer);
  const auto x = [&](const Point& at) { return kLeft + at.x * kWidth; };
  const auto y = [&](const Point& at) { return kTop + (1 - at.y) * kHeight; };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kLeft + kWidth + 20, kTop + kHeight + kBottom);
  const auto text = [&](double left, double top, const char* attributes, const std::string& words) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", left, top, attributes, xml_text(words));
  };
  const auto line = [&](const Point& from, const Point& to, const char* stroke, double width) {
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", x(from),
        y(from), x(to), y(to), stroke, width);
  };
  text(16, 20, "font-size=\"13\" font-weight=\"bold\"", described(answer));
  text(16, 40, "",
       fmt::format("{}, {}: {}, {:.4g} GB/s, {}; times modelled by a roofline", answer.machine, answer.format(),
                   rate_text(answer.peaks.flop_per_s), answer.peaks.bytes_per_s / 1e9,
                   answer.measured ? "measured" : "figures of its file"));
  for (double power = frame.x0; power <= frame.x1; ++power) {
    const Point at = {(power - frame.x0) / (frame.x1 - frame.x0), 0};
    line(at, {at.x, 1}, "#ddd", 1);
    text(x(at), kTop + kHeight + 16, "text-anchor=\"middle\"", fmt::format("{:g}", std::pow(10, power)));
  }
  for (double power = frame.y0; power <= frame.y1; ++power) {
    const Point at = {0, (power - frame.y0) / (frame.y1 - frame.y0)};
    line(at, {1, at.y}, "#ddd", 1);
    text(kLeft - 8, y(at) + 4, "text-anchor=\"end\"", rate_text(std::pow(10, power)));
  }
  text(kLeft + kWidth / 2, kTop + kHeight + 34, "text-anchor=\"middle\"", "operations a byte moved");
  const double ridge = answer.peaks.flop_per_s / answer.peaks.bytes_per_s;
  // The slope from where it enters the frame.
  const double first = std::max(std::pow(10, frame.x0), std::pow(10, frame.y0) / answer.peaks.bytes_per_s);
  line(frame.at(first, roof(answer, first)), frame.at(ridge, answer.peaks.flop_per_s), "black", 2);
  line(frame.at(ridge, answer.peaks.flop_per_s), frame.at(std::pow(10, frame.x1), answer.peaks.flop_per_s), "black", 2);
  double legend = kLeft;
  for (const tuning::Class what :
       {tuning::Class::kContraction, tuning::Class::kNormalisation, tuning::Class::kElementWise}) {
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", legend, kTop + kHeight + 46,
                       colour(what));
    text(legend + 10, kTop + kHeight + 50, "", class_name(what));
    legend += 190;
  }
  for (const JudgedOperator& one : answer.operators) {
    if (!shown(one)) continue;
    const Point at = frame.at(one.intensity, rate_of(one));
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" fill-opacity=\"0.7\" stroke=\"black\" "
        "stroke-width=\"0.5\"><title>{}</title></circle>\n",
        x(at), y(at), colour(one.row.what),
        xml_text(fmt::format("{}\n{:.4g} flop/byte, {}\nMUE {:.1f} %, {:.1f} % of the peak", one.row.name,
                             one.intensity, rate_text(rate_of(one)), one.at.mue, one.at.peak_share)));
  }
  return out + "</svg>\n";
}

}  // namespace orrery::verbs
