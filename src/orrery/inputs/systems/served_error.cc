#include "orrery/inputs/systems/served_error.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::verbs {
namespace {

constexpr const char* kHead =
    "# What two of three held-out runs of a kind are predicted within; a test makes it of `orrery validate serve`.\n"
    "engine,accelerator,bits,experts,figure,runs,sources,share,isl_least,isl_most,osl_least,osl_most\n";

std::string in_words(const ServedKind& kind) {
  return fmt::format("{} on {} in {} bits, {}", kind.engine, kind.accelerator, kind.bits,
                     kind.experts ? "experts" : "dense");
}

// Its family: up to the first dash behind a digit, "H100" of "H100-SXM5-80GB", "RTX-PRO-6000", "TPU-v5e".
std::string family(const std::string& name) {
  return name.substr(0, name.find('-', std::min(name.find_first_of("0123456789"), name.size())));
}

// How many times a length is beyond what is near the measured ones; 1: it is not.
double beyond(const Span& span, double value) {
  return std::max({1.0, span.least / kNear / value, value / (span.most * kNear)});
}

}  // namespace

ServedKind kind_of(const serving::ServedModel& model, const cluster::System& system,
                   const serving::Deployment& deployment) {
  const double bytes = machine::bytes_per_element(deployment.precision);
  return {std::string(serving::rules(deployment.engine).name), family(system.accelerator.name),
          bytes < 1   ? 4
          : bytes < 2 ? 8
                      : 16,
          model.mixes()};
}

ServedSpans ServedSpans::none() {
  constexpr Span kNone = {std::numeric_limits<double>::infinity(), 0};
  return {kNone, kNone};
}

void ServedSpans::widen(double prompt, double answer) {
  isl = {std::min(isl.least, prompt), std::max(isl.most, prompt)};
  osl = {std::min(osl.least, answer), std::max(osl.most, answer)};
}

std::vector<ServedKindError> read_served_kinds(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / "serving/expected/kinds.csv").string();
  base::Diagnostics found;
  const formats::csv::Document document =
      formats::csv::parse(formats::yaml::read_file(path), formats::csv::Comments::kHash, found);
  std::vector<ServedKindError> out;
  for (std::size_t i = 1; i < document.rows.size(); ++i) {
    const auto& cells = document.rows[i].cells;
    try {
      const auto number = [&](std::size_t at) { return std::stod(cells.at(at).text); };
      const auto figure = std::find(kServedFigures.begin(), kServedFigures.end(), cells.at(4).text);
      if (figure == kServedFigures.end()) throw std::invalid_argument("figure");
      out.push_back({{cells.at(0).text, cells.at(1).text, std::stoi(cells.at(2).text), cells.at(3).text == "yes"},
                     static_cast<ServedFigure>(figure - kServedFigures.begin()),
                     std::stoul(cells.at(5).text),
                     std::stoul(cells.at(6).text),
                     number(7),
                     {{number(8), number(9)}, {number(10), number(11)}}});
    } catch (const std::exception&) {
      found.error("O1358",
                  "a kind of served runs is a row of twelve cells: the kind, a figure, runs, sources, share, lengths",
                  document.place(document.rows[i]));
    }
  }
  found.throw_if_errors();
  return out;
}

std::string served_kinds_text(const std::vector<ServedKindError>& kinds) {
  std::string out = kHead;
  for (const ServedKindError& one : kinds)
    out += fmt::format("{},{},{},{},{},{},{},{:.3f},{:g},{:g},{:g},{:g}\n", one.kind.engine, one.kind.accelerator,
                       one.kind.bits, one.kind.experts ? "yes" : "no",
                       kServedFigures[static_cast<std::size_t>(one.figure)], one.runs, one.sources, one.share,
                       one.spans.isl.least, one.spans.isl.most, one.spans.osl.least, one.spans.osl.most);
  return out;
}

ServedShare served_share(const std::vector<ServedKindError>& kinds, const ServedKind& kind, ServedFigure figure,
                         double isl, double osl) {
  std::vector<double> near, others;  // shares of other kinds: on its accelerator, on any, with experts as it has them
  std::size_t near_runs = 0, other_runs = 0;
  for (const ServedKindError& one : kinds) {
    if (one.figure != figure || one.kind.experts != kind.experts || one.runs < kLeastRuns) continue;
    if (one.kind == kind) {
      const double answers = figure == ServedFigure::kTtft ? 1 : beyond(one.spans.osl, osl);  // come after it
      const double far = beyond(one.spans.isl, isl) * answers;
      return {one.share * std::sqrt(far), one.runs, far == 1, in_words(kind)};
    }
    others.push_back(one.share), other_runs += one.runs;
    if (one.kind.accelerator == kind.accelerator) near.push_back(one.share), near_runs += one.runs;
  }
  const char* what = kind.experts ? "experts" : "dense";
  if (!near.empty())
    return {*std::max_element(near.begin(), near.end()), near_runs, false,
            fmt::format("other engines or precisions on {}, {}", kind.accelerator, what)};
  if (others.empty()) return {1, 0, false, "nothing: no such figure was measured"};
  std::sort(others.begin(), others.end());
  return {2 * others[(2 * others.size() + 2) / 3 - 1], other_runs, false,
          fmt::format("other accelerators than {}, {}", kind.accelerator, what)};
}

}  // namespace orrery::verbs
